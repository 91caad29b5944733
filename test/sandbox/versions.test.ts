import test from 'ava';
import minecraftData from 'minecraft-data';
import { findVersion, sandboxVersions } from '../../src/sandbox/versions.ts';

const OLDEST = 47;

test('the offered versions are the releases since 1.8.8 with minecraft-data protocol data, newest first', (t) => {
  const releases = minecraftData.versions.pc.filter(
    ({ minecraftVersion, version, usesNetty }) =>
      usesNetty &&
      /^\d+\.\d+(\.\d+)?$/.test(minecraftVersion) &&
      version >= OLDEST &&
      !/^1\.8(\.[1-7])?$/.test(minecraftVersion),
  );
  const real = releases.filter(({ version }) => {
    const data = minecraftData(version) as minecraftData.IndexedData | null;
    return data?.version.version === version;
  });
  t.deepEqual(
    sandboxVersions(),
    real.map(({ minecraftVersion }) => minecraftVersion),
  );
  for (const { minecraftVersion, version } of real) t.is(findVersion(minecraftVersion)?.protocol, version);
});

test('versions are found by name, and LATEST is the newest', (t) => {
  t.is(findVersion('LATEST')?.name, sandboxVersions()[0]);
  t.is(findVersion('')?.name, sandboxVersions()[0]);
  t.is(findVersion('1.21.7')?.protocol, 772);
  t.is(findVersion('1.7.10'), undefined);
  t.is(findVersion('26.3'), undefined);
});

import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { javaRange } from '../../src/game/container.ts';
import { EngineError } from '../../src/engines/engine.ts';
import { createJavas } from '../../src/engines/process/java-homes.ts';
import { createJavaVersions } from '../../src/engines/process/java-versions.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { writeProgram } from '../support/write-program.ts';

const never = new AbortController().signal;

async function folder(t: ExecutionContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-java-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Creates a Java home. It has a `release` file, or its program prints its version. */
async function home(root: string, name: string, { release, says }: { release?: string; says?: string }) {
  const path = join(root, name);
  await mkdir(join(path, 'bin'), { recursive: true });
  const script = says === undefined ? 'exit 1' : `echo '${says}' >&2`;
  writeProgram(join(path, 'bin', 'java'), `#!/bin/sh\n${script}\n`);
  if (release !== undefined) await writeFile(join(path, 'release'), `IMPLEMENTOR="x"\nJAVA_VERSION="${release}"\n`);
  return path;
}

test('each version and core gets the oldest Java that runs it, or an error with the required and installed ones', async (t) => {
  const root = await folder(t);
  const eight = await home(root, 'jdk8', { release: '1.8.0_392' });
  await home(root, 'jdk17', { says: 'openjdk version "17.0.15" 2025-04-15' });
  const twentyFive = await home(root, 'temurin-25', { release: '25' });
  await symlink('temurin-25', join(root, 'a-link'));
  await mkdir(join(root, 'no-java'));
  await home(root, 'broken', {});
  const javas = createJavas({ roots: [root, '/no/such/folder'] });
  const chosen = async (version: string, core: string) => {
    const { file } = await javas.choose(javaRange(version, core), `${core} ${version}`);
    return file.slice(root.length + 1).split('/')[0];
  };
  t.is(await chosen('1.12.2', 'forge'), 'jdk8');
  t.is(await chosen('1.16.5', 'vanilla'), 'jdk8');
  t.is(await chosen('1.18.2', 'forge'), 'jdk17');
  t.is(await chosen('1.20.4', 'paper'), 'jdk17');
  t.is(await chosen('1.21.8', 'paper'), 'temurin-25', 'a newer Java runs it too');
  t.is(await chosen('26.1', 'vanilla'), 'temurin-25');

  const refusal = async (version: string, core: string) =>
    await t.throwsAsync<EngineError>(javas.choose(javaRange(version, core), `${core} ${version}`), {
      instanceOf: EngineError,
    });
  await rm(twentyFive, { recursive: true });
  const tooOld = await refusal('26.1', 'paper');
  t.is(tooOld.code, 'wrong_java_version');
  t.is(tooOld.message, 'paper 26.1 needs Java 25 or newer; this machine has Java 8 and 17.');
  t.regex(tooOld.suggestion, /install Java 25.*JAVA_HOMES/);
  await rm(eight, { recursive: true });
  t.is((await refusal('1.12.2', 'forge')).message, 'forge 1.12.2 needs Java 8; this machine has Java 17.');
  t.is((await refusal('1.16.5', 'forge')).message, 'forge 1.16.5 needs Java 8 to 15; this machine has Java 17.');
  t.is((await refusal('1.16.5', 'paper')).message, 'paper 1.16.5 needs Java 8 to 16; this machine has Java 17.');
  t.is(await chosen('1.16.5', 'fabric'), 'jdk17', 'Fabric 1.16.5 runs on a newer Java too');

  await home(root, 'jdk8-again', { release: '1.8.0_402' });
  t.is(await chosen('1.12.2', 'forge'), 'jdk8-again', 'a newly installed Java is found');
  t.is((await t.throwsAsync<EngineError>(createJavas({}).choose({ least: 8, most: 8 }, 'x'))).code, 'core_unavailable');
});

test('the first named Java of a version is chosen, and one of unknown version is the last resort', async (t) => {
  const root = await folder(t);
  const homes = [
    await home(root, 'b', { release: '21.0.1' }),
    await home(root, 'a', { release: '21.0.7' }),
    await home(root, 'silent', { says: 'hello' }),
  ];
  const named = createJavas({ homes, command: join(root, 'a', 'bin', 'java') });
  t.is((await named.choose({ least: 21, most: Infinity }, 'x')).file, join(root, 'b', 'bin', 'java'));
  t.like(await named.choose({ least: 8, most: 8 }, 'x'), {
    file: join(root, 'silent', 'bin', 'java'),
    major: undefined,
  });
  const bySearch = createJavas({ command: 'java', searchPath: `${root}:${join(root, 'a', 'bin')}` });
  t.is((await bySearch.choose({ least: 17, most: Infinity }, 'x')).major, 21);
});

test('the Java version comes from Mojang’s version data, and is undefined if that is missing or unreachable', async (t) => {
  let asked = 0;
  let isUp = true;
  const base = 'https://meta.example';
  const fetch = (async (url: URL | string) => {
    asked++;
    if (!isUp) return Response.json({}, { status: 404 });
    const body = String(url).endsWith('/manifest.json')
      ? {
          versions: [
            { id: '1.21.8', url: `${base}/1.21.8.json` },
            { id: 'old', url: `${base}/old.json` },
          ],
        }
      : {
          downloads: {},
          ...(String(url).includes('old') ? {} : { javaVersion: { component: 'x', majorVersion: 22 } }),
        };
    return Response.json(body);
  }) as typeof globalThis.fetch;
  let now = 0;
  const clock = { ...systemClock, now: () => now };
  const javaOf = createJavaVersions({ manifestUrl: `${base}/manifest.json`, clock, fetch });
  t.is(await javaOf('1.21.8', never), 22);
  t.is(await javaOf('1.21.8', never), 22);
  t.is(asked, 2, 'a known version is not fetched again');
  t.is(await javaOf('old', never), undefined);
  isUp = false;
  t.is(await javaOf('27.1', never), undefined);
  const before = asked;
  t.is(await javaOf('27.1', never), undefined);
  t.is(asked, before, 'a failed fetch is not repeated at once');
  now += 300_000;
  await javaOf('27.1', never);
  t.true(asked > before);
});

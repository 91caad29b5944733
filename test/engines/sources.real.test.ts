import { mkdir, mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { pino } from 'pino';
import { loadConfig } from '../../src/config.ts';
import { type GameSpec, EngineError } from '../../src/engines/engine.ts';
import { commandFor } from '../../src/engines/process/command.ts';
import { openCoreStore } from '../../src/engines/process/cores/core-store.ts';
import { installerHost } from '../../src/engines/process/cores/installer.ts';
import { createJavaDownloads } from '../../src/engines/process/cores/java-downloads.ts';
import { openCoreSources } from '../../src/engines/process/cores/sources.ts';
import { createJavas } from '../../src/engines/process/java-homes.ts';
import { javaRange } from '../../src/game/container.ts';
import { coreOf, isProxy } from '../../src/game/cores.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';

/** `npm run test:sources` sets it. These tests need the internet and download about a gigabyte. */
const isWanted = process.env['TEST_SOURCES'] === 'yes';
const log = pino({ level: 'silent' });
const VERSION = '1.21.1';

for (const core of [
  'vanilla',
  'paper',
  'folia',
  'purpur',
  'leaf',
  'pufferfish',
  'fabric',
  'quilt',
  'forge',
  'neoforge',
  'velocity',
]) {
  test.serial.runIf(isWanted)(`the real source of ${core} answers as documented`, async (t) => {
    t.timeout(900_000);
    const dir = await mkdtemp(join(tmpdir(), 'dormouse-sources-'));
    t.teardown(() => rm(dir, { recursive: true, force: true }));
    await mkdir(join(dir, 'data'));
    const config = loadConfig({}, { envFile: null });
    const options = { clock: systemClock, contact: 'https://example.org' };
    const javaDir = join(dir, 'java');
    const programs = {
      sandboxEntry: '',
      javas: createJavas({ command: 'java', searchPath: process.env['PATH'] ?? '', roots: ['/usr/lib/jvm'] }),
      downloadedJavas: createJavas({ roots: [javaDir] }),
      fetchJava: createJavaDownloads({ apiUrl: config.adoptiumUrl, dir: javaDir, ...options }),
      coresDir: join(dir, 'cores'),
      cores: openCoreStore(join(dir, 'cores'), openCoreSources(config, options), log),
      installersOf: (spec: GameSpec, java: Parameters<typeof installerHost>[1]) =>
        installerHost(spec, java, {
          confinement: {},
          env: { PATH: process.env['PATH'] ?? '' },
          openLog: () => open(join(dir, 'log'), 'a'),
        }),
    };
    // The newest release of Folia and Pufferfish may be another one.
    for (const version of coreOf(core)?.proxyVersions ?? [VERSION, '1.21.8', '1.21.4', '1.20.4']) {
      const spec = {
        core,
        version,
        isProxy: isProxy(core),
        dataDir: join(dir, 'data'),
        ramMb: 2_048,
        java: javaRange(version, core),
      };
      try {
        const { args } = await commandFor(spec as GameSpec, programs, AbortSignal.timeout(900_000));
        t.log(args.join(' '));
        t.true((await readdir(programs.coresDir)).includes(core));
        return;
      } catch (error) {
        if (!(error instanceof EngineError) || !error.message.startsWith('There is no ')) throw error;
      }
    }
    t.fail(`${core} offers none of the versions`);
  });
}

test.serial.runIf(isWanted)('the real source of Java answers as documented', async (t) => {
  t.timeout(900_000);
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-java-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const { adoptiumUrl: apiUrl } = loadConfig({}, { envFile: null });
  const fetchJava = createJavaDownloads({ apiUrl, dir, clock: systemClock, contact: 'https://example.org' });
  for (const major of [8, 17, 21, 25]) {
    const range = { least: major, most: major };
    await fetchJava(range, AbortSignal.timeout(900_000), () => {});
    const { file } = await createJavas({ roots: [dir] }).choose(range, 'the test');
    t.true(file.startsWith(dir));
  }
});

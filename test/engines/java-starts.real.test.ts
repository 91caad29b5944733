import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { presetFlags } from '../../src/engines/jvm-options.ts';
import { openBubblewrap } from '../../src/engines/process/bubblewrap.ts';
import type { Confinement } from '../../src/engines/process/confinement.ts';
import { createJavas } from '../../src/engines/process/java-homes.ts';
import { createProcessEngine } from '../../src/engines/process/process.ts';
import { QuickStarts } from '../../src/engines/process/quick-starts.ts';
import { processTrainer } from '../../src/engines/process/training.ts';
import { handOver } from '../../src/jail/hand-over.ts';
import { gameSpec } from '../conformance/game-spec.ts';
import { createCoreJar } from '../support/java-core.ts';
import { JDK25, isHere } from '../support/needs.ts';
import { until } from '../support/until.ts';

const never = new AbortController().signal;
const USER = { uid: 1_879_048_111, gid: 1_879_048_111 };

/** An engine on a real Java 25, confined as far as this machine allows, with a core like Paper in its folder. */
async function bench(t: ExecutionContext) {
  t.timeout(600_000);
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-java-starts-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  await chmod(dir, 0o755);
  const [coresDir, dataDir] = [join(dir, 'cores'), join(dir, 'servers/alpha')];
  for (const folder of [coresDir, dataDir, join(dir, 'drafts')]) await mkdir(folder, { recursive: true });
  await createCoreJar(join(coresDir, 'paper-1.21.11.jar'), join(dir, 'drafts'), 'Game', { patched: true });
  const confinement: Confinement = isHere('bubblewrap') ? await confined() : {};
  if (confinement.user) await handOver(dataDir, confinement.user);
  const log = pino({ level: 'silent' });
  const searchPath = process.env.PATH ?? '';
  const quickStarts = new QuickStarts({
    coresDir,
    trainer: processTrainer(confinement, searchPath),
    log,
    spareMb: () => 8_000,
  });
  t.teardown(() => quickStarts.close());
  const engine = createProcessEngine({
    runDir: join(dir, 'run'),
    log,
    sandboxEntry: '/no/sandbox',
    confinement,
    javas: createJavas({ homes: [JDK25] }),
    quickStarts,
  });
  t.teardown(() => engine.erase('alpha'));
  const spec = {
    ...gameSpec('alpha', { image: '', dataDir, env: { EULA: 'TRUE' }, ramMb: 512 }),
    core: 'paper',
    version: '1.21.11',
  };
  let seen = 0;
  /** Starts the game, waits until it is ready, stops it, and returns its output. */
  const played = async () => {
    await engine.boot(spec, never);
    const output = await until(async () => {
      const lines: string[] = [];
      for await (const { text } of engine.logs('alpha')) lines.push(text);
      const own = lines.slice(seen);
      return own.some((line) => line.includes('Done (')) && own;
    });
    await engine.halt('alpha', 10_000);
    seen += output.length;
    return output.join('\n');
  };
  /** The arguments of a start with these options. */
  const quick = async (flags: readonly string[] = []) => {
    const main = ['-jar', join(coresDir, 'paper-1.21.11.jar')];
    return await quickStarts.quicken({ spec, java: { file: join(JDK25, 'bin/java'), major: 25 }, flags, main });
  };
  return { dir, coresDir, quickStarts, played, quick };
}

async function confined(): Promise<Confinement> {
  const user = process.getuid?.() === 0 ? USER : undefined;
  return { user, bubblewrap: await openBubblewrap(user, pino({ level: 'silent' })) };
}

/** Runs Java until it is ready. Returns its output; rejects if it ends before. */
async function ready(folder: string, args: readonly string[]): Promise<string> {
  await writeFile(join(folder, 'server.properties'), 'server-ip=127.0.0.1\nserver-port=0\n');
  const child = spawn(join(JDK25, 'bin/java'), args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  for await (const line of createInterface({ input: child.stdout })) {
    output += `${line}\n`;
    if (!line.includes('Done (')) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
    return output;
  }
  throw new Error(`the game was never ready: ${output}`);
}

test.runIf(isHere('java25'))(
  'Java 25 starts a core with its bundler first, then with its main class and a cache that it accepts',
  async (t) => {
    const it = await bench(t);
    t.regex(await it.played(), /loader URLClassLoader/);
    await it.quickStarts.settled();
    t.regex(await it.played(), /loader AppClassLoader/);
    const args = (await it.quick())!;
    t.regex(args[0] ?? '', /^-XX:AOTCache=/);
    // Java ends instead if it cannot use the cache.
    const strict = await ready(it.dir, ['-XX:AOTMode=on', '-Xmx300M', ...args]);
    t.regex(strict, /loader AppClassLoader/);
    t.notRegex(strict, /warning|error/i);
  },
);

test.runIf(isHere('java25'))('Java 25 records and accepts a cache for each preset of options', async (t) => {
  const it = await bench(t);
  for (const preset of ['aikar', 'zgc'] as const) {
    const flags = presetFlags(preset, 25);
    await it.quick(flags);
    await it.quickStarts.settled();
    const args = (await it.quick(flags))!;
    t.regex(args[0] ?? '', /^-XX:AOTCache=/, preset);
    t.notRegex(await ready(it.dir, ['-XX:AOTMode=on', ...flags, '-Xmx300M', ...args]), /warning|error/i, preset);
  }
});

test.runIf(isHere('java25'))('a cache that Java rejects costs nothing but time', async (t) => {
  const it = await bench(t);
  await it.quick();
  await it.quickStarts.settled();
  const [cache = '', ...main] = (await it.quick())!;
  const path = cache.replace('-XX:AOTCache=', '');
  await promisify(execFile)('cp', [path, `${path}.kept`]);
  // Options of an owner that do not fit the cache.
  t.regex(await ready(it.dir, [cache, '-XX:+UseSerialGC', '-XX:-UseCompressedOops', '-Xmx300M', ...main]), /Done/);
  t.regex(await ready(it.dir, [cache, '--add-opens=java.base/java.lang=ALL-UNNAMED', '-Xmx300M', ...main]), /Done/);
  // A damaged cache, and one that is gone.
  await rm(path);
  t.regex(await ready(it.dir, [cache, '-Xmx300M', ...main]), /Done/);
  await writeFile(path, 'not a cache');
  t.regex(await it.played(), /loader AppClassLoader/);
});

import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import Docker from 'dockerode';
import { pino } from 'pino';
import { ContainerStarts } from '../../src/engines/docker/container-starts.ts';
import { createDockerEngine } from '../../src/engines/docker/docker.ts';
import { handOver } from '../../src/jail/hand-over.ts';
import { gameSpec } from '../conformance/game-spec.ts';
import { createCoreJar } from '../support/java-core.ts';
import { buildJavaImage } from '../support/java-image.ts';
import { isHere } from '../support/needs.ts';
import { until } from '../support/until.ts';

const never = new AbortController().signal;
const USER = process.getuid?.() === 0 ? { uid: 1_000, gid: 1_000 } : undefined;

/** An engine on Docker, with an image of a real Java 25 and a core like Paper in it. */
async function bench(t: ExecutionContext) {
  t.timeout(600_000);
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-container-starts-'));
  await chmod(dir, 0o755);
  const dataDir = join(dir, 'servers/alpha');
  for (const folder of [dataDir, join(dir, 'drafts')]) await mkdir(folder, { recursive: true });
  await writeFile(join(dataDir, 'server.properties'), 'server-ip=0.0.0.0\nserver-port=25565\n');
  if (USER) await handOver(dataDir, USER);
  const jar = join(dir, 'paper.jar');
  await createCoreJar(jar, join(dir, 'drafts'), 'Game', { patched: true });
  const docker = new Docker();
  const installation = `t${randomBytes(5).toString('hex')}`;
  const image = `dormouse/java-stand-in:${installation}`;
  await buildJavaImage(docker, image, { 'paper-1.21.11-7.jar': jar });
  const logged: { level: number; msg: string; err?: { message: string } }[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void logged.push(JSON.parse(line)) });
  const starts = new ContainerStarts(join(dir, 'start-caches'), USER, log, () => 8_000);
  const engine = createDockerEngine({ installation, logDir: join(dir, 'logs'), log, starts });
  t.teardown(async () => {
    await starts.close();
    await engine.erase('alpha');
    await docker.getImage(image).remove({ force: true });
    await rm(dir, { recursive: true });
  });
  t.teardown(engine.watch(() => undefined));
  const spec = (options = '') => ({
    ...gameSpec('alpha', { image, dataDir, ramMb: 512, env: { EULA: 'TRUE', TYPE: 'PAPER', VERSION: '1.21.11' } }),
    core: 'paper',
    version: '1.21.11',
    build: '7',
    isOneJar: true,
    env: {
      EULA: 'TRUE',
      TYPE: 'PAPER',
      VERSION: '1.21.11',
      PAPER_BUILD: '7',
      MAX_MEMORY: '256M',
      JVM_XX_OPTS: options,
    },
  });
  /** Starts the game until it is ready or has ended, and stops it. Returns the output of this run. */
  const played = async (options?: string) => {
    const before = (await lines()).length;
    await engine.boot(spec(options), never);
    const output = await until(async () => {
      const own = (await lines()).slice(before);
      const isOver = own.some((line) => line.includes('Done (')) || !(await engine.inspect('alpha'))?.up;
      return isOver && own;
    });
    await engine.halt('alpha', 10_000);
    return output.join('\n');
  };
  const lines = async () => {
    const texts: string[] = [];
    for await (const { text } of engine.logs('alpha')) texts.push(text);
    return texts;
  };
  return { dir, dataDir, docker, installation, starts, played, logged };
}

test.runIf(isHere('docker') && isHere('java25'))(
  'a game in a container starts its jar first, then its main class with a read-only cache that Java accepts',
  async (t) => {
    const it = await bench(t);
    t.regex(await it.played(), /loader URLClassLoader/);
    await it.starts.settled();
    t.deepEqual(
      it.logged.filter(({ level }) => level > 30),
      [],
    );
    // Java ends instead if it cannot use the cache.
    const quick = await it.played('-XX:AOTMode=on');
    t.regex(quick, /loader AppClassLoader/);
    t.regex(quick, /Done \(/);
    t.notRegex(quick, /warning|error/i);
    const filters = { label: [`dormouse.training=${it.installation}`] };
    t.deepEqual(await it.docker.listContainers({ all: true, filters }), []);
  },
);

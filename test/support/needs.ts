import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A system outside this repository that some tests use. */
export type Need =
  | 'docker'
  | 'mounts'
  | 'dockerd'
  | 'swarm'
  | 'postgres'
  | 'haproxy'
  | 'chromium'
  | 'mariadb'
  | 'openssh'
  | 'bubblewrap'
  | 'client-tools'
  | 'promtool'
  | 'systemd'
  | 'caddy'
  | 's3'
  | 'restic'
  | 'rclone'
  | 'java25'
  | 'archivers'
  | 'tools';

/** The S3 server that `npm run client-tools` installs. */
export const S3_SERVER = join(import.meta.dirname, '../../node_modules/.cache/client-tools/bin/versitygw');

/** The JDK with which tests compile and run Java games. */
export const JDK25 = process.env.JDK25 ?? '/usr/lib/jvm/temurin-25-jdk-amd64';

/** Chromium without a window, if it is installed: the same engine, which takes half the time. */
const HEADLESS = '/usr/bin/chromium-headless-shell';
export const CHROMIUM = process.env.CHROMIUM ?? (existsSync(HEADLESS) ? HEADLESS : '/usr/bin/chromium');

const run = promisify(execFile);
const probes: Record<Need, () => Promise<unknown>> = {
  docker: () => dockerAnswers(process.env.DOCKER_SOCKET ?? '/var/run/docker.sock'),
  mounts: () => run('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { timeout: 60_000 }),
  dockerd: () => mayStartEngines(),
  swarm: () => mayBeSwarm(),
  postgres: () =>
    firstThatRuns(['postgres', ...[18, 17, 16, 15, 14].map((n) => `/usr/lib/postgresql/${n}/bin/postgres`)]),
  haproxy: () => firstThatRuns(['haproxy', '/usr/sbin/haproxy'], '-v'),
  mariadb: () => firstThatRuns(['mariadbd', '/usr/sbin/mariadbd']),
  bubblewrap: () => run('bwrap', ['--unshare-pid', '--ro-bind', '/', '/', 'true'], { timeout: 60_000 }),
  'client-tools': () => access(join(import.meta.dirname, '../../node_modules/.cache/client-tools/installed')),
  systemd: () => firstThatRuns(['systemd-analyze']),
  caddy: () => firstThatRuns(['caddy'], 'version'),
  promtool: () => firstThatRuns(['promtool']),
  restic: () => firstThatRuns(['restic'], 'version'),
  rclone: () => firstThatRuns(['rclone'], 'version'),
  s3: () => firstThatRuns([S3_SERVER, 'versitygw']),
  java25: () => firstThatRuns([join(JDK25, 'bin/javac')]),
  archivers: () =>
    Promise.all([run('zip', ['-v']), run('tar', ['--zstd', '--version']), run('zstd', ['-V']), run('python3', ['-V'])]),
  openssh: () => firstThatRuns(['ssh'], '-V'),
  chromium: () => Promise.all([firstThatRuns([CHROMIUM]), probes.tools()]),
  tools: () => access(join(import.meta.dirname, '../node_modules/.package-lock.json')),
};
/** The parts that `ava.config.js` found on this machine. Empty for `npm test`, which uses embedded parts alone. */
const PRESENT = new Set(process.env.TEST_PARTS?.split(' '));

/** Whether this run includes tests that take long on purpose: heavy inputs and kill loops. */
export const isThorough = process.env.TEST_THOROUGH === 'yes';

/** Files that measure memory or CPU, that need real parts, or that start whole services. */
const ALONE = /\.(alone|real)\.test\.ts$|^flows\//;

/**
 * Returns whether a test file, as a path below `test/`, has a worker of its own. In a thorough run each file that opens
 * a browser has one, because other tests of its worker would delay the page.
 */
export function runsAlone(file: string, thorough = isThorough): boolean {
  if (ALONE.test(file)) return true;
  return thorough && readFileSync(join(import.meta.dirname, '..', file), 'utf8').includes("isHere('chromium')");
}

/** Returns whether this run uses real parts and has all of these: `test.runIf(isHere('docker'))('a title', …)`. */
export function isHere(...needs: Need[]): boolean {
  return needs.every((need) => PRESENT.has(need));
}

/**
 * Checks for every part on this machine, all at once. Returns the present parts, and the reason for each missing one.
 */
export async function lookForParts(): Promise<{ present: Need[]; missing: string[] }> {
  const names = Object.keys(probes) as Need[];
  const answers = await Promise.allSettled(names.map((name) => probes[name]()));
  return {
    present: names.filter((_, index) => answers[index]?.status === 'fulfilled'),
    missing: names.flatMap((name, index) => {
      const answer = answers[index];
      return answer?.status === 'rejected' ? [`${name} (${(answer.reason as Error).message.split('\n')[0]})`] : [];
    }),
  };
}

function dockerAnswers(socketPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const ping = request({ socketPath, path: '/_ping', timeout: 60_000 }, (response) => {
      response.resume();
      if (response.statusCode === 200) resolve();
      else reject(new Error(`the engine answered ${response.statusCode}`));
    });
    ping.on('timeout', () => ping.destroy(new Error('the engine did not answer within 60 s')));
    ping.on('error', reject);
    ping.end();
  });
}

async function firstThatRuns(programs: string[], argument = '--version'): Promise<void> {
  const tries = programs.map((program) => run(program, [argument], { timeout: 60_000 }));
  await Promise.any(tries).catch(() => {
    throw new Error(`none of ${programs.join(', ')} runs`);
  });
}

/** Rejects unless tests can start their own engines, which needs root, dockerd, and an engine to copy images from. */
async function mayStartEngines(): Promise<void> {
  await dockerAnswers(process.env.DOCKER_SOCKET ?? '/var/run/docker.sock');
  if (process.getuid?.() !== 0) throw new Error('engines of its own need root');
  await firstThatRuns(['dockerd']);
}

/**
 * Rejects unless engines can run in network namespaces of this machine, joined by an overlay network. This needs VXLAN
 * in the kernel.
 */
async function mayBeSwarm(): Promise<void> {
  await mayStartEngines();
  const probe = 'ip link add v0 type vxlan id 5 dstport 4789 local 127.0.0.1 && ip link add b0 type bridge';
  await run('unshare', ['--net', '--uts', 'sh', '-c', probe], { timeout: 60_000 });
}

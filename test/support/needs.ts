import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';

/** A system outside this repository that some tests use. */
export type Need =
  | 'docker'
  | 'mounts'
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
  | 's3';

/** What `npm run client-tools` installs. */
export const S3_SERVER = join(import.meta.dirname, '../../node_modules/.cache/client-tools/bin/versitygw');

/** Chromium without a window, where it is installed: the same engine, which takes half as long to do the same. */
const HEADLESS = '/usr/bin/chromium-headless-shell';
export const CHROMIUM = process.env.CHROMIUM ?? (existsSync(HEADLESS) ? HEADLESS : '/usr/bin/chromium');

/** Who is told of what is missing: a test. */
export type Told = Pick<ExecutionContext, 'log' | 'pass' | 'fail'>;

const run = promisify(execFile);
const probes: Record<Need, () => Promise<unknown>> = {
  docker: () => dockerAnswers(process.env.DOCKER_SOCKET ?? '/var/run/docker.sock'),
  mounts: () => run('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { timeout: 60_000 }),
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
  s3: () => firstThatRuns([S3_SERVER, 'versitygw']),
  openssh: () => firstThatRuns(['ssh'], '-V'),
  chromium: () => firstThatRuns([CHROMIUM]),
};
const found = new Map<Need, Promise<Error | undefined>>();

/**
 * Whether a system is there that a test needs: a Docker engine that answers, the right to mount, what several engines of a test's own need, or the
 * program of PostgreSQL, HAProxy, Chromium, MariaDB, OpenSSH, bubblewrap, Prometheus' promtool, systemd or Caddy, or what
 * `npm run client-tools` installs, an S3 server among it.
 * Where it is not, says so in the test's log and passes the test, so that the caller returns:
 * `if (!(await needs(t, 'docker'))) return;`. With `CI` or `DORMOUSE_NO_SKIP` set nothing may be skipped: the test fails.
 */
export async function needs(t: Told, need: Need): Promise<boolean> {
  const missing = await probe(need);
  if (missing === undefined) return true;
  const why = `needs ${need}, which is not here: ${missing.message}`;
  if (process.env.CI || process.env.DORMOUSE_NO_SKIP) t.fail(why);
  else {
    t.log(`SKIPPED: ${why}`);
    t.pass();
  }
  return false;
}

/** The same for what is no test. */
export async function isHere(need: Need): Promise<boolean> {
  return (await probe(need)) === undefined;
}

function probe(need: Need): Promise<Error | undefined> {
  let answer = found.get(need);
  if (!answer) {
    answer = probes[need]().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
    found.set(need, answer);
  }
  return answer;
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

/** Engines in network name spaces of this machine, joined by an overlay network: root, dockerd, and VXLAN in the kernel. */
async function mayBeSwarm(): Promise<void> {
  await dockerAnswers(process.env.DOCKER_SOCKET ?? '/var/run/docker.sock');
  if (process.getuid?.() !== 0) throw new Error('engines of its own need root');
  await firstThatRuns(['dockerd']);
  const probe = 'ip link add v0 type vxlan id 5 dstport 4789 local 127.0.0.1 && ip link add b0 type bridge';
  await run('unshare', ['--net', '--uts', 'sh', '-c', probe], { timeout: 60_000 });
}

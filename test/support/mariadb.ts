import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { fastDir } from './fast-dir.ts';
import { freePort } from './service.ts';

/** A MariaDB server for tests. */
export interface Mariadb {
  port: number;
  /** The URL of an account with all privileges. */
  adminUrl: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Stops the server and deletes its data. */
  remove(): Promise<void>;
}

const run = promisify(execFile);
const PASSWORD = 'p@ss/word';

/** Creates and starts a server on a free port. `more`: further options of the server. */
export async function startMariadb(more: readonly string[] = []): Promise<Mariadb> {
  const directory = await mkdtemp(join(await fastDir(), 'my-'));
  const data = join(directory, 'data');
  const user = process.getuid?.() === 0 ? ['--user=root'] : [];
  const auth = ['--auth-root-authentication-method=normal', '--skip-test-db'];
  // A starting server empties its directory for temporary files, including the files of other programs, so it gets one of its own.
  const env = { ...process.env, TMPDIR: directory };
  await run('mariadb-install-db', ['--no-defaults', `--datadir=${data}`, ...user, ...auth], { env });
  const port = await freePort();
  const socket = join(directory, 'sock');
  let stop = async () => {};
  async function start(): Promise<void> {
    const server = spawn(
      'mariadbd',
      [
        '--no-defaults',
        ...user,
        `--datadir=${data}`,
        `--port=${port}`,
        '--bind-address=127.0.0.1',
        `--socket=${socket}`,
        `--pid-file=${join(directory, 'pid')}`,
        '--skip-name-resolve',
        '--innodb-buffer-pool-size=16M',
        '--innodb-log-file-size=8M',
        '--innodb-flush-log-at-trx-commit=0',
        '--skip-log-bin',
        '--performance-schema=OFF',
        ...more,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'], env },
    );
    const said: string[] = [];
    let ready = false;
    for await (const line of createInterface(server.stderr)) {
      said.push(line);
      ready = line.includes('ready for connections');
      if (ready) break;
    }
    if (!ready) throw new Error(`MariaDB did not start:\n${said.join('\n')}`);
    server.stderr.resume();
    stop = async () => {
      stop = async () => {};
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
    };
  }
  await start();
  const grant = `GRANT ALL ON *.* TO admin@'%' IDENTIFIED BY '${PASSWORD}' WITH GRANT OPTION`;
  await run('mariadb', ['--no-defaults', `--socket=${socket}`, '-u', 'root', '-e', grant]);
  return {
    port,
    adminUrl: `mysql://admin:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`,
    start,
    stop: () => stop(),
    async remove() {
      await stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { Client } from 'pg';
import { fastDir } from '../support/fast-dir.ts';

/** A PostgreSQL of the tests' own, on a socket in its own directory. */
export interface Postgres {
  /** Creates an empty database and returns its URL. */
  database(): Promise<string>;
  stop(): Promise<void>;
}

const run = promisify(execFile);

/** Returns the URL of an empty database in a PostgreSQL that stops after the test. */
export async function postgresUrl(t: ExecutionContext): Promise<string> {
  const postgres = await startPostgres();
  t.teardown(() => postgres.stop());
  return await postgres.database();
}

/**
 * Starts the newest PostgreSQL of this machine, as user 65534 if this process is root, because PostgreSQL refuses root.
 * `durable`: keeps the data on disk, and each commit waits until it is stored.
 */
export async function startPostgres({ durable = false } = {}): Promise<Postgres> {
  const programs = await newest();
  const directory = await mkdtemp(join(durable ? tmpdir() : await fastDir(), 'pg-'));
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  if (user.uid !== undefined) await chown(directory, user.uid, user.gid);
  const data = join(directory, 'data');
  await run(join(programs, 'initdb'), ['-D', data, '-U', 'dormouse', '-A', 'trust', '-E', 'UTF8', '--no-sync'], user);
  const settings = [
    `fsync=${durable ? 'on' : 'off'}`,
    'listen_addresses=',
    `unix_socket_directories=${directory}`,
    'shared_buffers=16MB',
  ];
  const server = spawn(join(programs, 'postgres'), ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
    ...user,
    cwd: directory,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const line of createInterface(server.stderr)) if (line.includes('ready to accept connections')) break;
  server.stderr.resume();
  const url = (name: string) => `postgres://dormouse@${encodeURIComponent(directory)}/${name}`;
  const admin = new Client({ connectionString: url('postgres') });
  await admin.connect();
  let databases = 0;
  let turn: Promise<unknown> = Promise.resolve();
  return {
    async database() {
      const name = `test${++databases}`;
      // The client accepts one query at a time.
      turn = turn.then(() => admin.query(`CREATE DATABASE ${name}`));
      await turn;
      return url(name);
    },
    async stop() {
      await admin.end();
      const ended = once(server, 'exit');
      server.kill('SIGQUIT');
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function newest(): Promise<string> {
  const root = '/usr/lib/postgresql';
  const versions = await readdir(root).catch(() => []);
  const version = versions.toSorted((a, b) => Number(b) - Number(a))[0];
  return version === undefined ? '' : join(root, version, 'bin');
}

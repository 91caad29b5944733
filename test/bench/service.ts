import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { KEY_SCOPES } from '../../src/http/scopes.ts';
import { mintKey } from '../../src/access/keys.ts';
import { insertKey } from '../../src/access/key-rows.ts';
import { insertUser } from '../../src/accounts/rows.ts';
import type { ServerRow } from '../../src/servers/rows.ts';
import { NO_SOURCES } from '../support/no-sources.ts';
import { startChild } from './children.ts';
import { ACCOUNT, addServers, openControl, readyGames } from './control.ts';

/** The service as its users run it, in a process of its own. */
export interface ServiceProcess {
  child: ChildProcess;
  httpPort: number;
  playersPort: number;
  /** The time from the start of the process until it was ready. */
  readyMs: number;
  /** Sends `SIGTERM`. Resolves when the process has ended. */
  stop(): Promise<void>;
}

const ROOT = join(import.meta.dirname, '../..');

/**
 * Starts the service on `dataDir`, on free ports of the loopback. Resolves when it is ready. `settings` override the
 * defaults.
 */
export async function startService(
  core: number | string,
  dataDir: string,
  settings: NodeJS.ProcessEnv = {},
): Promise<ServiceProcess> {
  const begun = performance.now();
  const env = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    DATA_DIR: dataDir,
    HTTP_PORT: '0',
    PROXY_HOST: '127.0.0.1',
    PROXY: 'embedded',
    PROXY_PORT: '0',
    SFTP_PORT: '0',
    ENGINE: 'process',
    MAX_SERVERS_PER_ACCOUNT: '0',
    // No request may leave this machine.
    ...NO_SOURCES,
    ...settings,
  };
  const child = startChild(core, process.execPath, ['src/start.js'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ready = Promise.withResolvers<{ http: number; players: number }>();
  child.once('exit', (code) => ready.reject(new Error(`the service ended with ${code}`)));
  const lines = createInterface({ input: child.stdout! }).on('line', (line) => {
    if (!line.includes('"msg":"ready"')) return;
    ready.resolve(JSON.parse(line) as { http: number; players: number });
    // Discard further output without reading it.
    lines.close();
    child.stdout!.resume();
  });
  const { http: httpPort, players: playersPort } = await ready.promise;
  return {
    child,
    httpPort,
    playersPort,
    readyMs: performance.now() - begun,
    async stop() {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
    },
  };
}

/** Returns settings that let `longestTurn` measure the event loop of a service. */
export function watchedTurns(folder: string): NodeJS.ProcessEnv {
  return {
    NODE_OPTIONS: `--import=${join(import.meta.dirname, 'loop-delay.ts')}`,
    LOOP_DELAY_FILE: join(folder, 'loop-delay'),
  };
}

/** Returns the longest delay of the event loop since the last call, in ms. */
export async function longestTurn({ child }: ServiceProcess, folder: string): Promise<number> {
  const file = join(folder, 'loop-delay');
  await rm(file, { force: true });
  child.kill('SIGUSR2');
  for (;;) {
    const said = await readFile(file, 'utf8').catch(() => '');
    if (said !== '') return Number(said);
    await delay(20);
  }
}

/** Creates a database with sleeping servers, one user, and API keys of that user. Returns the keys. */
export async function prepareService(
  dataDir: string,
  counts: { servers: number; keys?: number; databaseUrl?: string },
  fields: Partial<ServerRow> = {},
): Promise<string[]> {
  const control = await openControl(dataDir, readyGames({ host: '127.0.0.1', port: 1 }), counts.databaseUrl);
  try {
    await addServers(control, counts.servers, fields);
    const createdAt = Date.now();
    const user = { id: 'usr_bench', email: 'bench@localhost', emailVerified: true, passwordHash: '', operator: true };
    const wanted = { name: 'bench', userId: user.id, accountId: ACCOUNT, scopes: KEY_SCOPES, expiresAt: null };
    const minted = Array.from({ length: counts.keys ?? 0 }, () => mintKey({ ...wanted, createdAt }));
    await control.store.write(async (tx) => {
      await insertUser(tx, { ...user, accountId: ACCOUNT, createdAt });
      for (const { row } of minted) await insertKey(tx, row);
    });
    return minted.map(({ key }) => key);
  } finally {
    await control.close();
  }
}

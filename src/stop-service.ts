import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { startApp } from './app.ts';
import type { Config } from './config.ts';
import { createLog } from './kernel/log.ts';
import { type ProcessIdentity, isAlive, thisProcess } from './kernel/process-identity.ts';
import { StatusError } from './kernel/status.ts';
import { hasGame } from './servers/stopping.ts';
import { leaseHolder } from './store/lease.ts';
import { sqliteFile } from './store/service-backup.ts';
import { type Store, openStore } from './store/store.ts';
import { TABLES } from './tables.ts';

/** The signal that makes a service put every server to sleep and end, together with the proxy. */
export const STOP_ALL = 'SIGUSR2';
const LOOK_MS = 200;
/** Most server names listed in a message. */
const MOST_NAMES = 10;

/**
 * Puts every server of this installation to sleep, and ends its service and its proxy. If no service runs, this process
 * starts one for this. Returns a sentence about the result. Rejects with StatusError if servers are still awake, or if
 * the service runs where this process cannot stop it.
 */
export async function stopService(config: Config): Promise<string> {
  const { databaseUrl, dataDir } = config;
  const file = sqliteFile(databaseUrl);
  if (file !== undefined && !existsSync(file))
    return `Nothing is running: there is no installation in ${dataDir} yet.\n`;
  const running = await withStore(databaseUrl, serviceHere);
  if (running === undefined) {
    const log = createLog({ level: config.logLevel });
    const alone: Config = { ...config, httpPort: 0, sftpPort: 0, standby: 'refuse' };
    const app = await startApp(alone, log, () => process.exit(1));
    await app.stopAll();
  } else {
    // If the start time is unknown, another process may have the same id by now.
    if (running.startedAt === '' || process.platform === 'win32') throw stopByHand(running);
    process.stdout.write(
      `The service (process ${running.pid}) is putting its servers to sleep. This takes up to two minutes.\n`,
    );
    process.kill(running.pid, STOP_ALL);
    const here = await thisProcess();
    while (await isAlive(running, here)) await delay(LOOK_MS);
  }
  const awake = await withStore(databaseUrl, serversWithGames);
  if (awake.length === 0) return 'All servers are asleep. The service and its proxy have stopped.\n';
  const sentence = `Servers still awake: ${awake.slice(0, MOST_NAMES).join(', ')}. The service log has the reason. Run npm run stop again.`;
  throw new StatusError('FAILED_PRECONDITION', 'STILL_AWAKE', sentence);
}

function stopByHand({ pid }: ProcessIdentity): StatusError {
  const sentence = `The service (process ${pid}) must end first: press Ctrl-C in its terminal. Then run npm run stop again.`;
  return new StatusError('FAILED_PRECONDITION', 'SERVICE_RUNS', sentence);
}

/** Reads the database without acquiring the lease. */
async function withStore<Result>(databaseUrl: string, use: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await openStore(databaseUrl, TABLES);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Returns the service's process on this machine; undefined if none is running. */
async function serviceHere(store: Store) {
  const holder = await leaseHolder(store);
  return holder && (await isAlive(holder, await thisProcess())) === true ? holder : undefined;
}

async function serversWithGames(store: Store): Promise<string[]> {
  const rows = await store.query<{ name: string; state: string }>('SELECT "name", "state" FROM "servers"', []);
  return rows.filter(({ state }) => hasGame(state)).map(({ name }) => name);
}

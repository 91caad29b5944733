import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cause } from '../../machines/server-types.ts';
import type { Console } from '../../src/engines/console/console.ts';
import { createManagement } from '../../src/engines/console/management.ts';
import type { Engine } from '../../src/engines/engine.ts';
import type { Pinger } from '../../src/engines/pinger.ts';
import { createPlayerFiles } from '../../src/game/players/files.ts';
import { createJoinPolicy, openWakePolicies } from '../../src/joining/join-policy.ts';
import { Routing } from '../../src/joining/routing.ts';
import type { Address } from '../../src/kernel/address.ts';
import { type Log, createLog } from '../../src/kernel/log.ts';
import { sinceBoot, systemClock } from '../../src/kernel/system-clock.ts';
import { insertAccount } from '../../src/accounts/rows.ts';
import { openEffects, openServers } from '../../src/servers/open.ts';
import { createPresence } from '../../src/servers/presence.ts';
import { startReconcile } from '../../src/servers/reconcile.ts';
import { type ServerRow, listRoutes } from '../../src/servers/rows.ts';
import type { Servers } from '../../src/servers/servers.ts';
import { type Store, openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { steadyOf } from '../fakes/clock.ts';
import { type FakeEngine, fakeEngine } from '../fakes/engine.ts';
import { fakePasswords } from '../fakes/passwords.ts';
import { LIMITS, SETTINGS, serverRow } from '../support/world.ts';

export const BENCH: Cause = { kind: 'system', id: 'bench', note: '' };
export const ACCOUNT = 'acc_bench';
const CREATED_TOGETHER = 500;

/** The external parts of the service. */
export interface Outside {
  engine: Engine;
  pinger: Pinger;
  console: Console;
}

/** The service between the engine and the listeners, on a database file. */
export interface Control {
  store: Store;
  servers: Servers;
  routing: Routing;
  log: Log;
  close(): Promise<void>;
}

/** Assembles the service as `src/app.ts` does. Its database is `dormouse.db` in `dataDir` by default. */
export async function openControl(
  dataDir: string,
  { engine, pinger, console }: Outside,
  databaseUrl = `sqlite:${join(dataDir, 'dormouse.db')}`,
): Promise<Control> {
  const clock = systemClock;
  const steady = steadyOf({ ...clock, monotonicMs: sinceBoot });
  // Log lines are created and discarded, so that the figures include their cost.
  const log = createLog({ level: 'info', pretty: false, destination: { write: () => {} } });
  const store = await openStore(databaseUrl, TABLES);
  const servers = openServers({
    store,
    clock,
    steady,
    log,
    startTimeoutSeconds: LIMITS.startMs / 1_000,
    onRefusal: () => {},
  });
  openEffects({
    servers,
    games: {
      engine,
      pinger,
      console,
      management: createManagement(),
      passwords: fakePasswords(),
      presence: createPresence(steady),
      clock: steady,
      log,
      owner: undefined,
      settings: { ...SETTINGS, dataDir },
    },
    rooms: {
      ports: { of: () => [] },
      capacity: { cpusFor: () => 1 },
      eula: { isAccepted: async () => true },
      erasers: [],
    },
    onStep: [],
    onClose: () => {},
  });
  const policies = await openWakePolicies(store);
  const joinPolicy = createJoinPolicy({ files: createPlayerFiles(dataDir), policies, clock, store });
  servers.checkWakes(joinPolicy.wakeCap, ['JOIN']);
  const routing = new Routing({
    joinPolicy,
    servers,
    clock,
    log,
    publicHost: 'localhost',
    sleepers: await listRoutes(store),
  });
  await servers.restore();
  const endReconcile = await startReconcile({ engine, servers, clock, log, dataDir });
  return {
    store,
    servers,
    routing,
    log,
    async close() {
      endReconcile();
      routing.close();
      await servers.close();
      await store.close();
    },
  };
}

/** Returns games in memory that are ready at once, at `address`, and end when their console receives `stop`. */
export function readyGames(address: Address): Outside & { engine: FakeEngine } {
  const engine = fakeEngine({ address: (serverId) => ({ game: address, rcon: { host: serverId, port: 1 } }) });
  const raw = JSON.stringify({ version: { name: '1.21.4', protocol: 769 }, players: { max: 20, online: 0 } });
  const status = { playersOnline: 0, playersMax: 20, versionName: '1.21.4', protocol: 769, raw };
  return {
    engine,
    pinger: { status: async () => status },
    console: {
      async run({ host }, _password, command) {
        if (command === 'stop') engine.crash(host, { code: 0 });
        return '';
      },
      release() {},
      close() {},
    },
  };
}

/** Creates `count` servers that have never run, named `server-0` and so on. */
export async function addServers(control: Control, count: number, fields: Partial<ServerRow> = {}): Promise<void> {
  await control.store.write((tx) => insertAccount(tx, { id: ACCOUNT, name: 'bench', createdAt: 0 }));
  const ids = Array.from({ length: count }, (_, index) => `server-${index}`);
  while (ids.length > 0) {
    const some = ids.splice(0, CREATED_TOGETHER);
    await Promise.all(some.map((id) => control.servers.create(serverRow(id, ACCOUNT, fields), BENCH)));
  }
}

/** Runs `work` in a new folder, which is removed afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-bench-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Runs a command line. Rejects if it fails. */
export async function shell(command: string): Promise<void> {
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${command} ended with ${code}`);
}

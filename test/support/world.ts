import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { gameConsoles, type Console } from '../../src/engines/console/console.ts';
import type { Cause, ServerCommand, ServerState } from '../../machines/server-types.ts';
import type { BackupRoom } from '../../src/backups/open.ts';
import { createManagement } from '../../src/engines/console/management.ts';
import type { Engine } from '../../src/engines/engine.ts';
import type { Pinger } from '../../src/engines/pinger.ts';
import { type ChangeLock, createChangeLock } from '../../src/jail/change-lock.ts';
import type { Address } from '../../src/kernel/address.ts';
import { createLog } from '../../src/kernel/log.ts';
import { Eula } from '../../src/access/eula.ts';
import { insertAccount } from '../../src/accounts/rows.ts';
import type { EffectRooms } from '../../src/servers/effect-host.ts';
import { createNetworkOf } from '../../src/servers/networks.ts';
import { openEffects, openServers } from '../../src/servers/open.ts';
import { secretFrom } from '../../src/store/secret.ts';
import { type Presence, createPresence } from '../../src/servers/presence.ts';
import { type ReconcileOptions, startReconcile } from '../../src/servers/reconcile.ts';
import type { ServerRow } from '../../src/servers/rows.ts';
import type { ServerNow } from '../../src/servers/server-now.ts';
import type { OnStep } from '../../src/servers/actors.ts';
import type { Servers } from '../../src/servers/servers.ts';
import type { Store } from '../../src/store/store.ts';
import { type FakeClock, fakeClock, steadyOf } from '../fakes/clock.ts';
import { type FakeEngine, fakeEngine } from '../fakes/engine.ts';
import { type FakeNode, type FakeNodes, onNodes } from '../fakes/nodes.ts';
import { fakePasswords } from '../fakes/passwords.ts';
import { type BackupDoubles, backupRoom } from './backup-room.ts';
import { openEmptyStore } from './empty-store.ts';
import { fastDir } from './fast-dir.ts';
import { serverRow as storedRow } from './store.ts';
import { until as eventually } from './until.ts';

export const KEY: Cause = { kind: 'key', id: 'key_test', note: 'test' };
export const STEVE: Cause = { kind: 'player', id: 'Steve', note: 'joined' };
export const LIMITS = { startMs: 600_000, stopMs: 120_000, installMs: 1_800_000 };
/** The settings of servers' effects, except the data folder. */
export const SETTINGS = {
  gameImage: 'itzg/minecraft-server',
  sandboxImage: 'dormouse/sandbox',
  sandboxFaults: {},
  idleTimeoutMinutes: 10,
  hungAfterSeconds: 180,
};
const START = 1_700_000_000_000;
/** The real-time pause between two checks, for other threads and processes. */
const LOOK_MS = 5;
/** The time by which the clock advances after each check. */
const STEP_MS = 250;

/** The replies of a fake engine's games. */
export interface Games extends Pinger, Console {
  /** The servers that do not answer status requests. */
  silent: Set<string>;
  players: Map<string, number>;
  /** Per server, the names in its answer to `list`. */
  names: Map<string, string[]>;
  commands: string[];
}

/** The commands without parameters. */
export type PlainCommand = Exclude<ServerCommand['type'], 'KEEP_AWAKE' | 'MAINTAIN'>;

/** Servers on a fake engine and clock, with a real store: everything behind the API and the proxy. */
export interface World {
  store: Store;
  clock: FakeClock;
  engine: FakeEngine & { nodes?: FakeNodes };
  games: Games;
  /** The players that the proxy reports as joined. */
  presence: Presence;
  eula: Eula;
  servers: Servers;
  /** The parts of backups and worlds. `openBackups` needs them. */
  room: () => BackupRoom;
  lock: ChangeLock;
  dataDir: string;
  create(id: string, fields?: Partial<ServerRow>): Promise<ServerNow>;
  command(id: string, type: PlainCommand, cause?: Cause): Promise<ServerNow>;
  /** Advances the clock in small steps until the server is in the state. Fails after `withinMs` of the clock. */
  reach(id: string, state: ServerState | 'gone', withinMs?: number, stepMs?: number): Promise<ServerNow | undefined>;
  /** Ends the game of a server with `end`, and waits until it was restarted and runs. */
  restarts(id: string, end: () => void): Promise<ServerNow | undefined>;
  /** Waits for something that takes real time (a file, a write), without advancing the clock. */
  until(holds: () => boolean | Promise<boolean>): Promise<void>;
  /** Advances the clock in steps until the condition holds. Waits for disk work in between, however slow. */
  passUntil(holds: () => boolean | Promise<boolean>, stepMs: number): Promise<void>;
  /** Advances the clock until the work has ended. */
  during<T>(work: Promise<T>): Promise<T>;
  /** Kills and restarts the process, or the machine. Only the database and the engine remain. */
  killAndRestart(how?: { rebooted: boolean }): Promise<void>;
}

export interface WorldOptions {
  /** The nodes that run games. Default: one machine without nodes. */
  nodes?: readonly FakeNode[];
  store?: (store: Store) => Store;
  onStep?: OnStep;
  onRefusal?: (reason: string) => void;
  onLook?: ReconcileOptions['onLook'];
  onAway?: ReconcileOptions['onAway'];
  /** Replaces the engine's `watch`. */
  watch?: Engine['watch'];
  room?: BackupDoubles;
  /** Default: the operator has accepted Minecraft's EULA for all servers. */
  minecraftEula?: 'ask' | 'accept' | undefined;
  /** Further data erased with a server. */
  erasers?: readonly ((id: string) => Promise<void>)[];
  /** Installs mods and packs in servers' folders. */
  content?: (base: Pick<World, 'store' | 'clock' | 'dataDir' | 'lock'>) => Pick<EffectRooms, 'mods' | 'installPack'>;
  /** Renews the console passwords of games about to start. */
  renewPassword?: () => Promise<string>;
}

export async function world(t: ExecutionContext, options: WorldOptions = {}): Promise<World> {
  // All tests of a file begin at once, so the last one may have to wait.
  t.timeout(300_000);
  const dataDir = await mkdtemp(join(await fastDir(), 'dormouse-test-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const base = await openEmptyStore();
  const accountId = await anAccount(base);
  const store = options.store?.(base) ?? base;
  const clock = fakeClock(START);
  const alone = fakeEngine({ clock, address: addressOf });
  const engine: World['engine'] = options.nodes ? onNodes(alone, options.nodes, clock) : alone;
  const games = fakeGames(engine);
  const log = createLog({ level: process.env['TEST_LOG'] ?? 'silent' });
  const eula = new Eula(store, clock, options.minecraftEula ?? 'accept');
  let steady = steadyOf(clock);
  const presence = createPresence(steady);
  let onReturn = () => {};

  const lock = createChangeLock((id) => it.servers.jobOf(id));
  let room = makeRoom();
  const it: World = {
    store,
    clock,
    engine,
    games,
    presence,
    eula,
    dataDir,
    create,
    command,
    reach,
    restarts,
    until,
    during,
    passUntil,
    killAndRestart,
    room: () => room,
    lock,
    servers: make(),
  };
  let endReconcile = await reconcile();
  t.teardown(async () => {
    endReconcile();
    await it.servers.close();
    await base.close();
  });

  function makeRoom(): BackupRoom {
    const consoles = gameConsoles(games, () => 'secret');
    return backupRoom({ store, clock, log, dataDir }, { engine, consoles }, lock, options.room ?? {});
  }

  function make(): Servers {
    const { onStep, onRefusal = () => {}, renewPassword } = options;
    const made = openServers({ store, clock, steady, log, startTimeoutSeconds: LIMITS.startMs / 1_000, onRefusal });
    const passwords = fakePasswords();
    const { engineReturned } = openEffects({
      servers: made,
      games: {
        engine,
        pinger: games,
        console: games,
        // Games of a fake engine have no management port.
        management: createManagement(),
        passwords: renewPassword ? { ...passwords, renew: renewPassword } : passwords,
        presence,
        clock: steady,
        log,
        owner: undefined,
        settings: { ...SETTINGS, dataDir },
      },
      rooms: {
        ...options.content?.({ store, clock, dataDir, lock }),
        ports: { of: () => [] },
        capacity: { cpusFor: () => 1 },
        eula,
        mayRun: (row) => eula.require(row),
        networkOf: createNetworkOf(store, secretFrom(Buffer.from('test')), '127.0.0.1'),
        maintain: room.maintain,
        erasers: [room.erase, clearAside],
      },
      onStep: onStep ? [onStep] : [],
      onClose: () => {},
    });
    onReturn = engineReturned;
    return made;
  }

  async function clearAside(id: string): Promise<void> {
    for (const eraser of options.erasers ?? []) await eraser(id);
  }

  function reconcile(): Promise<() => void> {
    const { onLook, onAway, watch } = options;
    const watched = watch === undefined ? engine : { ...engine, watch };
    const reported = { onReturn: () => onReturn(), onLook, onAway };
    return startReconcile({ engine: watched, servers: it.servers, clock, log, dataDir, ...reported });
  }

  function create(id: string, fields: Partial<ServerRow> = {}): Promise<ServerNow> {
    return it.servers.create(
      serverRow(id, accountId, { createdAt: clock.now(), updatedAt: clock.now(), ...fields }),
      KEY,
    );
  }

  function command(id: string, type: PlainCommand, cause = KEY): Promise<ServerNow> {
    return it.servers.send(id, { type, at: clock.now(), cause });
  }

  async function reach(id: string, state: ServerState | 'gone', withinMs = 300_000, stepMs = 250) {
    for (const end = clock.now() + withinMs; clock.now() <= end; await clock.advance(stepMs)) {
      await filesSettle();
      await store.write(async () => {});
      const now = await it.servers.get(id);
      // `get` also hides a server that is still being deleted.
      if (state === 'gone' ? !(await isStored(id)) : now?.state === state) return now;
    }
    throw new Error(`${id} is ${(await it.servers.get(id))?.state ?? 'gone'}, not ${state}, after ${withinMs} ms`);
  }

  async function restarts(id: string, end: () => void): Promise<ServerNow | undefined> {
    const boots = engine.boots.length;
    end();
    await until(() => engine.boots.length > boots);
    return reach(id, 'running');
  }

  async function isStored(id: string): Promise<boolean> {
    return (await store.query('SELECT 1 FROM "servers" WHERE "id" = $1', [id])).length > 0;
  }

  async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
    await eventually({ what: String(holds), everyMs: LOOK_MS }, async () => {
      await clock.advance(0);
      return holds();
    });
  }

  async function passUntil(holds: () => boolean | Promise<boolean>, stepMs: number): Promise<void> {
    await eventually({ what: String(holds), everyMs: 0 }, async () => {
      await filesSettle();
      await store.write(async () => {});
      await clock.advance(stepMs);
      return holds();
    });
  }

  async function during<T>(work: Promise<T>): Promise<T> {
    const state = { ended: false };
    const end = () => void (state.ended = true);
    work.then(end, end);
    // The work also takes real time, so the clock must not run ahead.
    for (; !state.ended; await clock.advance(STEP_MS)) {
      await store.write(async () => {});
      await delay(LOOK_MS);
    }
    return work;
  }

  async function killAndRestart({ rebooted } = { rebooted: false }): Promise<void> {
    endReconcile();
    // The old instance must do nothing more: its actors stop without storing.
    await it.servers.close();
    if (rebooted) steady = steadyOf(clock, 'next boot');
    room = makeRoom();
    await room.recover();
    it.servers = make();
    await it.servers.restore();
    endReconcile = await reconcile();
  }

  return it;
}

/** Returns the row of a small server. Its first snapshot is created with its actor. */
export function serverRow(id: string, accountId: string, fields: Partial<ServerRow> = {}): ServerRow {
  return storedRow(id, { accountId, ramMb: 512, createdAt: START, updatedAt: START, snapshot: '', ...fields });
}

/** Waits for file operations, so that the clock does not run ahead of a slow disk. */
async function filesSettle(): Promise<void> {
  const areWritten = () => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
  for (const end = Date.now() + 1_000; areWritten() && Date.now() < end;) await delay(1);
}

async function anAccount(store: Store): Promise<string> {
  await store.write((tx) => insertAccount(tx, { id: 'acc_test', name: 'test', createdAt: START }));
  return 'acc_test';
}

/** Returns a server's own address, by which the fake games know the server. */
function addressOf(serverId: string): { game: Address; rcon: Address } {
  return { game: { host: `${serverId}.game`, port: 25_565 }, rcon: { host: `${serverId}.game`, port: 25_575 } };
}

const REPLIES: Record<string, string> = {
  'save-off': 'Automatic saving is now disabled',
  'save-all flush': 'Saving the game (this may take a moment!)Saved the game',
  'save-on': 'Automatic saving is now enabled',
};

function fakeGames(engine: FakeEngine): Games {
  const silent = new Set<string>();
  const players = new Map<string, number>();
  const names = new Map<string, string[]>();
  const commands: string[] = [];
  const idOf = (address: Address) => address.host.replace(/\.game$/, '');
  const up = async (id: string) => (await engine.inspect(id))?.up === true && !silent.has(id);
  return {
    silent,
    players,
    names,
    commands,
    async status(address) {
      const id = idOf(address);
      if (!(await up(id))) throw new Error('no answer');
      const online = players.get(id) ?? 0;
      const raw = JSON.stringify({ version: { name: '1.21.4', protocol: 769 }, players: { max: 20, online } });
      return { playersOnline: online, playersMax: 20, versionName: '1.21.4', protocol: 769, raw };
    },
    async run(address, _password, command) {
      const id = idOf(address);
      if (!(await up(id))) throw new Error('no answer');
      commands.push(`${id}: ${command}`);
      if (command === 'stop') engine.crash(id, { code: 0 });
      if (command === 'list') return `There are some players online: ${names.get(id)?.join(', ') ?? ''}`;
      return REPLIES[command] ?? '';
    },
    release() {},
    close() {},
  };
}

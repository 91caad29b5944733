import { createHmac } from 'node:crypto';
import type { Machine } from '../../src/billing/machine-probe.ts';
import { createTestCheckout } from '../../src/billing/open-checkout.ts';
import { gameConsoles } from '../../src/engines/console/console.ts';
import { openBackups } from '../../src/backups/open.ts';
import { openAccountLimits } from '../../src/billing/account-limits.ts';
import { openAllowance, openMeasures } from '../../src/billing/open.ts';
import type { Checkout } from '../../src/billing/payments.ts';
import type { Databases } from '../../src/databases/database-server.ts';
import { openDatabases } from '../../src/databases/open.ts';
import type { Disks } from '../../src/disk/disks.ts';
import type { Console } from '../../src/engines/console/console.ts';
import type { TrustedWithCode } from '../../src/engines/process/confined.ts';
import { watchLostGames } from '../../src/engines/lost-games.ts';
import { openFiles } from '../../src/files/open.ts';
import { openGame } from '../../src/game/open.ts';
import type { Profiles } from '../../src/game/players/minecraft-accounts.ts';
import { createAccessChanges } from '../../src/http/access-changes.ts';
import type { AnsweredRequest } from '../../src/http/app.ts';
import { TRANSFER_LIMITS, createStreamSlots } from '../../src/http/stream-slots.ts';
import type { Notice } from '../../src/insight/alerts/body.ts';
import { openInsight } from '../../src/insight/open.ts';
import type { Exposition } from '../../src/insight/prometheus.ts';
import type { Disk } from '../../src/jail/space.ts';
import type { ProxyView } from '../../src/joining/link/proxies.ts';
import { createPlayerFiles } from '../../src/game/players/files.ts';
import { createJoinPolicy } from '../../src/joining/join-policy.ts';
import type { Entrance } from '../../src/joining/joining.ts';
import { openPublicStatuses } from '../../src/joining/public-statuses.ts';
import { openWakePolicies } from '../../src/joining/wake-policies.ts';
import type { OnClose } from '../../src/kernel/closers.ts';
import type { Log } from '../../src/kernel/log.ts';
import { modOperations } from '../../src/mods/api.ts';
import type { Mods } from '../../src/mods/mods.ts';
import { openMods } from '../../src/mods/open.ts';
import type { ModRegistry } from '../../src/mods/registries/registry.ts';
import type { Mailer } from '../../src/people/mail/mail.ts';
import { openPeople } from '../../src/people/open.ts';
import type { SignUp } from '../../src/people/people.ts';
import { isOperatorAccount } from '../../src/people/rows.ts';
import type { Joined } from '../../src/players/typed-commands.ts';
import { openServerPorts } from '../../src/ports/ports.ts';
import { createServerOperation } from '../../src/servers/api/operation.ts';
import type { ServerRow } from '../../src/servers/rows.ts';
import { openSftp } from '../../src/sftp/open.ts';
import type { Secret } from '../../src/store/secret.ts';
import { openRooms as openRealRooms } from '../../src/rooms.ts';
import { openWorlds } from '../../src/worlds/open.ts';
import { steadyOf } from '../fakes/clock.ts';
import { fakeDatabases } from '../fakes/databases.ts';
import { fakeRegistry } from '../fakes/registry.ts';
import { accountUuid } from './accounts.ts';
import type { World } from './world.ts';

/** The one proxy there is. */
const PROXY: ProxyView = {
  id: 'prx_1',
  name: 'edge',
  version: '1.0.0+abc',
  since: 1_700_000_000_000,
  listening: { host: '0.0.0.0', port: 25_565 },
  draining: false,
  connected: true,
  players: 2,
  held: 1,
  lagMs: 0.4,
};

/** What a test has in place of what the rooms are opened with by default. */
export interface RoomsOptions {
  /** By default everybody has an account. */
  profiles?: Profiles;
  /** Whose servers may run what was uploaded; by default everybody's. */
  trusted?: TrustedWithCode;
  /** In place of what the whole file system has, which others fill and empty too. */
  usedBytes?: () => Promise<number>;
  /** Where mods come from. */
  registries?: ModRegistry[];
  /** Those of the world's effects, where it has some. */
  mods?: () => Mods;
  /** What files written over the API take; by default the quotas. */
  filesDisk?: Disk;
  /** Null: there is no database server. */
  databases?: Databases | null;
  /** Where commands of people go. */
  console?: Pick<Console, 'run'>;
  playersPort?: number;
  /** Which server needs no name, and so on; by default none does. */
  entrance?: Partial<Entrance>;
  machine?: Machine;
  /** Wakes are held against wallets and limits; by default nobody asks for money. */
  charged?: boolean;
  /** Null: wallets are not funded. */
  checkout?: Checkout | null;
  telemetry?: Exposition & { answered: (request: AnsweredRequest) => void };
  config?: Partial<TestSettings>;
}

/** What is there before the rooms. */
export interface Around {
  disks: Disks;
  /** Of what goes with a deleted server; the rooms add their own. */
  erasers: ((id: string) => Promise<void>)[];
  mailer: Mailer;
  joined: ReadonlyMap<string, readonly Joined[]>;
  /** Gets each server whose bans of addresses have changed. */
  addressBans: string[];
  /** Gets what a server's webhook is to be told. */
  notices: [serverId: string, notice: Notice][];
  log: Log;
  onClose: OnClose;
}

export interface TestSettings {
  baseUrl: string;
  publicHost: string;
  region: string;
  nodeLabel: string;
  maxRamMb: number;
  maxServersPerAccount: number;
  idleTimeoutMinutes: number;
  mysqlAddress: { host: string; port: number };
  signup: SignUp;
  operatorsNeedSecondFactor: boolean;
  minecraftEula: 'ask' | 'accept';
  mail: boolean;
}

/** The settings, where a test has none of its own. */
const CONFIG: TestSettings = {
  baseUrl: 'http://panel.example',
  publicHost: 'play.example',
  region: 'na',
  nodeLabel: 'node-1',
  maxRamMb: 65_536,
  maxServersPerAccount: 0,
  idleTimeoutMinutes: 10,
  mysqlAddress: { host: 'mysql.example', port: 3_306 },
  signup: 'open',
  operatorsNeedSecondFactor: false,
  minecraftEula: 'accept',
  mail: true,
};

const PRICES = { pricePerGbHourMicros: 10_000, pricePerGbMonthMicros: 3_000_000 };
const MACHINE: Machine = { cores: 4, ramMb: 65_536, diskFreeMb: 40_000, diskTotalMb: 50_000 };
const NO_FIGURES: Exposition = { expose: async () => '', contentType: 'text/plain' };
/** Everybody has an account. */
const ACCOUNTS: Profiles = { find: async (name) => ({ name, uuid: accountUuid(name) }) };
const NO_ENTRANCE: Entrance = { meant: () => undefined, homeHost: () => undefined, trouble: () => undefined };
const NO_CAPS = { onCapReached: undefined };
const VERSIONS = { versions: ['1.21.8', '1.21.7'], latest: '1.21.8' };

/** The rooms on a world of fakes. Nobody listens, and nothing is charged unless `charged`. */
export async function openRooms(base: World, around: Around, options: RoomsOptions = {}) {
  const { store, clock, servers, engine, games, dataDir, lock } = base;
  const { disks, erasers, mailer, joined, addressBans, notices, log, onClose } = around;
  const settings = { ...CONFIG, dataDir, ...options.config };
  const { nodes } = engine;
  const lostGames = nodes && watchLostGames({ nodes, servers, clock, log, onClose });
  const secret: Secret = {
    derive: (purpose, id) => createHmac('sha256', 'test').update(`${purpose}\0${id}`).digest('base64url'),
  };
  const passwordOf = () => 'rcon-password';
  const consoles = gameConsoles(games, passwordOf);
  const typed = gameConsoles(options.console ? { ...games, ...options.console } : games, passwordOf);
  const disk = disks.quota;
  const accessChanges = createAccessChanges();
  const clientAddress = (request: { socket: { remoteAddress?: string | undefined } }) =>
    request.socket.remoteAddress ?? '';
  const catalogue = { versions: async () => VERSIONS };
  const game = openGame({
    catalogue,
    trusted: options.trusted ?? 'everybody',
    isOperatorAccount: (accountId) => isOperatorAccount(store, accountId),
  });
  const { cores } = game;
  const peopleRoom = openPeople({ store, secret, mailer, accessChanges, settings, clock, log, onClose });
  const { people, grants, eula, knownBy } = peopleRoom;
  const mayRun = async (row: ServerRow) => {
    await cores.require(row);
    await eula.require(row);
  };
  const serverOperation = createServerOperation({ servers, store, cores });
  const transferSlots = createStreamSlots(TRANSFER_LIMITS);
  const filesDisk = options.filesDisk ?? disk;
  const filesRoom = openFiles({ dataDir, disk: filesDisk, lock, store, serverOperation, transferSlots, clock });
  const { files } = filesRoom;
  const shared = { store, servers, serverOperation, clock, log, onClose };
  const sftpRoom = await openSftp({ ...shared, people, files, disk, settings });
  const { sftp } = sftpRoom;
  onClose(() => sftp.close());
  const port = options.databases === undefined ? fakeDatabases() : (options.databases ?? undefined);
  const databaseRoom = openDatabases({ ...shared, secret, port, mysqlAddress: settings.mysqlAddress });
  const range = { from: 40_000, to: 40_019 };
  const serverPorts = await openServerPorts({ store, range, isFree: async () => true });
  erasers.push(
    (id) => mods.end(id),
    (id) => sftp.cut(id),
    async (id) => databaseRoom.databases?.erase(id),
    (id) => serverPorts.forget(id),
  );
  const machine = options.machine ?? MACHINE;
  const steady = steadyOf(clock);
  const probe = async () => machine;
  const { prices, capacity } = await openMeasures({
    servers,
    probe,
    steady,
    nodes,
    settings: { ...PRICES, region: settings.region },
    clock,
    onClose,
  });
  const registries = options.registries ?? [fakeRegistry()];
  const modsRoom = openMods({ store, registries, disk, dataDir, owner: undefined, lock, serverOperation, clock });
  const mods = options.mods?.() ?? modsRoom.mods;
  const insight = openInsight({
    ...shared,
    engine,
    lostGames,
    consoles,
    typed,
    joined: (id) => joined.get(id) ?? [],
    onAddressBan: (id) => addressBans.push(id),
    disk,
    transferSlots,
    outbox: { add: async (_, id, notice) => void notices.push([id, notice]) },
    telemetry: options.telemetry ?? NO_FIGURES,
  });
  const publicStatuses = await openPublicStatuses(store);
  const wakePolicies = await openWakePolicies(store);
  const playerFiles = createPlayerFiles(dataDir);
  const joinPolicy = createJoinPolicy({ files: playerFiles, policies: wakePolicies, clock, store });
  const room = base.room();
  const events = insight.serverEvents;
  const backupsRoom = await openBackups({ room, servers, events, serverOperation, transferSlots, onClose });
  const { backups } = backupsRoom;
  const { archives } = room;
  const owner = undefined;
  const worldsRoom = openWorlds({ servers, backups, archives, clock, dataDir, owner, disk, lock, serverOperation });
  const { worlds } = worldsRoom;
  const { maxRamMb, maxServersPerAccount: maxServers } = settings;
  const allowance = options.charged
    ? await openAllowance({ ...shared, capacity, prices, consoles: typed, mailer, nodes, settings, ...NO_CAPS })
    : { accountLimits: await openAccountLimits(store, { maxRamMb, maxServers }), wakeRules: [] };
  const { databases } = databaseRoom;
  const rooms = await openRealRooms({
    ...base,
    ...shared,
    engine,
    lostGames,
    consoles: typed,
    pinger: games,
    people,
    grants,
    accessChanges,
    cores,
    catalogue,
    mayRun,
    owner,
    disks,
    files,
    sftp,
    mods,
    backups,
    worlds,
    databases,
    serverPorts,
    publicStatuses,
    wakePolicies,
    playerFiles,
    joinPolicy,
    entrance: { ...NO_ENTRANCE, ...options.entrance },
    clientAddress,
    prices,
    capacity,
    allowance,
    serverEvents: events,
    settings,
    profiles: options.profiles ?? ACCOUNTS,
    usedBytes: options.usedBytes,
    proxies: {
      port: () => options.playersPort ?? 25_565,
      players: (id) => joined.get(id) ?? [],
      views: () => [PROXY],
      addressBansChanged: (id) => addressBans.push(id),
    },
    checkout: options.checkout === undefined ? createTestCheckout() : (options.checkout ?? undefined),
    testAlert: async (_, id, at) => void notices.push([id, { event: 'test', at }]),
    features: {
      game: game.feature,
      people: peopleRoom.feature,
      files: filesRoom.feature,
      sftp: sftpRoom.feature,
      mods: options.mods
        ? { ...modsRoom.feature, operations: modOperations({ mods, serverOperation, clock }) }
        : modsRoom.feature,
      backups: backupsRoom.feature,
      worlds: worldsRoom.feature,
      databases: databaseRoom.feature,
      insight: insight.feature,
    },
  });
  return {
    ...people,
    ...knownBy,
    ...rooms,
    config: settings,
    clientAddress,
    streamSlots: createStreamSlots(),
    transferSlots,
    signInPath: peopleRoom.signInPath,
    grants,
    servers,
    files,
    sftp,
    databases,
    serverPorts,
    serverEvents: insight.serverEvents,
    metrics: insight.metrics,
    logStreams: insight.logStreams,
    mods,
    backups,
    worlds,
    publicStatuses,
    wakePolicies,
    prices,
    capacity,
  };
}

/** All that is open. */
export type Rooms = Awaited<ReturnType<typeof openRooms>>;

import type { IncomingMessage } from 'node:http';
import type { Backups } from './backups/backups.ts';
import { type Allowance, type Measures, billingFeature } from './billing/open.ts';
import type { Checkout } from './billing/payments.ts';
import type { ServerDatabases } from './databases/databases.ts';
import type { Disks } from './disk/disks.ts';
import { DiskEnforcement } from './disk/enforcement.ts';
import type { GameConsoles } from './engines/console/console.ts';
import type { Pinger } from './engines/pinger.ts';
import type { Engine } from './engines/engine.ts';
import type { LostGames } from './engines/lost-games.ts';
import { createReachability } from './engines/reachability.ts';
import { sandboxVersions } from './engines/sandbox.ts';
import type { Files } from './files/files.ts';
import type { Catalogue } from './game/catalogue/catalogue.ts';
import type { CoreRules } from './game/core-rules.ts';
import type { PlayerFiles } from './game/players/files.ts';
import type { Profiles } from './game/players/minecraft-accounts.ts';
import type { AccessChanges } from './http/access-changes.ts';
import type { ServerEvents } from './insight/events.ts';
import type { ChangeLock } from './jail/change-lock.ts';
import { joiningFeature } from './joining/feature.ts';
import type { Entrance } from './joining/joining.ts';
import type { JoinPolicy } from './joining/join-policy.ts';
import type { Proxies } from './joining/link/proxies.ts';
import type { PublicStatuses } from './joining/public-statuses.ts';
import type { WakePolicies } from './joining/wake-policies.ts';
import type { FileOwner } from './kernel/atomic-file.ts';
import type { Clock } from './kernel/clock.ts';
import type { OnClose } from './kernel/closers.ts';
import type { Log } from './kernel/log.ts';
import type { Mods } from './mods/mods.ts';
import { modpackOperations } from './mods/set-modpack.ts';
import { operatorFeature } from './operators/feature.ts';
import { openNodeDrain } from './operators/node-drain.ts';
import { Orphans } from './operators/orphans.ts';
import { openSuspensions } from './operators/suspensions.ts';
import type { Grants } from './people/grants/grants.ts';
import type { People } from './people/people.ts';
import { openPlayers } from './players/open.ts';
import type { Joined } from './players/typed-commands.ts';
import { portOperations } from './ports/api.ts';
import { mountPorts } from './ports/pages.ts';
import type { ServerPorts } from './ports/ports.ts';
import { openSchedules } from './schedules/open.ts';
import type { ServerOperation } from './servers/api/operation.ts';
import { createAddresses } from './servers/api/addresses.ts';
import { createServerView } from './servers/api/view.ts';
import { requireEngine } from './servers/engine-check.ts';
import { serverFeature } from './servers/feature.ts';
import type { ServerRow } from './servers/rows.ts';
import type { Servers } from './servers/servers.ts';
import { SOFTWARE_OF, WAKES_AND_INSTALLS, type WakeRule, readFirst } from './servers/wake-checks.ts';
import type { Sftp } from './sftp/sftp.ts';
import type { Store, Tx } from './store/store.ts';
import { templateOperations } from './templates/api.ts';
import type { Feature } from './web/feature.ts';
import type { Worlds } from './worlds/worlds.ts';

/** Everything that is open before requests are possible: the outside world, and the servers with all their effects. */
export interface Foundation {
  store: Store;
  clock: Clock;
  log: Log;
  onClose: OnClose;
  /** The restored servers. */
  servers: Servers;
  serverOperation: ServerOperation;

  engine: Engine;
  /** The games on unresponsive machines, if games run on several. */
  lostGames?: LostGames | undefined;
  /** Runs commands in games. */
  consoles: GameConsoles;
  pinger: Pinger;
  containerOf?: ((serverId: string) => string) | undefined;

  people: People;
  grants: Grants;
  accessChanges: AccessChanges;
  cores: CoreRules;
  catalogue: Catalogue;
  /** Rejects if the server's software must not run. */
  mayRun: (row: ServerRow) => Promise<void>;
  profiles: Profiles;

  owner: FileOwner | undefined;
  lock: ChangeLock;
  disks: Disks;
  /** Bytes in use on the servers' file system. Default: queries the file system. */
  usedBytes?: (() => Promise<number>) | undefined;
  files: Files;
  sftp: Sftp;
  mods: Mods;
  backups: Backups;
  worlds: Worlds;
  databases: ServerDatabases | undefined;
  serverPorts: ServerPorts;

  proxies: Pick<Proxies, 'port' | 'views' | 'addressBansChanged'> & {
    players(serverId: string): readonly Joined[];
  };
  joinPolicy: Pick<JoinPolicy, 'wakeCap'>;
  entrance: Entrance;
  publicStatuses: PublicStatuses;
  wakePolicies: WakePolicies;
  playerFiles: PlayerFiles;
  clientAddress: (request: IncomingMessage) => string;

  prices: Measures['prices'];
  capacity: Measures['capacity'];
  allowance: Pick<Allowance, 'accountLimits' | 'wakeRules'>;
  /** Undefined if wallets are not funded by payments. */
  checkout: Checkout | undefined;

  serverEvents: ServerEvents;
  /** Queues a test alert for a server's webhook. */
  testAlert: (tx: Tx, serverId: string, at: number) => Promise<void>;

  /** The public features of the rooms opened by the foundation. */
  features: {
    [Room in 'game' | 'people' | 'files' | 'sftp' | 'mods' | 'backups' | 'worlds' | 'databases' | 'insight']: Feature;
  };
  settings: {
    dataDir: string;
    baseUrl: string;
    publicHost: string;
    nodeLabel: string;
    region: string;
    idleTimeoutMinutes: number;
    maxServersPerAccount: number;
  };
}

/** Opens the rooms that serve requests. From then on, servers may be started, also by schedules. */
export async function openRooms(base: Foundation) {
  const { store, servers, serverOperation, engine, lostGames, consoles, pinger } = base;
  const { nodes } = engine;
  const { clock, log, onClose, settings, features, people, grants } = base;
  const { disks, lock, owner, files, sftp, mods, backups, worlds, databases, serverPorts, serverEvents } = base;
  const { proxies, joinPolicy, entrance, publicStatuses, wakePolicies, playerFiles, capacity, prices, allowance } =
    base;
  const { mayRun } = base;
  const { dataDir, nodeLabel } = settings;
  const { accountLimits } = allowance;
  const common = { store, servers, serverOperation, clock, log, onClose };
  const joined = (serverId: string) => proxies.players(serverId);
  const onAddressBan = (id: string) => proxies.addressBansChanged(id);
  const talk = { engine, consoles, joined, onAddressBan };

  const { usedBytes } = base;
  const quotas = new DiskEnforcement({
    ...common,
    disks,
    events: serverEvents,
    consoles,
    dataDir,
    usedBytes,
  });
  onClose(() => quotas.close());
  const suspensions = await openSuspensions({ store, clock, servers });
  sftp.keepShut((id) => suspensions.of(id) !== undefined);
  serverEvents.heedSuspensions(suspensions);
  const drain = await openNodeDrain({ store, nodes, settings });
  const reachability = createReachability(engine, clock);
  // The first rule that refuses decides the message.
  const wakeRules: readonly WakeRule[] = [
    { check: joinPolicy.wakeCap, commands: ['JOIN'] },
    ...allowance.wakeRules,
    { check: readFirst(mayRun, SOFTWARE_OF), commands: WAKES_AND_INSTALLS },
    ...quotas.wakeRules,
    suspensions.wakeRule,
    drain.wakeRule,
    requireEngine(nodeLabel, reachability),
  ];
  for (const { check, commands } of wakeRules) servers.checkWakes(check, commands);

  const orphans = await Orphans.open({ store, engine, log, dataDir, databases, leftOver: backups.leftOver });
  // Register every wake check before schedules can start servers.
  const { accessChanges } = base;
  const schedules = await openSchedules({ ...common, ...talk, backups, accessChanges });

  // The public features of each room.
  const { publicHost } = settings;
  const addresses = createAddresses({ ...entrance, publicHost, playersPort: () => proxies.port() });
  const disk = quotas.quota;
  const { containerOf, clientAddress, profiles, cores, catalogue, testAlert, checkout } = base;
  const blocks = { suspensions, lostGames };
  const serverView = createServerView({
    ...blocks,
    config: settings,
    clock,
    addresses,
    disk,
    publicStatuses,
    serverPorts,
    nodes,
    containerOf,
  });
  const shown = { ...blocks, servers, serverOperation, serverView, clock };
  const room = { capacity, accountLimits, drain };
  const serverRoom = serverFeature({
    ...shown,
    ...room,
    people,
    cores,
    addresses,
    wakePolicies,
    worlds,
    testAlert,
    owner,
    settings,
  });
  const { creation } = serverRoom;
  const billing = billingFeature({ ...common, ...room, prices, reachability, checkout, settings });
  const operators = operatorFeature({
    ...blocks,
    ...room,
    people,
    grants,
    servers,
    serverView,
    consoles,
    disk,
    sftp,
    nodes,
    orphans,
    proxies,
    trouble: entrance.trouble,
    reachability,
    settings,
  });
  const all: Feature[] = [
    features.game,
    features.people,
    serverRoom.feature,
    joiningFeature({ ...shown, publicStatuses, wakePolicies, addresses, clientAddress, settings }),
    features.files,
    features.sftp,
    features.mods,
    { operations: modpackOperations({ ...shown, mods, mayRun, worlds }) },
    features.backups,
    features.worlds,
    openPlayers({
      ...common,
      ...talk,
      pinger,
      files,
      playerFiles,
      dataDir,
      lock,
      owner,
      profiles,
    }),
    schedules,
    features.databases,
    { operations: portOperations({ ...shown, serverPorts }), panel: mountPorts },
    {
      operations: templateOperations({ ...shown, creation, sandboxVersions: sandboxVersions(), store, catalogue }),
    },
    features.insight,
    billing.feature,
    operators.feature,
  ];
  return {
    features: all,
    accountLimits,
    checkouts: billing.checkouts,
    disk,
    suspensions,
    drain,
    orphans,
    machines: operators.machines,
  };
}

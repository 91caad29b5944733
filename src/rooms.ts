import { createBackupRoom, openBackups } from './backups/open.ts';
import { billingFeature, openBilling } from './billing/open.ts';
import type { Config } from './config.ts';
import { openDatabases } from './databases/open.ts';
import { openDisks } from './disk/disks.ts';
import { DiskEnforcement } from './disk/enforcement.ts';
import { gameConsoles } from './engines/console/console.ts';
import { watchLostGames } from './engines/lost-games.ts';
import { createReachability } from './engines/reachability.ts';
import { sandboxVersions } from './engines/sandbox.ts';
import { openFiles } from './files/open.ts';
import { createCoreRules } from './game/core-rules.ts';
import { openGame } from './game/open.ts';
import { createAccessChanges } from './http/access-changes.ts';
import { createClientAddress } from './http/client-address.ts';
import { TRANSFER_LIMITS, createStreamSlots } from './http/stream-slots.ts';
import { exportOperations } from './imports/export.ts';
import { importOperations } from './imports/api.ts';
import { Imports } from './imports/imports.ts';
import { mountImportPages } from './imports/pages.ts';
import { countSteps, openInsight, openWebhooks } from './insight/open.ts';
import type { Telemetry } from './insight/telemetry.ts';
import { createChangeLock } from './jail/change-lock.ts';
import { createOpenFiles } from './jail/open-files.ts';
import { joiningFeature, openJoining } from './joining/open.ts';
import { OwnNames } from './joining/own-names.ts';
import type { Clock } from './kernel/clock.ts';
import type { OnClose } from './kernel/closers.ts';
import type { Log } from './kernel/log.ts';
import { createKeyedMutex } from './kernel/mutex.ts';
import type { SteadyClock } from './kernel/steady-clock.ts';
import { MIB } from './kernel/units.ts';
import { createWorkerPool } from './kernel/workers/pool.ts';
import { portsOf } from './listening.ts';
import { openMods } from './mods/open.ts';
import { modpackOperations } from './mods/set-modpack.ts';
import { fleetOfNodes, fleetOfOne } from './operators/fleet.ts';
import { Machines } from './operators/machines.ts';
import { openNodeDrain } from './operators/node-drain.ts';
import { openOperators } from './operators/open.ts';
import { Orphans } from './operators/orphans.ts';
import { Suspensions } from './operators/suspensions.ts';
import type { Outside } from './outside.ts';
import { openAccess } from './access/open.ts';
import { openGrants } from './grants/open.ts';
import { openAccounts } from './accounts/open.ts';
import type { Accounts, SignUp } from './accounts/accounts.ts';
import { isOperatorAccount } from './accounts/rows.ts';
import { openPlayers } from './players/open.ts';
import { openBedrockWakes } from './ports/bedrock-wakes.ts';
import { portOperations } from './ports/api.ts';
import { ServerPorts } from './ports/ports.ts';
import { mountPorts } from './ports/pages.ts';
import { dueAtSleep, openSchedules } from './schedules/open.ts';
import { Addresses } from './servers/api/addresses.ts';
import { createServeServer } from './servers/api/operation.ts';
import { createServerView } from './servers/api/view.ts';
import { SOFTWARE_OF, WAKES_AND_INSTALLS, type WakeRule, readFirst, requireEngine } from './servers/wake-checks.ts';
import { openEffects, openServers, serverFeature } from './servers/open.ts';
import { createNetworkOf } from './servers/networks.ts';
import { createPresence } from './servers/presence.ts';
import { startReconcile } from './servers/reconcile.ts';
import type { ServerRow } from './servers/rows.ts';
import { ServerBlocks } from './servers/server-now.ts';
import { Updates } from './servers/updates.ts';
import { openSftp } from './sftp/open.ts';
import { templateOperations } from './templates/api.ts';
import type { Feature } from './web/feature.ts';
import { worldImportOperations } from './worlds/import.ts';
import { openWorlds } from './worlds/open.ts';
import { createWorldJobs } from './worlds/worlds.ts';

/** The settings, with the sign-up mode that they result in, and whether e-mail can be sent. */
export type Settings = Omit<Config, 'signup'> & { signup: SignUp; mail: boolean };

export interface RoomsOptions extends Pick<Accounts, 'onAccount' | 'firstRunFile'> {
  outside: Omit<Outside, 'mayAct'>;
  telemetry: Pick<Telemetry, 'stepped' | 'refusedWake' | 'expose' | 'contentType'>;
  steady: SteadyClock;
  settings: Settings;
  clock: Clock;
  log: Log;
  onClose: OnClose;
}

/** The functions that open the rooms for which tests have doubles. */
const OPENERS = {
  createBackupRoom,
  createChangeLock,
  openBilling,
  openEffects,
  openFiles,
  openJoining,
  openMods,
  openPorts: ServerPorts.open,
  openServers,
  openWebhooks,
  startReconcile,
};

/**
 * Opens every room, in order: the rooms that servers need, then the servers themselves, restored and reconciled with
 * the engine, then the rooms that serve requests. Servers may be started from then on, also by schedules, but players
 * and clients are admitted later. `doubles` replace openers in tests.
 */
export async function openRooms(options: RoomsOptions, doubles: Partial<typeof OPENERS> = {}) {
  const open = { ...OPENERS, ...doubles };
  const { outside, telemetry, steady, settings, clock, log, onClose } = options;
  const { store, secret, engine, console, catalogue, mailer, management, passwords, pinger, owner } = outside;
  const { dataDir, nodeLabel, publicHost } = settings;
  const { nodes } = engine;
  const onThisMachine = engine.kind === 'process';
  const base = { store, settings, clock, log, onClose };

  // Games and accounts.
  const passwordOf = (serverId: string) => passwords.of(serverId);
  const typed = gameConsoles(outside.typed, passwordOf);
  const { trusted, canGet } = outside;
  const cores = createCoreRules(
    trusted,
    (accountId) => isOperatorAccount(store, accountId),
    outside.containerOf !== undefined,
  );
  const accessChanges = createAccessChanges();
  const { onAccount, firstRunFile } = options;
  const surroundings = { accessChanges, onAccount, firstRunFile };
  const accountsRoom = openAccounts({ ...base, secret, mailer }, settings, surroundings);
  const { accounts } = accountsRoom;
  const accessRoom = openAccess(accounts, settings);
  const { eula } = accessRoom;
  const grantsRoom = openGrants(accounts, log);
  const { grants } = grantsRoom;
  const mayRun = async (row: ServerRow) => {
    await cores.require(row);
    await eula.require(row);
  };

  // Servers, none of them live yet, and their rooms apart from games.
  const { startTimeoutSeconds } = settings;
  const servers = open.openServers({
    store,
    clock,
    steady,
    log,
    startTimeoutSeconds,
    onRefusal: telemetry.refusedWake,
  });
  const serveServer = createServeServer({ servers, store, cores });
  const shared = { ...base, servers, serveServer };
  const presence = createPresence(steady);
  const lostGames = nodes && watchLostGames({ ...shared, nodes });
  const openedFiles = createOpenFiles();
  const disks = await openDisks(shared, dataDir, openedFiles, settings.diskQuotaMb, settings.accountDiskMb);
  const lock = open.createChangeLock((id) => servers.jobOf(id));
  const withFilesLock = createKeyedMutex();
  const workers = createWorkerPool();
  onClose(() => workers.close());
  const folders = { dataDir, owner, disk: disks.quota, lock };
  const transferSlots = createStreamSlots(TRANSFER_LIMITS);
  const filesRoom = open.openFiles(shared, folders, workers, openedFiles, transferSlots);
  const { files } = filesRoom;
  const sftpRoom = await openSftp(shared, accounts, files, disks.quota, settings);
  const { sftp } = sftpRoom;
  const { mysqlAddress } = settings;
  const databaseRoom = openDatabases(shared, secret, outside.databaseServer, mysqlAddress);
  const { databases } = databaseRoom;
  const serverPorts = await open.openPorts({
    store,
    range: settings.extraPorts,
    onThisMachine,
    areElsewhere: nodes !== undefined,
    own: portsOf(settings),
  });
  const modsRoom = open.openMods(shared, folders, outside.registries, withFilesLock, workers);
  const { mods } = modsRoom;
  const { probe, checkout } = outside;
  const paid = { probe, steady, nodes, consoles: typed, mailer, checkout, settings };
  const billing = await open.openBilling(shared, paid);
  const { sessions, capacity, funds, accountLimits } = billing;
  const backupRoom = open.createBackupRoom(
    { store, clock, log, dataDir },
    { engine, consoles: typed },
    disks,
    {
      owner,
      quotaBytes: settings.backupQuotaMb * MIB,
      offSite: outside.offSite,
      withFilesLock,
    },
    { lock, release: (id) => sftp.cut(id), jobs: createWorldJobs },
  );
  const webhooks = open.openWebhooks(base, { secret, mailer, baseUrl: settings.baseUrl });

  // Everything that a server's machine can cause. Then the servers become live.
  const { engineReturned } = open.openEffects({
    servers,
    games: { engine, pinger, console, management, passwords, presence, clock: steady, log, owner, workers, settings },
    rooms: {
      mods,
      // Containers have their own installer.
      installPack: onThisMachine ? modsRoom.installPack : undefined,
      ports: serverPorts,
      capacity,
      eula,
      mayRun,
      networkOf: createNetworkOf(store, secret, settings.networkHost),
      maintain: backupRoom.maintain,
      erasers: [
        (id) => mods.end(id),
        (id) => sftp.cut(id),
        backupRoom.erase,
        async (id) => databases?.erase(id),
        (id) => serverPorts.forget(id),
        (id) => passwords.forget(id),
      ],
    },
    onStep: [sessions.onStep, webhooks.onStep, dueAtSleep, countSteps(telemetry)],
    onClose,
  });
  const joining = await open.openJoining(shared, presence, lostGames, pinger, settings);
  const { proxies, entrance, publicStatuses, wakePolicies, playerFiles, listEntry } = joining;
  const ownNames = await OwnNames.open(shared, secret, settings, joining.setNames, outside.resolveTxt);
  const joined = (id: string) => proxies.players(id);
  const onAddressBan = (id: string) => proxies.addressBansChanged(id);
  const talk = { engine, consoles: typed, joined, onAddressBan };
  const insight = openInsight(shared, {
    engine,
    lostGames,
    consoles: gameConsoles(console, passwordOf),
    access: talk,
    disk: disks.quota,
    transferSlots,
    outbox: webhooks.outbox,
    secret,
    telemetry,
    workers,
  });
  const { serverEvents } = insight;
  await backupRoom.recover();
  await servers.restore();
  const backupsRoom = await openBackups(shared, backupRoom, serverEvents, transferSlots);
  const { backups } = backupsRoom;
  const worldsRoom = openWorlds({ ...shared, ...folders, backups, archives: backupRoom.archives });
  const { worlds } = worldsRoom;
  const { outOfSight: onAway, observed: onLook } = sessions;
  const reconciled = { engine, servers, clock, log, dataDir, workers };
  onClose(await open.startReconcile({ ...reconciled, onReturn: engineReturned, onAway, onLook }));

  // Everything that can refuse a wake. The first rule that refuses decides the message.
  funds.whenCapReached(insight.alerts.spendCapReached);
  const { usedBytes } = outside;
  const enforcement = new DiskEnforcement(shared, dataDir, disks, typed, serverEvents, usedBytes);
  onClose(() => enforcement.close());
  const disk = enforcement.quota;
  const suspensions = await Suspensions.open(store, clock, servers);
  sftp.keepShut((id) => suspensions.of(id) !== undefined);
  serverEvents.heedSuspensions(suspensions);
  const drain = await openNodeDrain(store, settings, nodes);
  const reachability = createReachability(engine, clock);
  const wakeRules: readonly WakeRule[] = [
    { check: joining.joinPolicy.wakeCap, commands: ['JOIN'] },
    ...billing.wakeRules,
    { check: readFirst(mayRun, SOFTWARE_OF), commands: WAKES_AND_INSTALLS },
    ...enforcement.wakeRules,
    suspensions.wakeRule,
    drain.wakeRule,
    requireEngine(nodeLabel, reachability),
  ];
  for (const { check, commands } of wakeRules) servers.checkWakes(check, commands);

  openBedrockWakes(shared, serverPorts, joining.bedrock);
  const orphans = await Orphans.open({ store, engine, log, dataDir, databases, leftOver: backups.leftOver });
  // Register every wake check before schedules can start servers.
  const updates = await Updates.open({ ...shared, builds: outside.builds, dataDir, owner, mods, worlds });
  const schedules = await openSchedules(shared, { backups, updates, accessChanges, access: talk });

  // Clients’ view of the servers, and the features of all rooms.
  const addresses = new Addresses(publicHost, () => proxies.port(), entrance, settings.networkHost);
  const clientAddress = createClientAddress(settings.trustedProxies);
  const { containerOf, profiles } = outside;
  const blocks = new ServerBlocks(suspensions, lostGames);
  const viewed = { blocks, addresses, disk, publicStatuses, serverPorts, nodes, containerOf };
  const serverView = createServerView({ ...viewed, config: settings, clock });
  const shown = { ...shared, blocks, serverView };
  const room = { capacity, accountLimits, drain };
  const { testAlert } = webhooks;
  const created = { accounts, cores, addresses, wakePolicies, listEntry, updates, testAlert };
  const { creation, feature: serversFeature } = serverFeature({ ...shown, ...room, ...created });
  const imports = await Imports.open(shared, folders, disks, workers, creation);
  const { trouble } = entrance;
  const { maxServersPerAccount } = settings;
  const fleet = nodes
    ? fleetOfNodes(shared, nodes, capacity, reachability, drain, maxServersPerAccount)
    : fleetOfOne(settings, capacity, reachability, drain);
  const machines = new Machines(shared, grants, lostGames);
  const operated = {
    accounts,
    machines,
    fleet,
    suspensions,
    orphans,
    proxies,
    serverView,
    consoles: typed,
    disk,
    sftp,
  };
  const operators = openOperators(shared, { ...operated, accountLimits }, trouble);
  const features: Feature[] = [
    openGame(catalogue, cores, canGet),
    accountsRoom.feature,
    accessRoom.feature,
    grantsRoom.feature,
    serversFeature,
    joiningFeature(shared, ownNames, joining, { ...shown, addresses }, clientAddress, settings),
    filesRoom.feature,
    sftpRoom.feature,
    modsRoom.feature,
    { operations: modpackOperations(shared, mods, worlds, mayRun, serverView) },
    backupsRoom.feature,
    worldsRoom.feature,
    openPlayers(shared, talk, { profiles, pinger, files, playerFiles, dataDir, lock, owner }),
    schedules,
    databaseRoom.feature,
    { operations: portOperations(shared, serverPorts, serverView), panel: mountPorts },
    { operations: templateOperations({ ...shown, creation, sandboxVersions: sandboxVersions(), store, catalogue }) },
    { operations: importOperations(imports, transferSlots, serverView), panel: mountImportPages },
    { operations: worldImportOperations(shared, worlds, imports, files, transferSlots) },
    { operations: exportOperations(shared, files, { engine, consoles: typed }, withFilesLock, transferSlots) },
    insight.feature,
    billingFeature(shared, billing, reachability, drain),
    operators,
  ];
  return {
    features,
    accounts,
    grants,
    findPrincipal: accessRoom.findPrincipal,
    findApp: grantsRoom.findApp,
    findSession: accountsRoom.findSession,
    signInPath: accountsRoom.signInPath,
    accessChanges,
    clientAddress,
    servers,
    serverEvents,
    metrics: insight.metrics,
    logStreams: insight.logStreams,
    outbox: webhooks.outbox,
    transferSlots,
    files,
    sftp,
    backups,
    disk,
    disks,
    serverPorts,
    proxies,
    publicStatuses,
    wakePolicies,
    ownNames,
    databases,
    billing,
    capacity,
    accountLimits,
    checkouts: billing.checkouts,
    suspensions,
    drain,
    orphans,
    machines,
  };
}

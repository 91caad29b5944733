import { createBackupRoom } from './backups/backups-room.ts';
import { openBackups } from './backups/open.ts';
import { sealKeyOf } from './backups/seal.ts';
import { openWallet } from './billing/ledger.ts';
import { openAllowance, openMeasures } from './billing/open.ts';
import { gameConsoles } from './engines/console/console.ts';
import type { Config } from './config.ts';
import { openDatabases } from './databases/open.ts';
import { openDisks } from './disk/disks.ts';
import { watchLostGames } from './engines/lost-games.ts';
import type { Pinger } from './engines/pinger.ts';
import { openFiles } from './files/open.ts';
import { openGame } from './game/open.ts';
import { createAccessChanges } from './http/access-changes.ts';
import { createClientAddress } from './http/client-address.ts';
import { TRANSFER_LIMITS, createStreamSlots } from './http/stream-slots.ts';
import { countSteps, openInsight, openWebhooks } from './insight/open.ts';
import type { Telemetry } from './insight/telemetry.ts';
import { createChangeLock } from './jail/change-lock.ts';
import { createOpenFiles } from './jail/open-files.ts';
import { openJoining } from './joining/joining.ts';
import type { Clock } from './kernel/clock.ts';
import type { OnClose } from './kernel/closers.ts';
import type { Log } from './kernel/log.ts';
import { createKeyedMutex } from './kernel/mutex.ts';
import type { SteadyClock } from './kernel/steady-clock.ts';
import { MIB } from './kernel/units.ts';
import { createWorkerPool } from './kernel/workers/pool.ts';
import { portsOf } from './listening.ts';
import { openMods } from './mods/open.ts';
import type { Outside } from './outside.ts';
import { firstRun, openFirstRunFile } from './people/first-run.ts';
import { openPeople } from './people/open.ts';
import { signUpMode } from './people/people.ts';
import { isOperatorAccount } from './people/rows.ts';
import { openPorts } from './ports/open.ts';
import { pingStatus } from '../proxy/ping.ts';
import { createServerOperation } from './servers/api/operation.ts';
import { openEffects, openServers } from './servers/open.ts';
import { createPresence } from './servers/presence.ts';
import { startReconcile } from './servers/reconcile.ts';
import type { ServerRow } from './servers/rows.ts';
import { openSftp } from './sftp/open.ts';
import type { Tx } from './store/store.ts';
import { createWorldJobs } from './worlds/jobs.ts';
import { openWorlds } from './worlds/open.ts';

export interface FoundationOptions extends Outside {
  telemetry: Telemetry;
  steady: SteadyClock;
  clock: Clock;
  log: Log;
  onClose: OnClose;
}

/**
 * Opens the rooms that servers need, restores the servers and reconciles them with the engine. No requests are possible
 * yet; players and clients are admitted later.
 */
export async function openFoundation(config: Config, options: FoundationOptions) {
  const { store, secret, engine, catalogue, mailer, offSite, telemetry, steady, clock, log, onClose } = options;
  const { management, passwords, owner, trusted } = options;
  const { dataDir, startTimeoutSeconds } = config;
  const settings = config;
  const { nodes } = engine;
  const onThisMachine = engine.kind === 'process';
  const passwordOf = (serverId: string) => passwords.of(serverId);
  const consoles = gameConsoles(options.console, passwordOf);
  const typed = gameConsoles(options.typed, passwordOf);

  // Accounts and templates.
  const onAccount = async (tx: Tx, id: string, at: number) =>
    void (await openWallet(tx, id, at, config.signupCreditMicros));
  const operator = await firstRun(store, { clock, dataDir, baseUrl: config.baseUrl, onAccount });
  const firstRunFile = await openFirstRunFile(dataDir, { clock, log });
  const isOperator = (accountId: string) => isOperatorAccount(store, accountId);
  const game = openGame({ catalogue, trusted, isOperatorAccount: isOperator });
  const { cores } = game;
  const accessChanges = createAccessChanges();
  const peopleRoom = openPeople({
    store,
    secret,
    mailer,
    accessChanges,
    onAccount,
    firstRunFile,
    settings: { ...config, signup: signUpMode(config), mail: config.smtpUrl !== null },
    clock,
    log,
    onClose,
  });
  const { people, grants, eula } = peopleRoom;
  const mayRun = async (row: ServerRow) => {
    await cores.require(row);
    await eula.require(row);
  };

  // Servers, none of them live yet, and their rooms apart from games.
  const servers = openServers({ store, clock, steady, log, startTimeoutSeconds, onRefusal: telemetry.refusedWake });
  const serverOperation = createServerOperation({ servers, store, cores });
  const common = { store, servers, serverOperation, clock, log, onClose };
  const presence = createPresence(steady);
  const lostGames = nodes && watchLostGames({ ...common, nodes });
  const openFilesSeen = createOpenFiles();
  const quotas = { tiers: config.diskQuotaMb, accountDiskMb: config.accountDiskMb };
  const disks = await openDisks({ store, servers, clock, log, dataDir, openFiles: openFilesSeen, ...quotas });
  const disk = disks.quota;
  const lock = createChangeLock((id) => servers.jobOf(id));
  const withFilesLock = createKeyedMutex();
  const workers = createWorkerPool();
  onClose(() => workers.close());
  const folders = { dataDir, owner, disk, lock };
  const transferSlots = createStreamSlots(TRANSFER_LIMITS);
  const filesRoom = openFiles({ ...common, ...folders, openFiles: openFilesSeen, workers, transferSlots });
  const { files } = filesRoom;
  const sftpRoom = await openSftp({ ...common, people, files, disk, settings });
  const { sftp } = sftpRoom;
  const { mysqlAddress } = config;
  const databaseRoom = openDatabases({ ...common, secret, port: options.databaseServer, mysqlAddress });
  const { databases } = databaseRoom;
  const serverPorts = await openPorts({ store, range: config.extraPorts, onThisMachine, own: portsOf(config) });
  const modsRoom = openMods({ ...common, ...folders, registries: options.registries, withFilesLock, workers });
  const { mods } = modsRoom;
  const { prices, sessions, capacity } = await openMeasures({
    ...common,
    probe: options.probe,
    steady,
    nodes,
    settings,
  });
  const backupRoom = createBackupRoom({
    ...folders,
    store,
    engine,
    consoles: typed,
    quotaBytes: config.backupQuotaMb * MIB,
    offSite,
    keys: config.backupEncryptionKey.map(sealKeyOf),
    free: disks.free,
    accounts: disks.accounts,
    usage: disks.usage,
    withFilesLock,
    release: (id) => sftp.cut(id),
    jobs: createWorldJobs,
    clock,
    log,
  });
  const webhooks = openWebhooks({ store, clock, log, onClose });
  const { outbox, testAlert } = webhooks;

  const pinger: Pinger = { status: (address, timeoutMs) => pingStatus(address, { timeoutMs }) };

  // Everything that a server's machine can cause. Then the servers become live.
  const { engineReturned } = openEffects({
    servers,
    engine,
    pinger,
    console: options.console,
    management,
    passwords,
    presence,
    steady,
    settings,
    owner,
    workers,
    mods,
    // Containers have their own installer.
    installPack: onThisMachine ? modsRoom.installPack : undefined,
    portsOf: (id) => serverPorts.of(id),
    cpusFor: (ramMb, region) => capacity.cpusFor(ramMb, region),
    mayRun,
    eulaAccepted: (row) => eula.isAccepted(row),
    maintain: backupRoom.maintain,
    onStep: [sessions.onStep, webhooks.onStep, countSteps(telemetry)],
    erasers: [
      (id) => mods.end(id),
      (id) => sftp.cut(id),
      backupRoom.erase,
      async (id) => databases?.erase(id),
      (id) => serverPorts.forget(id),
      (id) => passwords.forget(id),
    ],
    log,
    onClose,
  });
  const joining = await openJoining({ ...common, presence, lostGames, settings });
  const insight = openInsight({
    ...common,
    engine,
    lostGames,
    consoles,
    typed,
    joined: (id) => joining.proxies.players(id),
    onAddressBan: (id) => joining.proxies.addressBansChanged(id),
    disk,
    transferSlots,
    outbox,
    telemetry,
  });
  const { serverEvents, alerts } = insight;
  await backupRoom.recover();
  await servers.restore();
  const backupsRoom = await openBackups({ ...common, room: backupRoom, events: serverEvents, transferSlots });
  const { backups } = backupsRoom;
  const worldsRoom = openWorlds({ ...common, ...folders, backups, archives: backupRoom.archives });
  const { outOfSight: onAway, observed: onLook } = sessions;
  const reconciled = { engine, servers, clock, log, dataDir, workers };
  onClose(await startReconcile({ ...reconciled, onReturn: engineReturned, onAway, onLook }));
  const allowance = await openAllowance({
    ...common,
    capacity,
    prices,
    nodes,
    consoles: typed,
    mailer,
    onCapReached: alerts.spendCapReached,
    settings,
  });

  return {
    ...options,
    ...joining,
    people,
    grants,
    knownBy: peopleRoom.knownBy,
    signInPath: peopleRoom.signInPath,
    servers,
    serverOperation,
    lostGames,
    consoles: typed,
    pinger,
    accessChanges,
    cores,
    mayRun,
    lock,
    disks,
    files,
    sftp,
    mods,
    backups,
    worlds: worldsRoom.worlds,
    databases,
    serverPorts,
    clientAddress: createClientAddress(config.trustedProxies),
    prices,
    sessions,
    capacity,
    allowance,
    serverEvents,
    outbox,
    testAlert,
    firstRun: operator,
    features: {
      game: game.feature,
      people: peopleRoom.feature,
      files: filesRoom.feature,
      sftp: sftpRoom.feature,
      mods: modsRoom.feature,
      backups: backupsRoom.feature,
      worlds: worldsRoom.feature,
      databases: databaseRoom.feature,
      insight: insight.feature,
    },
    settings,
  };
}

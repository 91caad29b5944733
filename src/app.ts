import assert from 'node:assert';
import type { AddressInfo } from 'node:net';
import { pingStatus } from '../proxy/ping.ts';
import { createBackupRoom } from './backups/backups-room.ts';
import { openOffSite } from './backups/offsite/open.ts';
import { openBackups } from './backups/open.ts';
import { sealKeyOf } from './backups/seal.ts';
import { createChargeCount } from './billing/charged.ts';
import { openWallet } from './billing/ledger.ts';
import { createMachineProbe } from './billing/machine-probe.ts';
import { requireTimely } from './billing/meter.ts';
import { openCheckout } from './billing/open-checkout.ts';
import { billingFeature, openAllowance, openMeasures, openMeter } from './billing/open.ts';
import { openSteadyClock } from './billing/steady-clock.ts';
import type { Config } from './config.ts';
import { openDatabases, openMysql } from './databases/open.ts';
import { openDisks } from './disk/disks.ts';
import { enforceDiskQuotas } from './disk/enforcement.ts';
import { openGameHost, preloadEngine } from './engines/game-host.ts';
import { watchLostGames } from './engines/lost-games.ts';
import { createReachability } from './engines/reachability.ts';
import { sandboxVersions } from './engines/sandbox.ts';
import { openFiles } from './files/open.ts';
import { createFront } from './front.ts';
import { EMBEDDED_VERSIONS } from './game/catalogue/embedded.ts';
import { createCatalogue } from './game/catalogue/published.ts';
import { openGame } from './game/open.ts';
import { createAccessChanges } from './http/access-changes.ts';
import { createClientAddress } from './http/client-address.ts';
import { TRANSFER_LIMITS, createStreamSlots } from './http/stream-slots.ts';
import { countSteps, openInsight, openWebhooks } from './insight/open.ts';
import { countServersByState } from './insight/telemetry-rows.ts';
import { createTelemetry } from './insight/telemetry.ts';
import { createChangeLock } from './jail/change-lock.ts';
import { createOpenFiles } from './jail/open-files.ts';
import { sweepUnfinished } from './jail/unfinished.ts';
import { joiningFeature } from './joining/feature.ts';
import { openJoining } from './joining/joining.ts';
import type { Clock } from './kernel/clock.ts';
import { createClosers } from './kernel/closers.ts';
import type { Log } from './kernel/log.ts';
import { createKeyedMutex } from './kernel/mutex.ts';
import { bootId, isContainer } from './kernel/process-identity.ts';
import { sinceBoot, systemClock } from './kernel/system-clock.ts';
import { MIB } from './kernel/units.ts';
import { createWorkerPool } from './kernel/workers/pool.ts';
import { openListening, portsOf, portsToTake } from './listening.ts';
import { openMods } from './mods/open.ts';
import { openModRegistries } from './mods/registries/registries.ts';
import { modpackOperations } from './mods/set-modpack.ts';
import { operatorFeature } from './operators/feature.ts';
import { openNodeDrain } from './operators/node-drain.ts';
import { openOrphans } from './operators/orphans.ts';
import { openSuspensions } from './operators/suspensions.ts';
import { type FirstRun, firstRun, openFirstRunFile } from './people/first-run.ts';
import { openMailer } from './people/mail/mailer.ts';
import { openPeople } from './people/open.ts';
import { signUpMode } from './people/people.ts';
import { isOperatorAccount } from './people/rows.ts';
import { createMojangProfiles } from './players/mojang.ts';
import { openPlayers } from './players/open.ts';
import { portOperations } from './ports/api.ts';
import { openPorts } from './ports/open.ts';
import { mountPorts } from './ports/pages.ts';
import { openSchedules } from './schedules/open.ts';
import type { ServerRow } from './servers/rows.ts';
import { createServerOperation } from './servers/api/operation.ts';
import { createServerView } from './servers/api/view.ts';
import { requireEngine } from './servers/engine-check.ts';
import { serverFeature } from './servers/feature.ts';
import { openEffects, openServers } from './servers/open.ts';
import { createPresence } from './servers/presence.ts';
import { startReconcile } from './servers/reconcile.ts';
import { stopAll } from './servers/stop-all.ts';
import { INSTALLS, SOFTWARE_OF, WAKES, readFirst } from './servers/wake-checks.ts';
import { listenSftp, openSftp } from './sftp/open.ts';
import { openInstallation } from './store/installation.ts';
import type { Tx } from './store/store.ts';
import { TABLES } from './tables.ts';
import { templateOperations } from './templates/api.ts';
import type { Feature } from './web/feature.ts';
import { createWorldJobs } from './worlds/jobs.ts';
import { openWorlds } from './worlds/open.ts';

/** The running service. */
export interface App {
  /** Where the API really listens. */
  http: AddressInfo;
  /** Where players connect. */
  players: { host: string; port: number };
  /** The operator's credentials; only after the first start on an empty database. */
  firstRun: FirstRun | undefined;
  /** Before `close`, where no restart is to follow. See Proxies. */
  farewell(): Promise<string>;
  /** Stops listening and lets go of everything; games run on. */
  close(): Promise<void>;
}

/** What the whole service takes the time from. */
export interface Time {
  clock: Clock;
  /** A count of ms that only grows, also while the service does not run. */
  monotonicMs: () => number;
}

/** What a start gives the off-site store to say that a setting is wrong. */
const STORE_PATIENCE_MS = 3_000;
const REAL_TIME: Time = { clock: systemClock, monotonicMs: sinceBoot };

/**
 * Builds the service and starts it: what may not be there yet when something else needs it comes first. Store and lease,
 * then the engine, then every server that is not at rest back to life and held against what the engine shows; the listeners
 * open last, so that nobody meets a half-started service. Rejects with StatusError or a socket error that says what is wrong.
 * `signal` ends the wait of a standby for the lease, and nothing behind it.
 */
export async function startApp(
  config: Config,
  log: Log,
  onLost: () => void,
  { clock, monotonicMs }: Time = REAL_TIME,
  signal: AbortSignal = new AbortController().signal,
): Promise<App> {
  const { onClose, close } = createClosers();
  const { dataDir, nodeLabel, trustedProxies: trusted } = config;
  const settings = config;
  try {
    const listening = await openListening({ config, signal, log, onClose });
    if (config.standby === 'wait') await preloadEngine(config.engine);
    const { store, secret, lease } = await openInstallation({
      dataDir,
      databaseUrl: config.databaseUrl,
      tables: TABLES,
      ports: () => portsToTake(config),
      waiting: listening.waiting,
      clock,
      log,
      onClose,
      onLost,
    });
    const isTakeover = listening.taken();
    const mayAct = () => lease.require();
    const onAccount = async (tx: Tx, id: string, at: number) =>
      void (await openWallet(tx, id, at, config.signupCreditMicros));
    const operator = await firstRun(store, { clock, dataDir, baseUrl: config.baseUrl, onAccount });
    const firstRunFile = await openFirstRunFile(dataDir, log);
    const gameHost = await openGameHost({ store, secret, settings, mayAct, clock, log, onClose });
    const { engine, typed: console, management, passwords, owner } = gameHost;
    const { nodes } = engine;
    const onThisMachine = engine.kind === 'process';
    const rconPassword = (serverId: string) => passwords.of(serverId);
    const catalogue = createCatalogue({ manifestUrl: config.versionManifestUrl, embedded: EMBEDDED_VERSIONS, clock });
    const isOperator = (accountId: string) => isOperatorAccount(store, accountId);
    const game = openGame({ catalogue, trusted: gameHost.trusted, isOperatorAccount: isOperator });
    const { cores } = game;
    const mailer = await openMailer({ config, log, onClose });
    const accessChanges = createAccessChanges();
    const access = { ...config, signup: signUpMode(config), mail: config.smtpUrl !== null };
    const introduction = { store, secret, mailer, accessChanges, onAccount, firstRunFile, clock, log };
    const { people, grants, eula, knownBy, ...peopleRoom } = openPeople({ ...introduction, settings: access });
    const telemetry = createTelemetry();
    const onRefusal = telemetry.refusedWake;
    // The kernel's count of time is the machine's: another container of this service goes on with it.
    const steady = await openSteadyClock(store, { clock, monotonicMs, epoch: await bootId() });
    const { startTimeoutSeconds } = config;
    const servers = openServers({ store, clock, steady, log, startTimeoutSeconds, onRefusal });
    const serverOperation = createServerOperation({ servers, store });
    // What a server may be made of, and whether somebody has agreed to the licence of that.
    const mayRun = async (row: ServerRow) => {
      await cores.require(row);
      await eula.require(row);
    };
    const presence = createPresence(steady);
    const around = { store, servers, serverOperation, clock, log, onClose };
    const lostGames = nodes && watchLostGames({ ...around, nodes });

    // What belongs to servers beside their games.
    const openFilesSeen = createOpenFiles();
    const limits = { tiers: config.diskQuotaMb, accountDiskMb: config.accountDiskMb };
    const disks = await openDisks({ store, servers, clock, log, dataDir, openFiles: openFilesSeen, ...limits });
    const disk = disks.quota;
    const lock = createChangeLock((id) => servers.jobOf(id));
    const withFilesLock = createKeyedMutex();
    const workers = createWorkerPool();
    onClose(() => workers.close());
    const folders = { dataDir, owner, disk, lock };
    const transferSlots = createStreamSlots(TRANSFER_LIMITS);
    const filesRoom = openFiles({ ...around, ...folders, openFiles: openFilesSeen, workers, transferSlots });
    const { files } = filesRoom;
    const { sftp, ...sftpRoom } = await openSftp({ ...around, people, files, disk, settings });
    const port = await openMysql(settings);
    const databaseRoom = openDatabases({ ...around, secret, port, mysqlAddress: config.mysqlAddress });
    const { databases } = databaseRoom;
    const serverPorts = await openPorts({ store, range: config.extraPorts, onThisMachine, own: portsOf(config) });
    const registries = openModRegistries(settings, clock);
    const { mods, installPack, ...modsRoom } = openMods({ ...around, ...folders, registries, withFilesLock, workers });
    // Child processes live within this process's own limits; containers stand beside it.
    const probe = createMachineProbe({ dataDir, ownLimits: onThisMachine });
    const { prices, sessions, capacity } = await openMeasures({ ...around, probe, steady, nodes, settings });
    const offSite = openOffSite({ settings, secret, clock, log });
    const backupRoom = createBackupRoom({
      ...folders,
      store,
      engine,
      console,
      rconPassword,
      quotaBytes: config.backupQuotaMb * MIB,
      offSite,
      keys: config.backupEncryptionKey.map(sealKeyOf),
      free: disks.free,
      accounts: disks.accounts,
      withFilesLock,
      release: (id) => sftp.cut(id),
      jobs: createWorldJobs,
      clock,
      log,
    });
    const webhooks = openWebhooks({ store, clock, log, onClose });
    const { outbox } = webhooks;

    // All that a server's machine makes happen; then the servers come back to life.
    const { engineReturned } = openEffects({
      servers,
      engine,
      pinger: { status: (address, timeoutMs) => pingStatus(address, { timeoutMs }) },
      console: gameHost.console,
      management,
      passwords,
      presence,
      steady,
      settings,
      owner,
      workers,
      mods,
      // Containers bring an installer of their own.
      installPack: onThisMachine ? installPack : undefined,
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
    const joining = await openJoining({ ...around, presence, lostGames, settings });
    const { proxies, publicStatuses, wakePolicies } = joining;
    const joined = (serverId: string) => proxies.players(serverId);
    const talk = { engine, console, rconPassword, joined };
    const consoles = { ...talk, console: gameHost.console, typed: console };
    const { serverEvents, alerts, ...insight } = openInsight({
      ...around,
      ...consoles,
      lostGames,
      disk,
      transferSlots,
      outbox,
      telemetry,
    });
    await backupRoom.recover();
    await servers.restore();

    const archiving = { room: backupRoom, servers, events: serverEvents, serverOperation, transferSlots, onClose };
    const { backups, ...backupsRoom } = await openBackups(archiving);
    const { archives } = backupRoom;
    const { worlds, ...worldsRoom } = openWorlds({ ...around, ...folders, backups, archives });
    const { outOfSight: onAway, observed: onLook } = sessions;
    const reconciled = { engine, servers, clock, log, dataDir, workers };
    onClose(await startReconcile({ ...reconciled, onReturn: engineReturned, onAway, onLook }));

    // Who is asked before a server wakes, in this order.
    const onCapReached = alerts.spendCapReached;
    const charged = { store, servers, prices, clock, log, onClose };
    const asked = { capacity, nodes, console, rconPassword, mailer, onCapReached, settings };
    const { funds, accountLimits } = await openAllowance({ ...charged, ...asked });
    servers.checkWakes(readFirst(mayRun, SOFTWARE_OF), [...WAKES, ...INSTALLS]);
    const measured = { store, servers, console, rconPassword, clock, log, dataDir };
    const quotas = enforceDiskQuotas({ ...measured, disks, events: serverEvents });
    onClose(() => quotas.close());
    const suspensions = await openSuspensions({ store, clock, servers });
    sftp.keepShut((id) => suspensions.of(id) !== undefined);
    serverEvents.heedSuspensions(suspensions);
    const drain = await openNodeDrain({ store, servers, nodes, settings });
    // A player is held while the engine comes back; who asks over the API is told.
    const reachability = createReachability(engine, clock);
    servers.checkWakes(requireEngine(nodeLabel, reachability), ['START', 'RESTART']);
    const orphans = await openOrphans({ store, engine, log, dataDir, databases, leftOver: backups.leftOver });
    // Not before all that may refuse a start is there.
    const schedules = await openSchedules({ ...around, ...talk, backups, accessChanges });
    const meter = await openMeter({ ...charged, engine, sessions, steady, funds });

    // Players of a service that has ended wait for nothing that they do not need.
    if (!isTakeover) await offSite.settled(STORE_PATIENCE_MS);

    // Behind the proxies, so that nobody wakes one meanwhile.
    if (onThisMachine && (await isContainer())) onClose(() => stopAll(servers, { clock, log }));
    onClose(() => proxies.shut());
    const players = await proxies.open();
    telemetry.watch({
      serversByState: () => countServersByState(store),
      playersOnline: () => servers.live().reduce((sum, { context }) => sum + (context.live.players ?? 0), 0),
      proxy: () => proxies.stats(),
      proxies: () => proxies.views(),
      storeWrites: () => store.waiting(),
      webhookMessages: () => outbox.waiting(store),
      uploads: () => backups.uploadsWaiting(),
      charged: createChargeCount(store, clock),
      meterAgeMs: () => meter.ageMs(),
    });

    // What each room shows to the outside.
    const playersPort = () => players.port;
    const clientAddress = createClientAddress(trusted);
    const { containerOf } = gameHost;
    const kept = { disk: quotas.quota, suspensions, publicStatuses, serverPorts, containerOf, nodes, lostGames };
    const serverView = createServerView({ ...kept, config, playersPort, clock });
    const shown = { servers, serverOperation, serverView, suspensions, lostGames, clock };
    const room = { capacity, reachability, accountLimits, drain, wakePolicies };
    const { testAlert } = webhooks;
    const serverRoom = serverFeature({ ...shown, ...room, testAlert, people, cores, playersPort, owner, settings });
    const profiles = createMojangProfiles({ apiUrl: config.mojangApiUrl, clock });
    const checkout = await openCheckout(settings, log);
    const operated = { people, grants, nodes, lostGames, console, rconPassword, sftp, orphans, suspensions };
    const features: Feature[] = [
      game.feature,
      peopleRoom.feature,
      serverRoom.feature,
      joiningFeature({ ...shown, publicStatuses, wakePolicies, playersPort, clientAddress, settings }),
      filesRoom.feature,
      sftpRoom.feature,
      modsRoom.feature,
      { operations: modpackOperations({ ...shown, mods, mayRun, backups, worlds }) },
      backupsRoom.feature,
      worldsRoom.feature,
      openPlayers({
        ...around,
        ...folders,
        ...talk,
        files,
        profiles,
        onAddressBan: (id) => proxies.addressBansChanged(id),
      }),
      schedules,
      databaseRoom.feature,
      { operations: portOperations({ ...shown, serverPorts }), panel: mountPorts },
      {
        operations: templateOperations({
          ...shown,
          creation: serverRoom.creation,
          sandboxVersions: sandboxVersions(),
          store,
          catalogue,
        }),
      },
      insight.feature,
      billingFeature({ ...around, ...room, prices, checkout, settings }).feature,
      operatorFeature({ ...operated, ...room, disk: quotas.quota, proxies, servers, serverView, settings }).feature,
    ];
    const app = createFront({
      features,
      streams: { clock, accessChanges, streamSlots: createStreamSlots() },
      browsers: { config: { baseUrl: config.baseUrl }, findSession: knownBy.findSession, secret, clientAddress },
      knownBy,
      signInPath: peopleRoom.signInPath,
      readiness: {
        // The writer's own connection: it is the one that fills up, locks, or falls behind.
        store: () => store.write((tx) => tx.query('SELECT 1')),
        engine: () => engine.list(),
        proxy: async () => assert(proxies.listening(), 'players are not listened for'),
        meter: async () => requireTimely(meter),
        lease: mayAct,
      },
      answered: telemetry.answered,
      clock,
      log,
    });
    grants.sweepLater();
    onClose(grants.expireByThemselves());
    const http = await listening.serve(app, proxies.link);
    await listenSftp(sftp, { settings, log, onClose });
    log.info(
      { http: http.port, players: players.port, sftp: sftp.port, sftpKey: sftp.fingerprint, engine: engine.kind },
      'ready',
    );
    const sweeping = new AbortController();
    onClose(() => sweeping.abort());
    void sweepUnfinished(dataDir, log, sweeping.signal);
    return { http, players, firstRun: operator, farewell: () => proxies.farewell(), close };
  } catch (error) {
    await close();
    throw error;
  }
}

import type { AddressInfo } from 'node:net';
import { pingStatus } from '../proxy/ping.ts';
import { createBackupRoom } from './backups/backups-room.ts';
import { createChargeCount } from './billing/charged.ts';
import { openWallet } from './billing/ledger.ts';
import { createMachineProbe } from './billing/machine-probe.ts';
import { openCheckout } from './billing/open-checkout.ts';
import { openAllowance, openCharging, openMeasures } from './billing/open.ts';
import { openSteadyClock } from './billing/steady-clock.ts';
import { listenHttp } from './compose/http.ts';
import type { Config } from './config.ts';
import { openDatabases } from './databases/open.ts';
import { openDisks } from './disk/disks.ts';
import { enforceDiskQuotas } from './disk/enforcement.ts';
import { openGameHost } from './engines/game-host.ts';
import { isPortFree } from './engines/process/port-forwarder.ts';
import { TELLS_OWNERS } from './engines/process/sockets.ts';
import { createFiles } from './files/files.ts';
import { createCoreRules } from './game/core-rules.ts';
import { countSteps, openInsight, openWebhooks } from './insight/open.ts';
import { countServersByState } from './insight/telemetry-rows.ts';
import { createTelemetry } from './insight/telemetry.ts';
import { createChangeLock } from './jail/change-lock.ts';
import { createOpenFiles } from './jail/open-files.ts';
import { sweepUnfinished } from './jail/unfinished.ts';
import { openJoining } from './joining/joining.ts';
import { livingChild } from './joining/link/child-file.ts';
import type { Clock } from './kernel/clock.ts';
import { createClosers } from './kernel/closers.ts';
import type { Log } from './kernel/log.ts';
import { createKeyedMutex } from './kernel/mutex.ts';
import { bootId } from './kernel/process-identity.ts';
import { sinceBoot, systemClock } from './kernel/system-clock.ts';
import { MIB } from './kernel/units.ts';
import { createWorkerPool } from './kernel/workers/pool.ts';
import { createMods } from './mods/mods.ts';
import { createPackInstaller } from './mods/packs.ts';
import { openModRegistries } from './mods/registries/registries.ts';
import { openNodeDrain } from './operators/node-drain.ts';
import { openOrphans } from './operators/orphans.ts';
import { openSuspensions } from './operators/suspensions.ts';
import { type FirstRun, firstRun, openFirstRunFile } from './people/first-run.ts';
import { openMailer } from './people/mail/mailer.ts';
import { isOperatorAccount } from './people/rows.ts';
import { openServerPorts } from './ports/ports.ts';
import { scheduleActions } from './schedules/actions.ts';
import { createSchedules } from './schedules/schedules.ts';
import { requireEngine } from './servers/engine-check.ts';
import { openEffects, openServers } from './servers/open.ts';
import { createPresence } from './servers/presence.ts';
import { startReconcile } from './servers/reconcile.ts';
import { INSTALLS, WAKES, readFirst } from './servers/wake-checks.ts';
import { listenSftp, openSftp } from './sftp/open.ts';
import { openInstallation } from './store/installation.ts';
import type { Tx } from './store/store.ts';
import { TABLES } from './tables.ts';
import { createWorldJobs } from './worlds/jobs.ts';
import { createWorlds } from './worlds/worlds.ts';

/** The running service. */
export interface App {
  /** Where the API really listens. */
  http: AddressInfo;
  /** Where players connect. */
  players: { host: string; port: number };
  /** The operator's credentials; only after the first start on an empty database. */
  firstRun: FirstRun | undefined;
  /** A sentence on what lives on, for whoever ends the service at a terminal; '' for nothing. */
  farewell(): string;
  /** Stops listening and lets go of everything; games run on. */
  close(): Promise<void>;
}

/** What the whole service takes the time from. */
export interface Time {
  clock: Clock;
  /** A count of ms that only grows, also while the service does not run. */
  monotonicMs: () => number;
}

const REAL_TIME: Time = { clock: systemClock, monotonicMs: sinceBoot };

/**
 * Builds the service and starts it: what may not be there yet when something else needs it comes first. Store and lease,
 * then the engine, then every server that is not at rest back to life and held against what the engine shows; the listeners
 * open last, so that nobody meets a half-started service. Rejects with StatusError or a socket error that says what is wrong.
 */
export async function startApp(
  config: Config,
  log: Log,
  onLost: () => void,
  { clock, monotonicMs }: Time = REAL_TIME,
): Promise<App> {
  const { onClose, close } = createClosers();
  const { dataDir, nodeLabel } = config;
  try {
    const { store, secret } = await openInstallation({
      dataDir,
      databaseUrl: config.databaseUrl,
      tables: TABLES,
      ports: await portsToTake(config),
      clock,
      log,
      onClose,
      onLost,
    });
    const onAccount = async (tx: Tx, id: string, at: number) =>
      void (await openWallet(tx, id, at, config.signupCreditMicros));
    const operator = await firstRun(store, { clock, dataDir, baseUrl: config.baseUrl, onAccount });
    const firstRunFile = await openFirstRunFile(dataDir, log);
    const gameHost = await openGameHost({ store, secret, settings: config, clock, log, onClose });
    const { engine, typed: console, management, passwords, owner, trusted } = gameHost;
    const rconPassword = (serverId: string) => passwords.of(serverId);
    const cores = createCoreRules({ trusted, isOperatorAccount: (accountId) => isOperatorAccount(store, accountId) });
    const mailer = await openMailer({ config, log, onClose });
    const telemetry = createTelemetry();
    const onRefusal = telemetry.refusedWake;
    // The kernel's count of time is the machine's: another container of this service goes on with it.
    const steady = await openSteadyClock(store, { clock, monotonicMs, epoch: await bootId() });
    const { startTimeoutSeconds } = config;
    const servers = openServers({ store, clock, steady, log, startTimeoutSeconds, onRefusal });
    const presence = createPresence(steady);

    const openFiles = createOpenFiles();
    const { diskQuotaMb: tiers, accountDiskMb } = config;
    const disks = await openDisks({ store, clock, log, dataDir, openFiles, tiers, accountDiskMb, servers });
    const disk = disks.quota;
    const lock = createChangeLock((id) => servers.jobOf(id));
    const withFilesLock = createKeyedMutex();
    const workers = createWorkerPool();
    onClose(() => workers.close());
    const files = createFiles({ dataDir, owner, disk, lock, openFiles, workers, log });
    const sftp = await openSftp({ store, servers, files, disk, settings: config, clock, log, onClose });
    const databases = await openDatabases({ store, secret, settings: config, clock, log, onClose });
    // Games that are no containers listen beside everything else that this machine keeps to itself.
    const reserved = new Set(portsOf(config).map(({ port }) => port));
    const onLoopback = engine.kind === 'process' ? { reserved, offered: TELLS_OWNERS } : {};
    const serverPorts = await openServerPorts({ store, range: config.extraPorts, isFree: isPortFree, ...onLoopback });
    // Child processes live within this process's own limits; containers stand beside it.
    const probe = createMachineProbe({ dataDir, ownLimits: engine.kind === 'process' });
    const measures = await openMeasures({ servers, engine, probe, steady, settings: config, clock, onClose });
    const { prices, sessions, capacity } = measures;
    const registries = openModRegistries(config, clock);
    const mods = createMods({ store, registries, disk, dataDir, owner, withFilesLock, lock });
    const installPack = createPackInstaller({ registries, disk, dataDir, owner, workers });
    const backupRoom = createBackupRoom({
      store,
      engine,
      console,
      clock,
      log,
      dataDir,
      owner,
      rconPassword,
      quotaBytes: config.backupQuotaMb * MIB,
      disk,
      free: disks.free,
      accounts: disks.accounts,
      withFilesLock,
      lock,
      release: (id) => sftp.cut(id),
      jobs: createWorldJobs,
    });
    const webhooks = openWebhooks({ store, clock, log, onClose });
    const { outbox } = webhooks;
    const { engineReturned } = openEffects({
      servers,
      engine,
      pinger: { status: (address, timeoutMs) => pingStatus(address, { timeoutMs }) },
      console: gameHost.console,
      management,
      passwords,
      presence,
      steady,
      log,
      settings: config,
      owner,
      workers,
      mods,
      // Containers bring an installer of their own.
      installPack: engine.kind === 'process' ? installPack : undefined,
      portsOf: (id) => serverPorts.of(id),
      cpusFor: (ramMb) => capacity.cpusFor(ramMb),
      mayRun: (row) => cores.require(row),
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
      onClose,
    });
    const insight = { store, servers, engine, console: gameHost.console, rconPassword, outbox, clock, log, onClose };
    const { serverEvents, alerts, metrics } = openInsight(insight);
    const joining = await openJoining({ store, servers, presence, clock, log, onClose, settings: config });
    const { proxies, publicStatuses, wakePolicies } = joining;
    const joined = (serverId: string) => proxies.players(serverId);

    await backupRoom.recover();
    await servers.restore();
    const backups = await backupRoom.open(servers, serverEvents);
    onClose(() => backups.close());
    const { archives } = backupRoom;
    const worlds = createWorlds({ servers, backups, archives, clock, dataDir, owner, disk, lock });
    onClose(
      await startReconcile({
        engine,
        servers,
        clock,
        log,
        dataDir,
        workers,
        onReturn: engineReturned,
        onAway: sessions.outOfSight,
        onLook: sessions.observed,
      }),
    );
    const { funds, accountLimits } = await openAllowance({
      store,
      servers,
      capacity,
      prices,
      console,
      rconPassword,
      mailer,
      onCapReached: alerts.spendCapReached,
      settings: config,
      clock,
      log,
      onClose,
    });
    servers.checkWakes(
      readFirst((row) => cores.require(row)),
      [...WAKES, ...INSTALLS],
    );
    const events = serverEvents;
    const quotas = enforceDiskQuotas({ store, servers, console, rconPassword, clock, log, dataDir, disks, events });
    onClose(() => quotas.close());
    const suspensions = await openSuspensions({ store, clock, servers });
    sftp.keepShut((id) => suspensions.of(id) !== undefined);
    const drain = await openNodeDrain({ store, nodeLabel, servers });
    // A player is held while the engine comes back; who asks over the API is told.
    servers.checkWakes(requireEngine(nodeLabel, capacity), ['START', 'RESTART']);
    const orphans = await openOrphans({ store, engine, log, dataDir, databases });
    // Not before all that may refuse a start is there.
    const schedules = await createSchedules({
      store,
      clock,
      log,
      actions: scheduleActions({ servers, backups, clock, console, rconPassword, engine, joined }),
    });
    onClose(() => schedules.close());
    const { checkouts, meter } = await openCharging({
      store,
      servers,
      engine,
      sessions,
      steady,
      prices,
      funds,
      checkout: await openCheckout(config, log),
      baseUrl: config.baseUrl,
      clock,
      log,
      onClose,
    });

    onClose(() => proxies.shut());
    const players = await proxies.open();
    telemetry.watch({
      serversByState: () => countServersByState(store),
      playersOnline: () => servers.live().reduce((sum, { context }) => sum + (context.live.players ?? 0), 0),
      proxy: () => proxies.stats(),
      storeWrites: () => store.waiting(),
      webhookMessages: () => outbox.waiting(store),
      charged: createChargeCount(store, clock),
      meterAgeMs: () => meter.ageMs(),
    });
    const http = await listenHttp(
      { config, log, clock, onClose },
      {
        store,
        secret,
        onAccount,
        firstRunFile,
        rconPassword,
        engine,
        console,
        owner,
        files,
        lock,
        sftp,
        databases,
        serverPorts,
        prices,
        capacity,
        mods,
        proxies,
        publicStatuses,
        wakePolicies,
        cores,
        disk: quotas.quota,
        suspensions,
        drain,
        orphans,
        servers,
        serverEvents,
        metrics,
        backups,
        worlds,
        accountLimits,
        schedules,
        checkouts,
        meter,
        mailer,
        joined,
        players,
        telemetry,
      },
    );
    await listenSftp(sftp, { settings: config, log, onClose });
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

/** Those that nobody may hold when the service starts: a proxy of its own that has lived on holds the players' port. */
async function portsToTake(config: Config) {
  const { proxy, proxyHost: host, proxyPort: port, dataDir } = config;
  const isHeld = proxy === 'external' || (proxy === 'child' && (await livingChild(dataDir)) !== undefined);
  return portsOf(config).filter((each) => !isHeld || each.host !== host || each.port !== port);
}

/** All that the service and its proxy listen on. */
function portsOf({ httpHost, httpPort, proxyHost, proxyPort, sftpHost, sftpPort }: Config) {
  return [
    { host: httpHost, port: httpPort },
    { host: proxyHost, port: proxyPort },
    { host: sftpHost, port: sftpPort },
  ];
}

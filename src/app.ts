import type { AddressInfo } from 'node:net';
import { openGameHost } from './compose/game-host.ts';
import { listenSftp, openContent, openHosting } from './compose/hosting.ts';
import { listenHttp } from './compose/http.ts';
import { openInstallation } from './compose/installation.ts';
import { openAllowance, openMoney, startCharging } from './compose/money.ts';
import { openObservation, openWebhooks, watchService } from './compose/observation.ts';
import { openServers } from './compose/servers.ts';
import type { Config } from './config.ts';
import { enforceDiskQuotas } from './disk/enforcement.ts';
import { createCoreRules } from './game/core-rules.ts';
import { createTelemetry } from './insight/telemetry.ts';
import { sweepUnfinished } from './jail/unfinished.ts';
import { openJoining } from './joining/joining.ts';
import type { Clock } from './kernel/clock.ts';
import { createClosers } from './kernel/closers.ts';
import type { Log } from './kernel/log.ts';
import { sinceBoot, systemClock } from './kernel/system-clock.ts';
import { openNodeDrain } from './operators/node-drain.ts';
import { openOrphans } from './operators/orphans.ts';
import { openSuspensions } from './operators/suspensions.ts';
import type { FirstRun } from './people/first-run.ts';
import { openMailer } from './people/mail/mailer.ts';
import { isOperatorAccount } from './people/rows.ts';
import { scheduleActions } from './schedules/actions.ts';
import { createSchedules } from './schedules/schedules.ts';
import { requireEngine } from './servers/engine-check.ts';
import { startReconcile } from './servers/reconcile.ts';
import { INSTALLS, WAKES, readFirst } from './servers/wake-checks.ts';
import { TABLES } from './tables.ts';
import { createWorlds } from './worlds/worlds.ts';

/** The running service. */
export interface App {
  /** Where the API really listens. */
  http: AddressInfo;
  /** Where players connect. */
  players: { host: string; port: number };
  /** The operator's credentials; only after the first start on an empty database. */
  firstRun: FirstRun | undefined;
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
  const startup = { config, log, clock, onClose };
  const { dataDir, nodeLabel } = config;
  try {
    const { operator, ...installation } = await openInstallation(startup, TABLES, onLost);
    const { store, rconPassword } = installation;
    const gameHost = await openGameHost(startup, installation);
    const { engine, typed: console, trusted } = gameHost;
    const cores = createCoreRules({ trusted, isOperatorAccount: (accountId) => isOperatorAccount(store, accountId) });
    const mailer = await openMailer(startup);
    const hosting = await openHosting(startup, {
      ...installation,
      ...gameHost,
      servers: () => servers,
      closed: (id) => suspensions.of(id) !== undefined,
    });
    const { disks, sftp, databases } = hosting;
    const money = await openMoney(startup, { store, engine, monotonicMs, live: () => servers.live() });
    const { sessions, capacity } = money;
    const content = openContent(startup, { ...installation, ...gameHost, ...hosting });
    const telemetry = createTelemetry();
    const outbox = openWebhooks(startup, installation);
    const { servers, serverEvents, presence, backupRoom, engineReturned } = openServers(startup, {
      ...installation,
      ...gameHost,
      ...hosting,
      ...money,
      ...content,
      cores,
      telemetry,
      outbox,
    });
    const around = { store, cores, servers, serverEvents, engine, console, rconPassword };
    const { alerts, metrics } = openObservation(startup, { ...around, console: gameHost.console, outbox });
    const { publicHost, sessionServerUrl, proxyProtocolFrom } = config;
    const joining = await openJoining({
      store,
      servers,
      presence,
      clock,
      log,
      onClose,
      dataDir,
      publicHost,
      sessionServerUrl,
      proxyProtocolFrom,
    });
    const { proxy } = joining;
    const joined = (serverId: string) => proxy.players(serverId);

    await backupRoom.recover();
    await servers.restore();
    const backups = await backupRoom.open(servers, serverEvents);
    onClose(() => backups.close());
    const { lock } = hosting;
    const { archives } = backupRoom;
    const { owner } = gameHost;
    const worlds = createWorlds({ servers, backups, archives, clock, dataDir, owner, disk: disks.quota, lock });
    onClose(
      await startReconcile({
        engine,
        servers,
        clock,
        log,
        dataDir,
        workers: hosting.workers,
        onReturn: engineReturned,
        onAway: sessions.outOfSight,
        onLook: sessions.observed,
      }),
    );
    const { funds, accountLimits } = await openAllowance(startup, { ...around, ...money, mailer, alerts });
    servers.checkWakes(
      readFirst((row) => cores.require(row)),
      [...WAKES, ...INSTALLS],
    );
    const quotas = enforceDiskQuotas({
      ...around,
      clock,
      log,
      dataDir,
      disks,
      events: serverEvents,
    });
    onClose(() => quotas.close());
    const suspensions = await openSuspensions({ store, clock, servers });
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
    const { checkouts, meter } = await startCharging(startup, { ...around, ...money, funds });

    onClose(() => proxy.close());
    const players = await proxy.listen(config.proxyHost, config.proxyPort);
    watchService(telemetry, startup, { store, servers, proxy, outbox, meter });
    const http = await listenHttp(startup, {
      ...installation,
      ...gameHost,
      ...hosting,
      ...money,
      ...content,
      ...joining,
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
    });
    await listenSftp(startup, sftp);
    log.info(
      { http: http.port, players: players.port, sftp: sftp.port, sftpKey: sftp.fingerprint, engine: engine.kind },
      'ready',
    );
    const sweeping = new AbortController();
    onClose(() => sweeping.abort());
    void sweepUnfinished(dataDir, log, sweeping.signal);
    return { http, players, firstRun: operator, close };
  } catch (error) {
    await close();
    throw error;
  }
}

import assert from 'node:assert';
import type { AddressInfo } from 'node:net';
import { createChargeCount, requireTimely } from './billing/meter.ts';
import { openWallet } from './billing/ledger.ts';
import { openSteadyClock } from './billing/steady-clock.ts';
import type { Config } from './config.ts';
import { createFront } from './front.ts';
import { keyRate } from './http/rate-limit.ts';
import { createStreamSlots } from './http/stream-slots.ts';
import { createTelemetry } from './insight/telemetry.ts';
import { sweepUnfinished } from './jail/unfinished.ts';
import type { Clock } from './kernel/clock.ts';
import { createClosers } from './kernel/closers.ts';
import type { Log } from './kernel/log.ts';
import { bootId, isContainer } from './kernel/process-identity.ts';
import { sinceBoot, systemClock } from './kernel/system-clock.ts';
import { logFallback, openListening } from './listening.ts';
import { openOutside } from './outside.ts';
import { firstRun } from './access/operators.ts';
import { type FirstRun, openFirstRunFile } from './accounts/first-run.ts';
import { signUpMode } from './accounts/accounts.ts';
import { openRooms } from './rooms.ts';
import { countServersByState } from './servers/rows.ts';
import { hasGame, stopAll } from './servers/stopping.ts';
import { listenSftp } from './sftp/open.ts';
import type { Tx } from './store/store.ts';

/** The running service. */
export interface App {
  /** The address the API listens on. */
  http: AddressInfo;
  /** The address players connect to. */
  players: { host: string; port: number };
  /** The operator's credentials. Only after the first start on an empty database. */
  firstRun: FirstRun | undefined;
  /**
   * Called before `close` if no restart follows: ends the proxy with its last player. Returns a text about what
   * continues.
   */
  farewell(): Promise<string>;
  /** Stops listening and releases all resources. Games keep running. */
  close(): Promise<void>;
  /** Same as `close`, but also puts every server to sleep and ends the proxy. */
  stopAll(): Promise<void>;
}

/** The clocks of the service. */
export interface Time {
  clock: Clock;
  /** A count of ms that only increases, even while the service is not running. */
  monotonicMs: () => number;
}

/** How long a start waits for the off-site store to report a wrong setting. */
const STORE_PATIENCE_MS = 3_000;
/** Why servers were put to sleep, for their owners. */
const WITH_CONTAINER = 'its games end with the service, as the container does';
const BY_OPERATOR = 'the operator stopped the service and its servers';
const HOW_TO_STOP = 'npm run stop puts them to sleep.';
const REAL_TIME: Time = { clock: systemClock, monotonicMs: sinceBoot };

/**
 * Builds and starts the service, dependencies first: store and lease, then the engine, then every server that is not at
 * rest, reconciled with the engine. Listeners open last, so that no client meets a half-started service. Rejects with a
 * StatusError or socket error that explains the problem. `signal` only ends a standby's wait for the lease.
 */
export async function startApp(
  config: Config,
  log: Log,
  onLost: () => void,
  { clock, monotonicMs }: Time = REAL_TIME,
  signal: AbortSignal = new AbortController().signal,
): Promise<App> {
  const { onClose, close } = createClosers();
  try {
    const listening = await openListening({ config, signal, log, onClose });
    const outside = await openOutside(config, { waiting: listening.waiting, onLost, clock, log, onClose });
    const isTakeover = listening.taken();
    const { store, mayAct, engine, offSite } = outside;
    const telemetry = createTelemetry();
    // The kernel's count of time belongs to the machine, so another container of this service continues it.
    const steady = await openSteadyClock(store, await bootId(), { clock, monotonicMs });
    const { dataDir, baseUrl, firstCreditMicros, signupCreditMicros } = config;
    const { pricePerGbHourMicros, pricePerGbMonthMicros } = config;
    const walletWith = (creditMicros: number) => async (tx: Tx, id: string, at: number) =>
      void (await openWallet(tx, id, at, creditMicros));
    const operator = await firstRun(store, { clock, dataDir, baseUrl, onAccount: walletWith(firstCreditMicros) });
    const onAccount = walletWith(signupCreditMicros);
    const firstRunFile = await openFirstRunFile(dataDir, { clock, log });
    const settings = { ...config, signup: signUpMode(config), mail: config.smtpUrl !== null };
    const base = { store, clock, log, onClose };
    const rooms = await openRooms({ ...base, outside, telemetry, steady, settings, onAccount, firstRunFile });
    const { servers, proxies } = rooms;
    const meter = await rooms.billing.startMeter(engine);

    // After a takeover, players are waiting: skip the off-site check.
    if (!isTakeover) await offSite.settled(STORE_PATIENCE_MS);
    let note = engine.kind === 'process' && (await isContainer()) ? WITH_CONTAINER : undefined;
    // Closing runs in reverse order: servers stop after the proxies, so that no player wakes one in between.
    onClose(() => note !== undefined && stopAll(servers, { note, clock, log }));
    onClose(() => proxies.shut());
    const players = await proxies.open();
    telemetry.watch({
      serversByState: () => countServersByState(store),
      playersOnline: () => servers.live().reduce((sum, { context }) => sum + (context.live.players ?? 0), 0),
      proxy: () => proxies.stats(),
      proxies: () => proxies.views(),
      storeWrites: () => store.waiting(),
      webhookMessages: () => rooms.outbox.waiting(store),
      uploads: () => rooms.backups.uploadsWaiting(),
      charged: createChargeCount(store, clock),
      meterAgeMs: () => meter.ageMs(),
    });
    const app = createFront({
      features: rooms.features,
      streams: { clock, accessChanges: rooms.accessChanges, streamSlots: createStreamSlots() },
      browsers: {
        config: { baseUrl, pricePerGbHourMicros, pricePerGbMonthMicros },
        findSession: rooms.findSession,
        secret: outside.secret,
        clientAddress: rooms.clientAddress,
      },
      findPrincipal: rooms.findPrincipal,
      findApp: rooms.findApp,
      signInPath: rooms.signInPath,
      readiness: {
        // Uses the writer's connection, because that is the one that may be blocked or fall behind.
        store: () => store.write((tx) => tx.query('SELECT 1')),
        engine: () => engine.list(),
        proxy: async () => assert(proxies.listening(), 'players are not listened for'),
        meter: async () => requireTimely(meter.ageMs()),
        lease: mayAct,
      },
      answered: telemetry.answered,
      rate: keyRate(config.callsPerSecond),
      clock,
      log,
    });
    rooms.grants.sweepLater();
    onClose(rooms.grants.expireByThemselves());
    const http = await listening.serve(app, proxies.link);
    const files = await listenSftp(rooms.sftp, { settings: config, log, onClose });
    logFallback(config, [http.address, players.host, files.address], log);
    const ports = { http: http.port, players: players.port, sftp: files.port, sftpKey: rooms.sftp.fingerprint };
    log.info({ ...ports, engine: engine.kind }, 'ready');
    const sweeping = new AbortController();
    onClose(() => sweeping.abort());
    void sweepUnfinished(dataDir, log, sweeping.signal);
    return {
      http,
      players,
      firstRun: operator,
      async farewell() {
        const awake = servers.live().filter(({ state }) => hasGame(state)).length;
        const goesOn = note === undefined && awake > 0 ? `Servers still awake: ${awake}. ${HOW_TO_STOP}` : '';
        return [await proxies.farewell(), goesOn].filter(Boolean).join('\n');
      },
      close,
      async stopAll() {
        note = BY_OPERATOR;
        await proxies.farewell();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createProxy } from '../proxy/index.ts';
import { pingStatus } from '../proxy/ping.ts';
import type { ServerLimits } from '../machines/server.ts';
import { authenticateApp } from './access/app-tokens.ts';
import { type Deed, recordDeed } from './access/audit.ts';
import { createClientAddress } from './access/client-address.ts';
import { type FirstRun, firstRun } from './access/first-run.ts';
import { authenticate } from './access/keys.ts';
import { acquireLease } from './access/lease.ts';
import { openSecret, type Secret } from './access/secrets.ts';
import { thisProcess } from './access/process-identity.ts';
import { createStartLimit } from './access/start-limit.ts';
import { createAlerts } from './actors/alerts.ts';
import { createBackupRoom } from './actors/backup-room.ts';
import { createEffects } from './actors/effects.ts';
import { createGrants } from './actors/grants.ts';
import { startReconcile } from './actors/reconcile.ts';
import { createMachines } from './actors/machines.ts';
import { createDoor } from './actors/door.ts';
import { createPlayers } from './actors/players.ts';
import { createRouting } from './actors/routing.ts';
import { createMetrics } from './actors/metrics.ts';
import type { ServerNow } from './actors/effect-host.ts';
import { scheduleActions } from './actors/schedule-actions.ts';
import { createSchedules } from './actors/schedules.ts';
import { createServerEvents } from './actors/server-events.ts';
import { createServers, INSTALLS, WAKES } from './actors/servers.ts';
import { EMBEDDED_VERSIONS } from './adapters/catalogue-embedded.ts';
import { createCatalogue } from './adapters/catalogue.ts';
import { sinceBoot, systemClock } from './adapters/clock.ts';
import { dockerOptions } from './adapters/docker-host.ts';
import type { ImageProvider } from './adapters/docker-image.ts';
import { createDockerEngine } from './adapters/docker.ts';
import { chooseEngine } from './adapters/engine-auto.ts';
import { createLogMailer } from './adapters/log-mailer.ts';
import { createManagement } from './adapters/management.ts';
import { createMojangProfiles } from './adapters/mojang.ts';
import { createMachineProbe } from './adapters/machine-probe.ts';
import { isPortFree } from './adapters/port-forwarder.ts';
import { createProcessEngine } from './adapters/process.ts';
import { createRconConsole } from './adapters/rcon.ts';
import { createSmtpMailer } from './adapters/smtp-mailer.ts';
import { createTestCheckout } from './adapters/test-checkout.ts';
import { createWebhook } from './adapters/webhook.ts';
import { createApi } from './api/app.ts';
import { createHttpServer } from './api/http-server.ts';
import { openDisks, openNodeServices } from './api/node-services.ts';
import { createPublicBoard } from './api/public-board.ts';
import { createPeopleMemory, type Services } from './api/services.ts';
import { openAccountLimits } from './billing/account-limits.ts';
import { createAdmission } from './billing/admission.ts';
import { createCapacity } from './billing/capacity.ts';
import { createCheckouts } from './billing/checkout.ts';
import { createFunds } from './billing/funds.ts';
import { openWallet } from './billing/ledger.ts';
import { startMeter } from './billing/meter.ts';
import type { Prices } from './billing/prices.ts';
import { createSessions } from './billing/sessions.ts';
import { openSteadyClock } from './billing/steady-clock.ts';
import { dataFrame } from './api/sse.ts';
import type { Config } from './config.ts';
import { createServerDatabases, type ServerDatabases } from './hosting/databases.ts';
import { openServerPorts } from './hosting/server-ports.ts';
import { createPlayerListFiles } from './hosting/player-list-files.ts';
import { createPlayerFiles } from './hosting/player-files.ts';
import { openPublicStatuses } from './hosting/public-statuses.ts';
import { openWakePolicies } from './hosting/wake-policies.ts';
import { createFiles } from './hosting/files.ts';
import { createLogStreams } from './hosting/log-streams.ts';
import type { FileOwner } from './hosting/properties.ts';
import { isPublicAddress } from './hosting/public-address.ts';
import { createWebhookOutbox } from './hosting/webhook-outbox.ts';
import type { Log } from './log.ts';
import { createChargeCount } from './observability/charged.ts';
import { createTelemetry } from './observability/telemetry.ts';
import type { Checkout, Clock, Engine, Mailer } from './ports.ts';
import { openHostKey } from './sftp/host-key.ts';
import { warnWithoutNativeCrypto } from './sftp/native-crypto.ts';
import { createSftp } from './sftp/sftp.ts';
import { getUser } from './store/accounts.ts';
import { listRoutes } from './store/servers.ts';
import { countServersByState } from './store/telemetry.ts';
import { sandboxVersions } from './sandbox/versions.ts';
import { openStore, type Tx } from './store/store.ts';
import { createPages } from './web/pages.ts';

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
/** From SIGTERM until a stop that does not end is a kill: the console may take 60 s, the signal 45 s. */
const STOP_MS = 120_000;
const INSTALL_MS = 30 * 60_000;
/** The user of the game image. */
const GAME_USER: FileOwner = { uid: 1_000, gid: 1_000 };

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
  const closers: (() => unknown)[] = [];
  /** The last thing opened is the first to be closed. */
  const close = async () => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    await mkdir(config.dataDir, { recursive: true, mode: 0o750 });
    const store = await openStore(config.databaseUrl);
    closers.push(() => store.close());
    const lease = await acquireLease(store, { clock, log, onLost });
    closers.push(() => lease.release());
    await store.migrate();
    const secret = await openSecret(store, config.dataDir);
    const { dataDir, baseUrl } = config;
    const onAccount = async (tx: Tx, id: string, at: number) =>
      void (await openWallet(tx, id, at, config.signupCreditMicros));
    const operator = await firstRun(store, { clock, dataDir, baseUrl, onAccount });
    const rconPassword = (serverId: string) => secret.derive('rcon', serverId);

    const console = createRconConsole();
    closers.push(() => console.close());
    const management = createManagement();
    closers.push(() => management.close());
    const engine = await openEngine(config, { log, clock, installation: installationOf(secret) });
    const mailer = openMailer();
    const owner = engine.kind === 'docker' && process.getuid?.() === 0 ? GAME_USER : undefined;
    const disk = await openDisks({ store, clock, log, dataDir, tiers: config.diskQuotaMb, servers: () => servers });
    const files = createFiles({ dataDir, owner, disk: disk.quota });
    const hostKey = await openHostKey(dataDir);
    const sftp = createSftp({
      store,
      clock,
      log: log.child({ room: 'sftp' }),
      dataDir,
      hostKey,
      files,
      disk: disk.quota,
      closed: (id) => node.suspensions.of(id) !== undefined,
    });
    let outages = 0;
    const databases = await openDatabases();
    const serverPorts = await openServerPorts({ store, range: config.extraPorts, isFree: isPortFree });
    const prices: Prices = {
      perGbHourMicros: config.pricePerGbHourMicros,
      perGbMonthMicros: config.pricePerGbMonthMicros,
    };
    const steady = await openSteadyClock(store, { clock, monotonicMs, epoch: (await thisProcess()).scope });
    const sessions = createSessions({ clock, steady, prices });
    // Child processes live within this process's own limits; containers stand beside it.
    const probe = createMachineProbe({ dataDir, ownLimits: engine.kind === 'process' });
    const live = () => servers.live();
    const capacity = await createCapacity({ probe, engine, live, clock });
    closers.push(() => capacity.close());
    const telemetry = createTelemetry();
    const quotaBytes = config.backupQuotaMb * 2 ** 20;
    const backupRoom = createBackupRoom({
      store,
      engine,
      console,
      clock,
      log,
      dataDir,
      owner,
      rconPassword,
      quotaBytes,
      disk: disk.quota,
      release: (id) => sftp.cut(id),
    });
    const servers = createServers({
      store,
      clock,
      log,
      onStep: async (tx, now, step) => {
        await sessions.onStep(tx, now, step);
        telemetry.stepped(step, startMs(now));
      },
      onRefusal: telemetry.refusedWake,
      limits: limitsOf(config),
      effects: createEffects({
        engine,
        console,
        management,
        clock,
        log,
        rconPassword,
        portsOf: (id) => serverPorts.of(id),
        cpusFor: (ramMb) => capacity.cpusFor(ramMb),
        pinger: { status: (address, timeoutMs) => pingStatus(address, { timeoutMs }) },
        dataDir: config.dataDir,
        gameImage: config.gameImage,
        sandboxImage: config.sandboxImage,
        sandboxFaults: config.sandboxFaults,
        owner,
        idleAfterMs: config.idleTimeoutMinutes * 60_000,
        outages: () => outages,
        maintain: backupRoom.maintain,
        erasers: [
          (id) => sftp.cut(id),
          backupRoom.erase,
          async (id) => databases?.erase(id),
          (id) => serverPorts.forget(id),
        ],
      }),
    });
    closers.push(() => servers.close());
    // At once, as the erasing of a deleted server may wait for its engine.
    closers.push(servers.observe((id, now) => void (now?.state === 'deleting' && sftp.cut(id))));
    const serverEvents = createServerEvents(servers, clock);
    closers.push(() => serverEvents.close());
    const webhook = createWebhook({ isAllowed: isPublicAddress });
    const outbox = createWebhookOutbox({ store, clock, log, webhook, record: recordOfSystem });
    closers.push(() => outbox.close());
    const alerts = createAlerts({ outbox, serverEvents, log });
    const onMinute = alerts.minute;
    const metrics = createMetrics({ servers, engine, console, clock, store, log, rconPassword, onMinute });
    closers.push(() => metrics.close());
    const publicStatuses = await openPublicStatuses(store);
    const wakePolicies = await openWakePolicies(store);
    servers.observe((id, now) => now ?? [publicStatuses, wakePolicies].forEach((settings) => settings.forget(id)));
    const door = createDoor({ files: createPlayerFiles(dataDir), policies: wakePolicies, clock, store });
    servers.checkWakes(door.wakeCap, ['JOIN']);
    const routing = createRouting({
      servers,
      clock,
      log,
      door,
      publicHost: config.publicHost,
      sleepers: await listRoutes(store),
    });
    closers.push(() => routing.close());
    await backupRoom.recover();
    await servers.restore();
    const { backups, worlds } = await backupRoom.open(servers, serverEvents);
    closers.push(() => backups.close());
    const onReturn = () => outages++;
    closers.push(
      await startReconcile({
        engine,
        servers,
        clock,
        log,
        onReturn,
        onAway: sessions.outOfSight,
        onLook: sessions.observed,
      }),
    );
    const schedules = await createSchedules({
      store,
      clock,
      log,
      actions: scheduleActions({ servers, backups, clock, console, rconPassword }),
    });
    closers.push(() => schedules.close());
    const funds = createFunds({
      store,
      clock,
      servers,
      console,
      rconPassword,
      mailer,
      prices,
      baseUrl,
      log,
      record: recordOfSystem,
      onCapReached: alerts.spendCapReached,
    });
    closers.push(() => funds.close());
    servers.checkWakes(funds.check);
    const accountLimits = await openAccountLimits(store, {
      maxRamMb: config.maxRamMb,
      maxServers: config.maxServersPerAccount,
    });
    const admission = createAdmission({ live, capacity, limits: accountLimits, nodeLabel: config.nodeLabel });
    servers.checkWakes(async () => (now) => admission.admit(now), [...WAKES, ...INSTALLS]);
    const { nodeLabel } = config;
    const around = {
      store,
      clock,
      log,
      dataDir,
      nodeLabel,
      disk,
      engine,
      servers,
      serverEvents,
      console,
      rconPassword,
    };
    const node = await openNodeServices({ ...around, capacity });
    closers.push(() => node.close());
    const checkouts = createCheckouts({
      store,
      clock,
      log,
      baseUrl,
      checkout: await openCheckout(config, log),
      record: (tx, deed) => recordDeed(tx, { userId: '', through: 'system checkout' }, deed),
    });
    const billing = { store, clock, steady, engine, servers, sessions, prices, log };
    const meter = await startMeter({ ...billing, afterRound: funds.enforce });
    closers.push(() => meter.close());

    const { sessionServerUrl } = config;
    const proxy = createProxy({ routes: routing, wake: routing, log: log.child({ room: 'proxy' }), sessionServerUrl });
    closers.push(() => proxy.close());
    const players = await proxy.listen(config.proxyHost, config.proxyPort);
    telemetry.watch({
      serversByState: () => countServersByState(store),
      playersOnline: () => live().reduce((sum, { context }) => sum + (context.live.players ?? 0), 0),
      proxy: () => proxy.stats(),
      storeWrites: () => store.waiting(),
      webhookMessages: () => outbox.waiting(store),
      charged: createChargeCount(store, clock),
    });
    const http = await listenHttp();
    await listenSftp();
    log.info(
      { http: http.port, players: players.port, sftp: sftp.port, sftpKey: sftp.fingerprint, engine: engine.kind },
      'ready',
    );
    return { http, players, firstRun: operator, close };

    function openMailer(): Mailer {
      if (config.smtpUrl === null) return createLogMailer(log);
      const mailer = createSmtpMailer({ url: config.smtpUrl, from: config.mailFrom });
      closers.push(() => mailer.close());
      return mailer;
    }

    async function openDatabases(): Promise<ServerDatabases | undefined> {
      if (config.mysqlAdminUrl === null) return undefined;
      // Only here, so that nobody else pays for it.
      const { createMysqlDatabases } = await import('./adapters/mysql.ts');
      const port = createMysqlDatabases(config.mysqlAdminUrl);
      const opened = createServerDatabases({ store, clock, databases: port, secret, log });
      closers.push(() => opened.close());
      return opened;
    }

    async function listenSftp(): Promise<void> {
      warnWithoutNativeCrypto(log);
      closers.push(() => sftp.close());
      await sftp.listen(config.sftpHost, config.sftpPort);
    }

    async function listenHttp(): Promise<AddressInfo> {
      const grants = createGrants({ store, clock, secret, log });
      const playersPort = () => players.port;
      const listFiles = createPlayerListFiles({ files, dataDir, owner });
      const profiles = createMojangProfiles({ apiUrl: config.mojangApiUrl, clock });
      const services: Services = {
        ...createPeopleMemory(clock),
        ...node,
        config,
        clock,
        store,
        log,
        secret,
        servers,
        files,
        players: createPlayers({ servers, files: listFiles, profiles, store, clock, console, rconPassword }),
        serverEvents,
        metrics,
        publicStatuses,
        publicBoard: createPublicBoard({ publicStatuses, wakePolicies, servers, clock, config, playersPort }),
        wakePolicies,
        backups,
        worlds,
        sftp,
        grants,
        machines: createMachines({ store, clock, servers, grants }),
        engine,
        console,
        rconPassword,
        mailer,
        prices,
        capacity,
        accountLimits,
        checkouts,
        databases,
        serverPorts,
        schedules,
        onAccount,
        logStreams: createLogStreams(engine, dataFrame, log),
        catalogue: createCatalogue({ manifestUrl: config.versionManifestUrl, embedded: EMBEDDED_VERSIONS, clock }),
        sandboxVersions: sandboxVersions(),
        clientAddress: createClientAddress(config.trustedProxies),
        playersPort,
        findUser: (id) => getUser(store, id),
      };
      const startLimit = createStartLimit({ store, clock });
      const api = createApi({
        log,
        services,
        device: { ...services, grants, startLimit },
        findPrincipal: (key) => authenticate(store, clock, key),
        findApp: (token) => authenticateApp(store, clock, token),
        telemetry,
        readiness: {
          store: () => store.query('SELECT 1'),
          engine: () => engine.list(),
          proxy: async () => proxy.stats(),
        },
      });
      api.use(createPages(services));
      const server = createHttpServer(api);
      server.listen(config.httpPort, config.httpHost);
      await once(server, 'listening');
      closers.push(
        () =>
          new Promise<void>((resolve) => {
            server.close(() => resolve());
            server.closeAllConnections();
          }),
      );
      return server.address() as AddressInfo;
    }
  } catch (error) {
    await close();
    throw error;
  }
}

async function openCheckout(config: Config, log: Log): Promise<Checkout | undefined> {
  if (config.checkout === 'off') return undefined;
  if (config.checkout === 'test') {
    log.warn('wallets are funded by test payments, without money: set CHECKOUT to stripe or off for real customers');
    return createTestCheckout();
  }
  // Only here, so that nobody else pays for it.
  const { createStripeCheckout } = await import('./adapters/stripe-checkout.ts');
  const { stripeSecretKey: secretKey, stripeWebhookSecret: webhookSecret, stripeApiUrl: apiUrl } = config;
  return createStripeCheckout({ secretKey, webhookSecret, apiUrl });
}

async function openEngine(
  config: Config,
  { log, clock, installation }: { log: Log; clock: Clock; installation: string },
): Promise<Engine> {
  const docker = dockerOptions(config.dockerHost);
  const image = config.sandboxImage;
  const provideImage: ImageProvider = async (docker, wanted) => {
    if (wanted !== image) return false;
    // Only here, so that nobody else pays for it.
    const { buildSandboxImage } = await import('./sandbox/image.ts');
    await buildSandboxImage({ docker, tag: image, progress: (line) => log.info({ image }, line) });
    return true;
  };
  const kind = await chooseEngine(config.engine, { docker, image, provideImage, log });
  if (kind === 'docker') {
    const logDir = join(config.dataDir, 'logs');
    return createDockerEngine({ docker, installation, logDir, log, provideImage });
  }
  const sandboxEntry = join(import.meta.dirname, 'sandbox/main.ts');
  return createProcessEngine({ runDir: join(config.dataDir, 'run'), log, clock, sandboxEntry });
}

/** From the wish for a server to its readiness; null where it has not come to that. */
function startMs({ context: { wokenAt, readyAt } }: ServerNow): number | null {
  return wokenAt === null || readyAt === null ? null : readyAt - wokenAt;
}

/** What the service does to an account by itself. */
function recordOfSystem(tx: Tx, deed: Deed): Promise<void> {
  return recordDeed(tx, { userId: '', through: 'system' }, deed);
}

function limitsOf(config: Config): ServerLimits {
  return { startMs: config.startTimeoutSeconds * 1_000, stopMs: STOP_MS, installMs: INSTALL_MS };
}

/** Tells this installation's containers from those of others on the same Docker engine. */
function installationOf(secret: Secret): string {
  return createHash('sha256').update(secret.derive('installation', '')).digest('hex').slice(0, 10);
}

import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { openAccountLimits } from '../../src/billing/account-limits.ts';
import { createCapacity } from '../../src/billing/capacity.ts';
import { createCheckouts } from '../../src/billing/checkout.ts';
import { createTestCheckout } from '../../src/billing/test-checkout.ts';
import { type ServiceApiOptions, createServiceApi } from '../../src/compose/api.ts';
import { type Services, type ServicesOptions, createServices } from '../../src/compose/services.ts';
import { createServerDatabases } from '../../src/databases/databases.ts';
import type { AccountDisk } from '../../src/disk/account-disk.ts';
import { type Disks, openDisks } from '../../src/disk/disks.ts';
import { enforceDiskQuotas } from '../../src/disk/enforcement.ts';
import type { QuotaTier } from '../../src/disk/quota.ts';
import { createFiles } from '../../src/files/files.ts';
import type { TrustedWithCode } from '../../src/engines/process/confined.ts';
import { createCoreRules } from '../../src/game/core-rules.ts';
import type { Profiles } from '../../src/game/players/minecraft-accounts.ts';
import { csrfToken } from '../../src/http/csrf.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { FULL_SCOPES, type Scope } from '../../src/http/scopes.ts';
import { type ServerEvents, createServerEvents } from '../../src/insight/events.ts';
import { createMetrics } from '../../src/insight/metrics.ts';
import { openPublicStatuses } from '../../src/joining/public-statuses.ts';
import { openWakePolicies } from '../../src/joining/wake-policies.ts';
import { hashToken } from '../../src/kernel/ids.ts';
import { createLog } from '../../src/kernel/log.ts';
import { createMods } from '../../src/mods/mods.ts';
import type { ModRegistry } from '../../src/mods/registries/registry.ts';
import { openNodeDrain } from '../../src/operators/node-drain.ts';
import { openOrphans } from '../../src/operators/orphans.ts';
import { openSuspensions } from '../../src/operators/suspensions.ts';
import { mintAppToken } from '../../src/people/apps/app-tokens.ts';
import { insertClient } from '../../src/people/apps/client-rows.ts';
import { insertAppToken } from '../../src/people/apps/token-rows.ts';
import { createGrants } from '../../src/people/grants/grants.ts';
import { mintKey } from '../../src/people/keys/keys.ts';
import { type ApiKeyRow, insertKey } from '../../src/people/keys/rows.ts';
import type { Mail } from '../../src/people/mail/mail.ts';
import { type MemberRole, insertMember } from '../../src/people/members/rows.ts';
import { insertAccount, insertUser, isOperatorAccount } from '../../src/people/rows.ts';
import { openBrowserSession } from '../../src/people/browser-sessions.ts';
import type { Joined } from '../../src/players/typed-commands.ts';
import { openServerPorts } from '../../src/ports/ports.ts';
import { scheduleActions } from '../../src/schedules/actions.ts';
import { createSchedules } from '../../src/schedules/schedules.ts';
import { requireEngine } from '../../src/servers/engine-check.ts';
import { INSTALLS, WAKES, readFirst } from '../../src/servers/wake-checks.ts';
import { openHostKey } from '../../src/sftp/host-key.ts';
import { type Sftp, createSftp } from '../../src/sftp/sftp.ts';
import type { Secret } from '../../src/store/secret.ts';
import { createWorlds } from '../../src/worlds/worlds.ts';
import { fakeDatabases } from '../fakes/databases.ts';
import { fakeRegistry } from '../fakes/registry.ts';
import { accountUuid } from './accounts.ts';
import { type World, type WorldOptions, world } from './world.ts';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON. */
  json: Record<string, unknown>;
  /** The reason of the one ErrorInfo, '' where there is none. */
  reason: string;
}

export interface CallOptions {
  key?: string | null;
  body?: unknown;
  raw?: string | Uint8Array;
  headers?: Record<string, string>;
}

/** The API over HTTP, on real servers with a fake engine. Without options calls are made with a full key of `acc_test`. */
export interface ApiUnderTest extends World {
  origin: string;
  port: number;
  key: string;
  /** What it logged, line by line. */
  logged: string[];
  /** Who the proxy says is joined to which game. */
  joined: Map<string, readonly Joined[]>;
  mint: (scopes: readonly Scope[], fields?: Partial<ApiKeyRow>) => Promise<{ key: string; row: ApiKeyRow }>;
  /** A full key of another account (`acc_other`, user `usr_other`), made on the way. */
  stranger: () => Promise<string>;
  /** Lets the other account's user into a server. */
  share: (serverId: string, role: MemberRole) => Promise<void>;
  services: Services;
  serverEvents: ServerEvents;
  /** Listens nowhere until a test says so. */
  sftp: Sftp;
  letters: Mail[];
  /** Connects an app to a user, and gives the token it gets. */
  connect: (userId: string, clientId: string) => Promise<string>;
  /** A browser; with a user's id one that is signed in. */
  browser: (userId?: string) => Promise<BrowserUnderTest>;
  call: (method: string, path: string, options?: CallOptions) => Promise<Answer>;
  /** `call`, of which a failure fails the test. */
  ok: (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;
  reach: World['reach'];
}

/** Keeps the session cookie, and sends the CSRF token along, as the dashboard does. */
export interface BrowserUnderTest {
  /** `name=value`, '' for none. */
  cookie: string;
  csrf: string;
  call: (method: string, path: string, options?: CallOptions) => Promise<Answer>;
  ok: (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;
}

export interface ApiTestOptions {
  /** By default everybody has an account. */
  profiles?: Profiles;
  diskQuota?: readonly QuotaTier[];
  accountDiskMb?: number;
  /** Whose servers may run what was uploaded; by default everybody's. */
  trusted?: TrustedWithCode;
  /** In place of what the whole file system has, which others fill and empty too. */
  usedBytes?: () => Promise<number>;
  /** Where mods come from. */
  registries?: ModRegistry[];
  world?: WorldOptions;
  /** In place of the harness's own. */
  services?: Partial<Services> | ((world: World) => Partial<Services>);
  config?: Partial<Settings>;
  api?: Partial<ServiceApiOptions>;
}

type Settings = Services['config'] & { maxRamMb: number; maxServersPerAccount: number };

/** The settings, where a test has none of its own. */
const CONFIG: Settings = {
  baseUrl: 'http://panel.example',
  publicHost: 'play.example',
  region: 'na',
  nodeLabel: 'node-1',
  maxRamMb: 16_384,
  maxServersPerAccount: 0,
  mysqlAddress: { host: 'mysql.example', port: 3_306 },
  signup: 'open',
};

/** Everybody has an account. */
const ACCOUNTS: Profiles = { find: async (name) => ({ name, uuid: accountUuid(name) }) };

const EVER = 4_000_000_000_000;

/** What the settings say, where a test sets them. */
function limitsOf({ maxRamMb, maxServersPerAccount: maxServers }: Partial<Settings> = {}) {
  return { ...(maxRamMb !== undefined && { maxRamMb }), ...(maxServers !== undefined && { maxServers }) };
}

export async function api(t: ExecutionContext, options: ApiTestOptions = {}): Promise<ApiUnderTest> {
  const erasers: ((id: string) => Promise<void>)[] = [];
  const accounts: AccountDisk = {
    hold: (...given) => disk.accounts.hold(...given),
    check: (...given) => disk.accounts.check(...given),
  };
  const room = { accounts, ...options.world?.room };
  const base = await world(t, { erasers, ...options.world, room });
  const { store, clock } = base;
  await addUser('usr_test', 'acc_test', 'owner@example.com');
  const { key } = await mint(FULL_SCOPES);
  const logged: string[] = [];
  const joined = new Map<string, readonly Joined[]>();
  const letters: Mail[] = [];
  const log = createLog({ level: 'debug', pretty: false, destination: { write: (line) => void logged.push(line) } });
  const config = { ...CONFIG, ...options.config };
  const secret: Secret = {
    derive: (purpose, id) => createHmac('sha256', 'test').update(`${purpose}\0${id}`).digest('base64url'),
  };
  const machine = { cores: 4, ramMb: 65_536, diskFreeMb: 40_000, diskTotalMb: 50_000 };
  const capacity = await createCapacity({
    probe: async () => machine,
    engine: base.engine,
    live: () => base.servers.live(),
    clock,
  });
  t.teardown(() => capacity.close());
  const checkout = createTestCheckout();
  const money = {
    capacity,
    accountLimits: await openAccountLimits(store, { maxRamMb: 16_384, maxServers: 0, ...limitsOf(options.config) }),
    checkouts: createCheckouts({
      store,
      clock,
      log,
      checkout,
      baseUrl: 'http://panel.example',
      record: async () => {},
    }),
  };
  const serverEvents = createServerEvents(base.servers, clock);
  const { servers, engine, games } = base;
  const limits = { tiers: options.diskQuota ?? [], accountDiskMb: options.accountDiskMb ?? 0 };
  const disk: Disks = await openDisks({ ...base, ...limits, log });
  const cores = createCoreRules({
    trusted: options.trusted ?? 'everybody',
    isOperatorAccount: (accountId) => isOperatorAccount(store, accountId),
  });
  servers.checkWakes(
    readFirst((row) => cores.require(row)),
    [...WAKES, ...INSTALLS],
  );
  const quotas = enforceDiskQuotas({
    ...base,
    disks: disk,
    log,
    console: games,
    rconPassword: () => 'secret',
    events: serverEvents,
    usedBytes: options.usedBytes,
  });
  t.teardown(() => quotas.close());
  const suspensions = await openSuspensions(base);
  const drain = await openNodeDrain({ store, nodeLabel: 'node-1', servers });
  servers.checkWakes(requireEngine('node-1', capacity), ['START', 'RESTART']);
  const orphans = await openOrphans({ ...base, log });
  const metrics = createMetrics({
    servers,
    engine,
    console: games,
    clock,
    store,
    log,
    rconPassword: () => 'secret',
    serverEvents,
  });
  t.teardown(() => metrics.close());
  const databases = createServerDatabases({ store, clock, databases: fakeDatabases(), secret, log });
  const range = { from: 40_000, to: 40_019 };
  const serverPorts = await openServerPorts({ store, range, isFree: async () => true });
  erasers.push(
    (id) => databases.erase(id),
    (id) => serverPorts.forget(id),
  );
  const backups = await base.room().open(servers, serverEvents);
  const { archives } = base.room();
  const worlds = createWorlds({ ...base, backups, archives, owner: undefined, disk: disk.quota });
  t.teardown(() => backups.close());
  const schedules = await createSchedules({
    store,
    clock,
    log,
    actions: scheduleActions({
      servers,
      clock,
      console: games,
      rconPassword: () => 'secret',
      engine,
      joined: () => [],
      backups,
    }),
  });
  t.teardown(() => schedules.close());
  const grants = createGrants({ store, clock, secret, log });
  const publicStatuses = await openPublicStatuses(store);
  const wakePolicies = await openWakePolicies(store);
  const hostKey = await openHostKey(base.dataDir);
  const files = createFiles({ dataDir: base.dataDir, disk: disk.quota, lock: base.lock });
  const sftp = createSftp({
    store,
    clock,
    log,
    dataDir: base.dataDir,
    hostKey,
    files,
    disk: disk.quota,
  });
  sftp.keepShut((id) => suspensions.of(id) !== undefined);
  t.teardown(() => sftp.close());
  const { services: given } = options;
  const instead = (typeof given === 'function' ? given(base) : given) as Partial<ServicesOptions>;
  const services: Services = {
    ...createServices({
      ...money,
      cores,
      disk: quotas.quota,
      suspensions,
      drain,
      orphans,
      config,
      clock,
      store,
      log,
      secret,
      dataDir: base.dataDir,
      lock: base.lock,
      mailer: { send: async (mail) => void letters.push(mail) },
      clientAddress: (request) => request.socket.remoteAddress ?? '',
      readiness: { store: async () => {}, engine: async () => {}, proxy: async () => {} },
      telemetry: { expose: async () => '', contentType: 'text/plain', answered: () => {} },
      prices: { perGbHourMicros: 10_000, perGbMonthMicros: 3_000_000 },
      publicStatuses,
      wakePolicies,
      servers,
      mods: createMods({
        store,
        registries: options.registries ?? [fakeRegistry()],
        disk: disk.quota,
        dataDir: base.dataDir,
        owner: undefined,
        lock: base.lock,
      }),
      files,
      sftp,
      profiles: options.profiles ?? ACCOUNTS,
      serverEvents,
      metrics,
      backups,
      worlds,
      grants,
      engine,
      console: games,
      catalogue: { versions: async () => ({ versions: ['1.21.8', '1.21.7'], latest: '1.21.8' }) },
      databases,
      serverPorts,
      schedules,
      joined: (id) => joined.get(id) ?? [],
      playersPort: () => 25_565,
      rconPassword: () => 'rcon-password',
      ...instead,
    }),
    ...instead,
  };
  const app = createServiceApi({
    log,
    services,
    rate: { perSecond: 1_000, burst: 100_000 },
    ...options.api,
  });
  const server = createHttpServer(app).listen(0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;

  async function addUser(id: string, accountId: string, email: string): Promise<void> {
    const fields = { emailVerified: true, passwordHash: '', operator: false, createdAt: clock.now() };
    await store.write((tx) => insertUser(tx, { id, email, accountId, ...fields }));
  }

  async function mint(scopes: readonly Scope[], fields: Partial<ApiKeyRow> = {}) {
    const wanted = { name: 'test', userId: 'usr_test', accountId: 'acc_test', scopes, expiresAt: EVER };
    const minted = mintKey({ ...wanted, createdAt: clock.now() });
    const row = { ...minted.row, ...fields };
    await store.write((tx) => insertKey(tx, row));
    return { key: minted.key, row };
  }

  async function call(method: string, path: string, given: CallOptions = {}): Promise<Answer> {
    const credential = given.key === undefined ? key : given.key;
    const body = given.raw ?? (given.body === undefined ? undefined : JSON.stringify(given.body));
    const response = await fetch(origin + path, {
      method,
      headers: { ...(credential !== null && { 'x-api-key': credential }), ...given.headers },
      ...(body !== undefined && { body: body as string }),
    });
    const type = response.headers.get('content-type') ?? '';
    // What does not end by itself is left unread.
    if (type.startsWith('text/event-stream')) await response.body?.cancel();
    const text = type.startsWith('text/event-stream') ? '' : await response.text();
    const isJson = type.startsWith('application/json');
    const json = (isJson && text !== '' ? JSON.parse(text) : {}) as Answer['json'];
    const [info] = (json['details'] ?? []) as { reason?: string }[];
    return { status: response.status, headers: response.headers, text, json, reason: info?.reason ?? '' };
  }

  async function browser(userId?: string): Promise<BrowserUnderTest> {
    const visitor = { address: '127.0.0.1', userAgent: 'test' };
    const token = userId && (await store.write((tx) => openBrowserSession(tx, userId, visitor, clock.now())));
    const it: BrowserUnderTest = {
      cookie: token ? `sid=${token}` : '',
      csrf: token ? csrfToken(services.secret, hashToken(token)) : '',
      async call(method, path, given = {}) {
        const headers = { ...(it.cookie && { cookie: it.cookie }), ...(it.csrf && { 'x-csrf-token': it.csrf }) };
        const answer = await call(method, path, { ...given, key: null, headers: { ...headers, ...given.headers } });
        const [kept] = answer.headers.getSetCookie();
        if (kept !== undefined) it.cookie = kept.split(';')[0] ?? '';
        if (typeof answer.json['csrfToken'] === 'string') it.csrf = answer.json['csrfToken'];
        return answer;
      },
      async ok(method, path, body) {
        const answer = await it.call(method, path, { body });
        t.is(answer.status, 200, answer.text);
        return answer.json;
      },
    };
    return it;
  }

  return {
    ...base,
    services,
    serverEvents,
    sftp,
    letters,
    async connect(userId, clientId) {
      const app = { id: clientId, name: `App ${clientId}`, homepage: 'https://app.example', disabledAt: null };
      const { token, row } = mintAppToken({ clientId, userId, scope: 'servers:list', createdAt: clock.now() });
      await store.write(async (tx) => {
        await insertClient(tx, { ...app, scopes: ['servers:list'], createdAt: clock.now() });
        await insertAppToken(tx, row);
      });
      return token;
    },
    browser,
    async share(serverId, role) {
      const row = { id: `mem_${serverId}_${role}`, serverId, email: 'stranger@example.com', userId: 'usr_other', role };
      const rest = { invitedBy: 'usr_test', createdAt: clock.now(), acceptedAt: clock.now() };
      await store.write(async (tx) => {
        await tx.run('DELETE FROM "members" WHERE "serverId" = $1 AND "userId" = $2', [serverId, 'usr_other']);
        await insertMember(tx, { ...row, ...rest });
      });
    },
    origin,
    port,
    key,
    logged,
    joined,
    mint,
    call,
    async stranger() {
      await store.write((tx) => insertAccount(tx, { id: 'acc_other', name: 'other', createdAt: clock.now() }));
      await addUser('usr_other', 'acc_other', 'stranger@example.com');
      return (await mint(FULL_SCOPES, { accountId: 'acc_other', userId: 'usr_other' })).key;
    },
    async ok(method, path, body) {
      const answer = await call(method, path, { body });
      t.is(answer.status, 200, answer.text);
      return answer.json;
    },
  };
}

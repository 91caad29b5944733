import type { ExecutionContext } from 'ava';
import type Koa from 'koa';
import type { AccountDisk } from '../../src/disk/account-disk.ts';
import type { Disks } from '../../src/disk/disks.ts';
import type { DiskUsage } from '../../src/disk/usage.ts';
import type { QuotaTier } from '../../src/disk/quota.ts';
import { createFront } from '../../src/front.ts';
import type { ApiOptions } from '../../src/http/app.ts';
import { csrfToken } from '../../src/http/session/csrf.ts';
import type { Readiness } from '../../src/http/health.ts';
import { listenHttp } from '../../src/http/listen.ts';
import { FULL_SCOPES, type Scope } from '../../src/http/scopes.ts';
import type { ServerEvents } from '../../src/insight/events.ts';
import { createClosers } from '../../src/kernel/closers.ts';
import { hashToken } from '../../src/kernel/ids.ts';
import { createLog } from '../../src/kernel/log.ts';
import { mintAppToken } from '../../src/grants/app-tokens.ts';
import { insertClient, insertAppToken } from '../../src/grants/app-rows.ts';
import { mintKey } from '../../src/access/keys.ts';
import { type ApiKeyRow, insertKey } from '../../src/access/key-rows.ts';
import type { Mail } from '../../src/mail/mail.ts';
import { type MemberRole, insertMember } from '../../src/access/member-rows.ts';
import { insertAccount, insertUser } from '../../src/accounts/rows.ts';
import { openBrowserSession } from '../../src/accounts/browser-sessions.ts';
import type { Joined } from '../../src/players/typed-commands.ts';
import type { Sftp } from '../../src/sftp/sftp.ts';
import { type Around, type Rooms, type RoomsOptions, openRooms } from './rooms.ts';
import { type World, type WorldOptions, world } from './world.ts';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON. */
  json: Record<string, unknown>;
  /** The reason of the ErrorInfo; '' without one. */
  reason: string;
}

export interface CallOptions {
  key?: string | null;
  body?: unknown;
  raw?: string | Uint8Array;
  headers?: Record<string, string>;
}

/** The API over HTTP, on real servers with a fake engine. By default, calls use a full key of `acc_test`. */
export interface ApiUnderTest extends World {
  origin: string;
  port: number;
  key: string;
  /** The log, line by line. */
  logged: string[];
  /** The players that the proxy reports as joined, by server. */
  joined: Map<string, readonly Joined[]>;
  /** The servers whose address bans changed, in order. */
  addressBans: string[];
  /** The notices for servers' webhooks. */
  notices: Around['notices'];
  mint: (scopes: readonly Scope[], fields?: Partial<ApiKeyRow>) => Promise<{ key: string; row: ApiKeyRow }>;
  /** Creates another account (`acc_other`, user `usr_other`) and returns a full key of it. */
  stranger: () => Promise<string>;
  /** Shares a server with the other account's user. */
  share: (serverId: string, role: MemberRole) => Promise<void>;
  services: Rooms;
  app: Koa;
  serverEvents: ServerEvents;
  disks: Disks;
  /** Not listening until a test opens it. */
  sftp: Sftp;
  letters: Mail[];
  /** Connects an app to a user, and returns its token. */
  connect: (userId: string, clientId: string) => Promise<string>;
  /** Opens a browser, signed in if a user's id is given. */
  browser: (userId?: string) => Promise<BrowserUnderTest>;
  call: (method: string, path: string, options?: CallOptions) => Promise<Answer>;
  /** Like `call`, but a failure fails the test. */
  ok: (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;
  reach: World['reach'];
}

/** Keeps the session cookie and sends the CSRF token, as the panel does. */
export interface BrowserUnderTest {
  /** `name=value`; '' without a cookie. */
  cookie: string;
  csrf: string;
  call: (method: string, path: string, options?: CallOptions) => Promise<Answer>;
  ok: (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;
}

export interface ApiTestOptions extends RoomsOptions {
  diskQuota?: QuotaTier[];
  accountDiskMb?: number;
  world?: WorldOptions;
  rate?: ApiOptions['rate'];
  readiness?: Readiness;
  /** The name or address of this machine for browsers. Default: an address where nothing listens. */
  site?: string;
}

const READY: Readiness = { store: async () => {}, engine: async () => {}, proxy: async () => {} };
const EVER = 4_000_000_000_000;

export async function api(t: ExecutionContext, options: ApiTestOptions = {}): Promise<ApiUnderTest> {
  const erasers: ((id: string) => Promise<void>)[] = [];
  const accounts: Pick<AccountDisk, 'hold'> = { hold: (...given) => services.disks.accounts.hold(...given) };
  const usage: Pick<DiskUsage, 'of' | 'measure'> = {
    of: (id) => services.disks.usage.of(id),
    measure: (id) => services.disks.usage.measure(id),
  };
  const room = { accounts, usage, ...options.world?.room };
  const { minecraftEula } = options.config ?? {};
  const base = await world(t, { erasers, minecraftEula, ...options.world, room });
  const { store, clock } = base;
  await addUser('usr_test', 'acc_test', 'owner@example.com');
  const { key } = await mint(FULL_SCOPES);
  const logged: string[] = [];
  const joined = new Map<string, readonly Joined[]>();
  const addressBans: string[] = [];
  const notices: Around['notices'] = [];
  const letters: Mail[] = [];
  const log = createLog({ level: 'debug', pretty: false, destination: { write: (line) => void logged.push(line) } });
  const rooms = createClosers();
  const http = createClosers();
  // Close the listener first.
  t.teardown(rooms.close);
  t.teardown(http.close);
  // The served pages may depend on the origin.
  let serve: ReturnType<Koa['callback']> | undefined;
  const callback =
    () =>
    async (...given: Parameters<ReturnType<Koa['callback']>>) =>
      serve?.(...given);
  const { port } = await listenHttp({ callback }, { host: '127.0.0.1', port: 0, onClose: http.onClose });
  const origin = `http://${options.site ?? '127.0.0.1'}:${port}`;
  const mailer = { send: async (mail: Mail) => void letters.push(mail) };
  const around = { erasers, mailer, joined, addressBans, notices, log, onClose: rooms.onClose };
  const limits = { diskQuotaMb: options.diskQuota ?? [], accountDiskMb: options.accountDiskMb ?? 0 };
  const config = { ...limits, ...options.config, ...(options.site !== undefined && { baseUrl: origin }) };
  const services: Rooms = await openRooms(base, around, { ...options, config });
  const app = createFront({
    features: services.features,
    streams: services,
    browsers: services,
    findPrincipal: services.findPrincipal,
    findApp: services.findApp,
    signInPath: services.signInPath,
    ...(options.telemetry && { answered: options.telemetry.answered }),
    readiness: options.readiness ?? READY,
    rate: options.rate ?? { perSecond: 1_000, burst: 100_000 },
    clock,
    log,
  });
  serve = app.callback();

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
    // Streams that never end are left unread.
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
        // Besides the session, pages store only the state of the tour.
        const kept = answer.headers.getSetCookie().find((each) => !each.startsWith('tour='));
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
    app,
    serverEvents: services.serverEvents,
    disks: services.disks,
    sftp: services.sftp,
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
      const link = { linkHash: row.id, linkExpiresAt: 0, linkOpensAccount: false };
      const rest = { ...link, invitedBy: 'usr_test', createdAt: clock.now(), acceptedAt: clock.now() };
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
    addressBans,
    notices,
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

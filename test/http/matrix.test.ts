import test, { type ExecutionContext } from 'ava';
import { OPERATIONS } from '../../src/reference.ts';
import { createAuthorize } from '../../src/http/auth.ts';
import type { KeyOperation } from '../../src/http/operation.ts';
import { type Role, isAtLeast } from '../../src/http/roles.ts';
import { FULL_SCOPES, KEY_SCOPES, type Scope } from '../../src/http/scopes.ts';
import { mintToken } from '../../src/kernel/ids.ts';
import { CODES, type Code } from '../../src/kernel/status.ts';
import { revokeApp } from '../../src/grants/app-tokens.ts';
import { authenticate } from '../../src/access/keys.ts';
import { insertMember } from '../../src/access/member-rows.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';

const operations = OPERATIONS.filter((operation) => operation.auth === 'key');

/** An error code with its reason, or `done`. */
type Outcome = 'done' | readonly [Code, reason: string];
type Headers = Record<string, string>;

/** A credential, and the expected outcome of an operation. Undefined means the outcome of an authorized call. */
interface Credential {
  headers: Headers;
  expect: (operation: KeyOperation) => Outcome | undefined;
}

const ofServer = ({ path }: KeyOperation) => path.startsWith('/v1/servers/{id}');
/** Whether an operation names a server in its body. */
const ofBody = ({ id }: KeyOperation) => id === 'CreateTemplate';
const ofAccount = ({ path }: KeyOperation) => path.startsWith('/v1/accounts/');

/** Outcomes of authorized calls on a sleeping server. All others succeed. */
const ON_A_SLEEPING_SERVER: Record<string, Outcome> = {
  RestartServer: ['FAILED_PRECONDITION', 'SERVER_HIBERNATED'],
  RetryInstall: ['FAILED_PRECONDITION', 'SERVER_HIBERNATED'],
  KeepAwake: ['FAILED_PRECONDITION', 'SERVER_HIBERNATED'],
  RunCommand: ['FAILED_PRECONDITION', 'SERVER_NOT_RUNNING'],
  RemoveServerName: ['NOT_FOUND', 'NAME_NOT_FOUND'],
  RemoveServerPort: ['NOT_FOUND', 'PORT_NOT_FOUND'],
  DeleteSchedule: ['NOT_FOUND', 'SCHEDULE_NOT_FOUND'],
  RunScheduleNow: ['NOT_FOUND', 'SCHEDULE_NOT_FOUND'],
  SetScheduleEnabled: ['NOT_FOUND', 'SCHEDULE_NOT_FOUND'],
  CreateServerFromTemplate: ['NOT_FOUND', 'TEMPLATE_NOT_FOUND'],
  DeleteTemplate: ['NOT_FOUND', 'TEMPLATE_NOT_FOUND'],
  CreateImport: ['INVALID_ARGUMENT', 'UNKNOWN_ARCHIVE'],
  GetImport: ['NOT_FOUND', 'IMPORT_NOT_FOUND'],
  ConfirmImport: ['NOT_FOUND', 'IMPORT_NOT_FOUND'],
  DeleteImport: ['NOT_FOUND', 'IMPORT_NOT_FOUND'],
  DropServerDatabase: ['NOT_FOUND', 'DATABASE_NOT_FOUND'],
  RotateServerDatabasePassword: ['NOT_FOUND', 'DATABASE_NOT_FOUND'],
  SetModpack: ['FAILED_PRECONDITION', 'MODS_NOT_SUPPORTED'],
  AddServerMod: ['FAILED_PRECONDITION', 'MODS_NOT_SUPPORTED'],
  RemoveServerMod: ['NOT_FOUND', 'MOD_NOT_INSTALLED'],
  DeleteBackup: ['NOT_FOUND', 'BACKUP_NOT_FOUND'],
  RestoreBackup: ['NOT_FOUND', 'BACKUP_NOT_FOUND'],
  DownloadBackup: ['NOT_FOUND', 'BACKUP_NOT_FOUND'],
  SetBackupLocked: ['NOT_FOUND', 'BACKUP_NOT_FOUND'],
  DeleteServerWorld: ['NOT_FOUND', 'WORLD_NOT_FOUND'],
  ImportServerWorld: ['NOT_FOUND', 'IMPORT_NOT_FOUND'],
  RotateSftpPassword: ['FAILED_PRECONDITION', 'SFTP_DISABLED'],
  ReadFile: ['FAILED_PRECONDITION', 'NOT_A_FILE'],
  CopyPath: ['NOT_FOUND', 'PATH_NOT_FOUND'],
  RenamePath: ['NOT_FOUND', 'PATH_NOT_FOUND'],
  DeletePath: ['NOT_FOUND', 'PATH_NOT_FOUND'],
  ArchivePaths: ['NOT_FOUND', 'PATH_NOT_FOUND'],
  ExtractArchive: ['NOT_FOUND', 'PATH_NOT_FOUND'],
  KickPlayer: ['FAILED_PRECONDITION', 'SERVER_NOT_RUNNING'],
  UpdateWebhook: ['NOT_FOUND', 'WEBHOOK_NOT_FOUND'],
  DeleteWebhook: ['NOT_FOUND', 'WEBHOOK_NOT_FOUND'],
  RotateWebhookSecret: ['NOT_FOUND', 'WEBHOOK_NOT_FOUND'],
  TestWebhook: ['NOT_FOUND', 'WEBHOOK_NOT_FOUND'],
  ListWebhookDeliveries: ['NOT_FOUND', 'WEBHOOK_NOT_FOUND'],
  ResendWebhookDelivery: ['NOT_FOUND', 'WEBHOOK_NOT_FOUND'],
};

/** Bodies for operations whose example would fail. */
const BODIES: Record<string, (serverId: string) => object> = {
  CreateServer: () => ({ name: 'Another', ramMb: 256 }),
  SetServerNetwork: () => ({ front: 'external' }),
  SetServerHostname: (serverId) => ({ hostname: `new-${serverId}` }),
  SetMemberRole: (serverId) => ({ memberId: `mem_${serverId}`, role: 'limited' }),
  CreateTemplate: () => ({ serverId: 'abc', name: 'Usual' }),
  DeleteSchedule: () => ({ scheduleId: 'sch_none' }),
  RunScheduleNow: () => ({ scheduleId: 'sch_none' }),
  SetScheduleEnabled: () => ({ scheduleId: 'sch_none', enabled: true }),
  RemoveMember: (serverId) => ({ memberId: `mem_${serverId}` }),
  UpdateWebhook: () => ({ webhookId: 'whk_none' }),
  DeleteWebhook: () => ({ webhookId: 'whk_none' }),
  RotateWebhookSecret: () => ({ webhookId: 'whk_none' }),
  TestWebhook: () => ({ webhookId: 'whk_none' }),
  ResendWebhookDelivery: () => ({ webhookId: 'whk_none', deliveryId: 'dlv_none' }),
};

/** Required queries of operations without a JSON body. */
const QUERIES: Record<string, string> = { UploadFile: '?path=a.txt' };

/** Additional scopes: the schedule of the example runs a command. */
const ALSO: Record<string, Scope> = { CreateSchedule: 'console' };

/** Returns the refusal of a key with these scopes, or undefined if it is authorized. Its user is not an operator. */
function byScope({ id, scope }: KeyOperation, held: readonly Scope[]): Outcome | undefined {
  const lacks = (needed: KeyOperation['scope']) => needed !== 'any' && !held.includes(needed);
  if (lacks(scope) || lacks(ALSO[id] ?? 'any')) return ['PERMISSION_DENIED', 'SCOPE_MISSING'];
  return scope === 'operator' ? ['PERMISSION_DENIED', 'NOT_OPERATOR'] : undefined;
}

const UNKNOWN: Outcome = ['UNAUTHENTICATED', 'CREDENTIAL_INVALID'];

/** Returns the outcome of a credential in `Authorization`. Operations that accept only keys refuse every one. */
function byToken({ keyOnly }: KeyOperation, otherwise: Outcome | undefined): Outcome | undefined {
  return keyOnly ? ['UNAUTHENTICATED', 'API_KEY_REQUIRED'] : otherwise;
}

/** Creates a server of the account `acc_test`, with one invitation. */
async function addServer(it: ApiUnderTest, serverId: string): Promise<void> {
  const { store, clock } = it;
  await it.create(serverId);
  const guest = { id: `mem_${serverId}`, email: 'guest@example.com', userId: null, role: 'member' as const };
  const rest = {
    serverId,
    invitedBy: 'usr_test',
    createdAt: clock.now(),
    acceptedAt: null,
    linkHash: serverId,
    linkExpiresAt: 0,
    linkOpensAccount: false,
  };
  await store.write((tx) => insertMember(tx, { ...guest, ...rest }));
}

async function ask(it: ApiUnderTest, operation: KeyOperation, serverId: string, headers: Headers) {
  const { id, method, path, example } = operation;
  const body = method === 'post' ? (BODIES[id]?.(serverId) ?? example ?? {}) : undefined;
  const address = path
    .replace('{id}', serverId)
    .replace('{accountId}', 'acc_test')
    .replaceAll(/\{\w+\}/g, 'none');
  return it.call(method.toUpperCase(), address + (QUERIES[id] ?? ''), { key: null, headers, body });
}

/** Calls every operation with a credential. Authorized calls that name a server use a new one. */
async function walk(t: ExecutionContext, it: ApiUnderTest, name: string, { headers, expect }: Credential) {
  for (const operation of operations) {
    const refused = expect(operation);
    const serverId = refused === undefined && ofServer(operation) ? `s${++made}` : 'abc';
    if (serverId !== 'abc') {
      await addServer(it, serverId);
      if (name === 'member' || name === 'limited') await it.share(serverId, name);
    }
    const answer = await ask(it, operation, serverId, headers);
    const outcome = refused ?? ON_A_SLEEPING_SERVER[operation.id] ?? 'done';
    const expected =
      outcome === 'done' ? [200, undefined, ''] : [CODES[outcome[0]][1], CODES[outcome[0]][0], outcome[1]];
    t.deepEqual(
      [answer.status, answer.json['code'], answer.reason],
      expected,
      `${operation.id} with ${name}: ${answer.text}`,
    );
    if (outcome !== 'done') t.true(saysWhose(outcome, answer.json['details']), `${operation.id}: ${answer.text}`);
  }
}

/** Whether a refusal names its subject: the owner of a state or quota, or the missing or existing resource. */
function saysWhose([code]: Exclude<Outcome, 'done'>, details: unknown): boolean {
  const found = (type: string) => (details as { '@type': string }[]).find((each) => each['@type'].endsWith(`.${type}`));
  const subject = (type: string) => (found(type) as { violations?: { subject: string }[] })?.violations?.[0]?.subject;
  if (code === 'FAILED_PRECONDITION') return /^(?:server|account|node):./.test(subject('PreconditionFailure') ?? '');
  if (code === 'RESOURCE_EXHAUSTED') return /^(?:server|account|node):./.test(subject('QuotaFailure') ?? '');
  if (code !== 'NOT_FOUND' && code !== 'ALREADY_EXISTS') return true;
  const { resourceType = '', resourceName = '' } = (found('ResourceInfo') ?? {}) as Record<string, string>;
  return /^[a-z_]+$/.test(resourceType) && resourceName !== '';
}
let made = 0;

/** Asserts that refused calls changed nothing. */
async function untouched(t: ExecutionContext, { servers, store, ok }: ApiUnderTest): Promise<void> {
  t.is((await servers.get('abc'))?.state, 'hibernated');
  t.deepEqual((await ok('GET', '/v1/servers/abc/machine'))['transitions'], [] as unknown);
  const entries = await store.query<{ action: string }>(`SELECT "action" FROM "audit" WHERE "serverId" = 'abc'`);
  t.deepEqual(
    entries.map(({ action }) => action),
    ['server.create'],
  );
}

test('every operation rejects missing, malformed, unknown, revoked and expired credentials', async (t) => {
  const it = await api(t);
  await addServer(it, 'abc');
  const { mint, clock, key, browser } = it;
  const expiring = await mint(KEY_SCOPES, { expiresAt: clock.now() + 60_000 });
  const revoked = await mint(KEY_SCOPES, { revokedAt: clock.now() });
  t.is((await it.call('GET', '/v1/whoami', { key: expiring.key })).status, 200);
  await clock.advance(60_000);
  const { cookie, csrf } = await browser('usr_test');
  const nobody = () => UNKNOWN;
  const noToken = (operation: KeyOperation) => byToken(operation, UNKNOWN);
  const missing = () => ['UNAUTHENTICATED', 'CREDENTIAL_MISSING'] as const;
  const credentials: Record<string, Credential> = {
    none: { headers: {}, expect: missing },
    'a session': {
      headers: { cookie, 'x-csrf-token': csrf },
      expect: ({ scope }) => (scope === 'operator' ? (['PERMISSION_DENIED', 'SCOPE_MISSING'] as const) : missing()),
    },
    malformed: { headers: { 'x-api-key': 'dmk_nonsense' }, expect: nobody },
    empty: { headers: { 'x-api-key': '' }, expect: nobody },
    unknown: { headers: { 'x-api-key': mintToken('key') }, expect: nobody },
    revoked: { headers: { 'x-api-key': revoked.key }, expect: nobody },
    expired: { headers: { 'x-api-key': expiring.key }, expect: nobody },
    'an app token as a key': { headers: { 'x-api-key': mintToken('app') }, expect: nobody },
    'a key as a token': {
      headers: { authorization: `Bearer ${key}` },
      expect: (operation) => (operation.bearerKey ? byScope(operation, FULL_SCOPES) : noToken(operation)),
    },
    'an unknown or revoked app token': { headers: { authorization: `Bearer ${mintToken('app')}` }, expect: noToken },
    basic: { headers: { authorization: 'Basic eDp5' }, expect: noToken },
    'a bad key beside another header': {
      headers: { 'x-api-key': mintToken('key'), authorization: `Bearer ${key}` },
      expect: nobody,
    },
  };
  const texts = new Set<string>();
  for (const [name, credential] of Object.entries(credentials)) {
    await walk(t, it, name, credential);
    const answer = await ask(it, operations[0]!, 'abc', credential.headers);
    t.truthy(answer.headers.get('www-authenticate'));
    texts.add(answer.text);
  }
  t.is(texts.size, 2, 'one answer for a missing credential, one for all invalid ones');
  await untouched(t, it);
  const query = `/v1/whoami?x-api-key=${key}&api_key=${key}`;
  t.is((await it.call('GET', query, { key: null })).status, 401, 'a key in the query is ignored');
});

test('every operation requires its scope, tested with each scope alone, all and none', async (t) => {
  const it = await api(t);
  await addServer(it, 'abc');
  const sets: [string, readonly Scope[]][] = [
    ['nothing', []],
    ['everything', KEY_SCOPES],
    ...KEY_SCOPES.map((scope): [string, readonly Scope[]] => [scope, [scope]]),
  ];
  for (const [name, scopes] of sets) {
    const { key } = await it.mint(scopes);
    await walk(t, it, name, { headers: { 'x-api-key': key }, expect: (operation) => byScope(operation, scopes) });
  }
  await untouched(t, it);
});

test('an app token works only for the operations that allow it, and not after it is revoked', async (t) => {
  const it = await api(t);
  await addServer(it, 'abc');
  const token = await it.connect('usr_test', 'app_1');
  const headers = { authorization: `Bearer ${token}` };
  const allowed = new Set(['WhoAmI', 'ListMyServers']);
  await walk(t, it, 'an app token', {
    headers,
    expect: (operation) =>
      allowed.has(operation.id) ? undefined : byToken(operation, ['PERMISSION_DENIED', 'APP_TOKEN_NOT_ALLOWED']),
  });
  t.deepEqual((await it.call('GET', '/v1/whoami', { key: null, headers })).json, {
    accountId: '',
    email: 'owner@example.com',
    emailVerified: true,
  });
  t.is(
    (await it.call('POST', '/v1/servers/none:start', { key: null, headers, raw: '[' })).reason,
    'APP_TOKEN_NOT_ALLOWED',
  );
  t.is((await it.call('GET', '/v1/whoami', { headers })).json['accountId'], 'acc_test', 'a key takes precedence');
  await revokeApp(it, { userId: 'usr_test', accountId: 'acc_test' }, 'app_1');
  await walk(t, it, 'the same, revoked', { headers, expect: (operation) => byToken(operation, UNKNOWN) });
  await untouched(t, it);
});

test('the operator scope has an effect only if the user is an operator', async (t) => {
  const { mint, store, clock } = await api(t);
  const authorize = createAuthorize(
    (key) => authenticate(store, clock, key),
    async () => undefined,
    () => {},
  );
  const operation = { ...operations[0]!, scope: 'operator' as const };
  const ask = async () => authorize({ 'x-api-key': (await mint(KEY_SCOPES)).key }, operation);
  await t.throwsAsync(ask, { message: /Only operators/ });
  await store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  t.true((await ask()).operator);
});

test('every operation hides servers from other accounts and enforces the roles of members', async (t) => {
  const it = await api(t);
  await addServer(it, 'abc');
  const headers = { 'x-api-key': await it.stranger() };
  const hidden: Outcome = ['NOT_FOUND', 'SERVER_NOT_FOUND'];
  const foreign: Outcome = ['PERMISSION_DENIED', 'ACCOUNT_MISMATCH'];
  const other = (operation: KeyOperation): Outcome | undefined =>
    byScope(operation, FULL_SCOPES) ?? (ofAccount(operation) ? foreign : undefined);
  await walk(t, it, 'another account’s key', {
    headers,
    expect: (operation) => (ofServer(operation) || ofBody(operation) ? hidden : other(operation)),
  });
  for (const role of ['limited', 'member'] as const) {
    await it.share('abc', role);
    await walk(t, it, role, {
      headers,
      expect: (operation) =>
        isAtLeast(role, operation.role ?? (ofBody(operation) ? 'member' : 'limited'))
          ? other(operation)
          : ['PERMISSION_DENIED', 'ROLE_TOO_LOW'],
    });
  }
  await untouched(t, it);
});

test('a key limited to certain servers cannot reach other servers or account-wide operations', async (t) => {
  const it = await api(t);
  await addServer(it, 'abc');
  const { key } = await it.mint(FULL_SCOPES, { serverIds: ['def'] });
  const whole = new Set([
    'CreateServer',
    'CreateTemplate',
    'DeleteTemplate',
    'ListAccountAudit',
    'GetWallet',
    'ListLedger',
    'GetSpendCap',
    'SetSpendCap',
    'CreateCheckoutLink',
    'AcceptEula',
    'CreateImport',
    'ListImports',
    'GetImport',
    'ConfirmImport',
    'DeleteImport',
    'ListWebhooks',
    'CreateWebhook',
    'UpdateWebhook',
    'DeleteWebhook',
    'RotateWebhookSecret',
    'TestWebhook',
    'ListWebhookDeliveries',
    'ResendWebhookDelivery',
  ]);
  await walk(t, it, 'a key for another server', {
    headers: { 'x-api-key': key },
    expect: (operation) => {
      if (ofServer(operation)) return ['NOT_FOUND', 'SERVER_NOT_FOUND'];
      return whole.has(operation.id) ? ['PERMISSION_DENIED', 'KEY_LIMITED'] : byScope(operation, FULL_SCOPES);
    },
  });
  await it.create('def');
  t.is((await it.call('GET', '/v1/servers/def', { key })).status, 200);
  const ids = (answer: unknown) => (answer as { id: string }[]).map(({ id }) => id);
  t.deepEqual(ids((await it.call('GET', '/v1/servers', { key })).json['servers']), ['def']);
  t.deepEqual(ids((await it.call('GET', '/v1/me/servers', { key })).json['my']), ['def']);
  await untouched(t, it);
});

test('another account’s server gets byte for byte the same answer as a missing one', async (t) => {
  const it = await api(t);
  await addServer(it, 'abc');
  const headers = { 'x-api-key': await it.stranger() };
  const all = operations.filter(ofServer);
  t.true(all.length >= 10);
  for (const operation of all) {
    const other = await ask(it, operation, 'abc', headers);
    const absent = await ask(it, operation, 'xyz', headers);
    t.is(other.text, absent.text.replaceAll('xyz', 'abc'), operation.id);
  }
  t.deepEqual((await it.call('GET', '/v1/servers', { headers, key: null })).json, { servers: [] });
});

test('every server operation has a minimum role, and limited members can only read, start and stop', (t) => {
  const roles: Record<Role, string[]> = { limited: [], member: [], owner: [] };
  for (const operation of operations) {
    t.is(operation.role !== undefined, ofServer(operation), operation.id);
    if (operation.role !== undefined) roles[operation.role].push(operation.id);
  }
  const owners = ['DeleteServer', 'ListMembers', 'InviteMember', 'SetMemberRole', 'RemoveMember'];
  for (const id of owners) t.true(roles.owner.includes(id), id);
  for (const id of ['GetServer', 'StartServer', 'StopServer', 'GetServerLogs']) t.true(roles.limited.includes(id), id);
  for (const { id, method, role } of operations.filter(ofServer)) {
    const may = method === 'get' || ['StartServer', 'StopServer'].includes(id);
    t.true(may || role !== 'limited', `${id}: limited members may change only sleep`);
  }
});

test('every operation that requires an awake server is refused on a sleeping one', (t) => {
  for (const { id, precondition = '' } of operations) {
    if (!/the server must (?:be (?:awake|running)|run)\b|`state` must be/.test(precondition)) continue;
    t.is(ON_A_SLEEPING_SERVER[id]?.[0], 'FAILED_PRECONDITION', id);
  }
});

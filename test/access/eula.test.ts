import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Routing } from '../../src/joining/routing.ts';
import { createLog } from '../../src/kernel/log.ts';
import { insertUser } from '../../src/accounts/rows.ts';
import { readFirst } from '../../src/servers/wake-checks.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';
import { OPEN_POLICY } from '../support/join-policy.ts';
import { STEVE, world } from '../support/world.ts';

const ASK = { config: { minecraftEula: 'ask' } } as const;
const EULA = '/v1/accounts/acc_test/eula';
const AGREED = { body: { accepted: true } };
const URL_OF_IT = 'https://aka.ms/MinecraftEULA';

/** A Minecraft server `castle` of an account without EULA consent, and a player's attempt to join it. */
async function asked(t: ExecutionContext): Promise<ApiUnderTest & { join: (id: string) => Promise<unknown> }> {
  const it = await api(t, ASK);
  await it.create('castle', { type: 'paper' });
  const { servers, clock } = it;
  const log = createLog({ level: 'silent' });
  const parts = { servers, clock, log, publicHost: 'play.example', sleepers: [], joinPolicy: OPEN_POLICY };
  const routing = new Routing(parts);
  t.teardown(() => routing.close());
  const player = { name: 'Steve', uuid: null, ip: '127.0.0.1', protocol: 769 };
  return { ...it, join: (id) => routing.wake(id, player, AbortSignal.timeout(60_000)) };
}

const eulaFile = ({ dataDir }: { dataDir: string }, id: string) => join(dataDir, 'servers', id, 'eula.txt');

test('without EULA consent, Minecraft servers do not start or install, and each refusal explains how to accept', async (t) => {
  const it = await asked(t);
  const made = await it.call('POST', '/v1/servers', {
    body: { name: 'Tower', ramMb: 1_024, type: 'vanilla', version: '1.21.8' },
  });
  t.is(made.status, 200, 'a server can be created without consent');
  const pack = { type: 'fabric', modpackPlatform: 'modrinth', modpackRef: 'pack', ramMb: 2_048 };
  for (const refused of [
    await it.call('POST', '/v1/servers/castle:start'),
    await it.call('POST', '/v1/servers/tower:start'),
    await it.call('POST', '/v1/servers', { body: { name: 'Packed', ...pack } }),
    await it.call('POST', '/v1/servers/castle:setModpack', { body: { platform: 'modrinth', ref: 'pack' } }),
  ]) {
    t.like(refused, { status: 400, reason: 'EULA_NOT_ACCEPTED' }, refused.text);
    t.regex(String(refused.json['message']), /aka\.ms\/MinecraftEULA.*POST \/v1\/accounts\/acc_test\/eula/);
  }
  await t.throwsAsync(it.join('castle'), { message: /owner must accept the Minecraft EULA/ });
  t.regex((await it.servers.refusal('castle'))?.reason ?? '', /^EULA_NOT_ACCEPTED$/);
  t.is((await it.call('GET', '/v1/servers/packed')).status, 404, 'a refused creation leaves no server behind');
  t.deepEqual([it.engine.specs, existsSync(eulaFile(it, 'castle'))], [[], false]);
});

test('the sandbox needs no EULA, and its folder has no eula.txt', async (t) => {
  const it = await asked(t);
  await it.create('flat', { type: 'sandbox' });
  t.is((await it.call('POST', '/v1/servers/flat:start')).status, 200);
  await it.reach('flat', 'running');
  t.deepEqual(['EULA' in it.engine.specs[0]!.env, existsSync(eulaFile(it, 'flat'))], [false, false]);
});

test('an account accepts the EULA once for all its servers, and players can then join', async (t) => {
  const it = await asked(t);
  const nobody = { accepted: false, byOperator: false, acceptedAt: null, userId: '', url: URL_OF_IT };
  t.deepEqual(await it.ok('GET', EULA), nobody);
  for (const body of [{}, { accepted: false }, { accepted: 'yes' }])
    t.like(await it.call('POST', EULA, { body }), { status: 400, reason: 'INVALID_FIELD' });
  t.deepEqual(await it.ok('GET', EULA), nobody);
  const acceptedAt = new Date(it.clock.now()).toISOString();
  const somebody = { ...nobody, accepted: true, acceptedAt, userId: 'usr_test' };
  t.deepEqual(await it.ok('POST', EULA, AGREED.body), somebody);
  await it.clock.advance(60_000);
  t.deepEqual(await it.ok('POST', EULA, AGREED.body), somebody, 'the first consent stays');
  const actions = await it.store.query<{ through: string; detail: string }>(
    `SELECT "through", "detail" FROM "audit" WHERE "action" = 'account.acceptEula'`,
  );
  t.is(actions.length, 1);
  t.regex(actions[0]?.through ?? '', /^key key_\w+$/);
  t.is(actions[0]?.detail, 'https://aka.ms/MinecraftEULA');

  const joined = it.join('castle');
  await it.until(() => it.engine.boots.includes('castle'));
  await it.reach('castle', 'running');
  await joined;
  t.is(it.engine.specs[0]?.env['EULA'], 'TRUE');
  t.is(readFileSync(eulaFile(it, 'castle'), 'utf8'), 'eula=true\n');
});

test('members, limited keys and apps cannot accept the EULA for a server’s owner', async (t) => {
  const it = await asked(t);
  const key = await it.stranger();
  await it.share('castle', 'member');
  t.is((await it.call('POST', '/v1/servers/castle:start', { key })).reason, 'EULA_NOT_ACCEPTED');
  t.is((await it.call('POST', EULA, { key, ...AGREED })).reason, 'ACCOUNT_MISMATCH');
  t.is((await it.call('POST', '/v1/accounts/acc_other/eula', { key, ...AGREED })).status, 200);
  const limited = await it.mint(['servers:write'], { serverIds: ['castle'] });
  t.is((await it.call('POST', EULA, { key: limited.key, ...AGREED })).reason, 'KEY_LIMITED');
  const authorization = `Bearer ${await it.connect('usr_test', 'lamp')}`;
  t.is((await it.call('POST', EULA, { key: null, headers: { authorization }, ...AGREED })).status, 403);
  t.is(
    (await it.call('POST', '/v1/servers/castle:start', { key })).reason,
    'EULA_NOT_ACCEPTED',
    'the owner’s consent counts',
  );
});

test('an operator’s consent for the installation covers every account', async (t) => {
  const it = await api(t, { config: { minecraftEula: 'accept' } });
  await it.create('castle', { type: 'paper' });
  t.like(await it.ok('GET', EULA), { accepted: true, byOperator: true, acceptedAt: null, userId: '' });
  t.is((await it.call('POST', '/v1/servers/castle:start')).status, 200);
  await it.reach('castle', 'running');
  t.is(it.engine.specs[0]?.env['EULA'], 'TRUE');
});

test('an owner’s eula=false stays after the account has accepted', async (t) => {
  const it = await asked(t);
  await it.ok('POST', EULA, AGREED.body);
  await mkdir(join(it.dataDir, 'servers/castle'), { recursive: true });
  await writeFile(eulaFile(it, 'castle'), 'eula=false\n');
  await it.ok('POST', '/v1/servers/castle:start', {});
  await it.until(() => it.engine.boots.includes('castle'));
  t.is(readFileSync(eulaFile(it, 'castle'), 'utf8'), 'eula=false\n');
});

test('EULA consent survives a kill, and a start begun without consent fails after the restart', async (t) => {
  const it = await world(t, { minecraftEula: 'ask' });
  const check = () => it.servers.checkWakes(readFirst((row) => it.eula.require(row)));
  await it.create('castle', { type: 'paper' });
  await it.create('tower', { type: 'paper' });
  // This start bypasses the wake checks, and so the check for consent.
  await it.command('castle', 'JOIN', STEVE);
  await it.killAndRestart();
  const failed = await it.reach('castle', 'start_failed');
  t.is(failed?.context.startFailure?.code, 'eula_not_accepted');
  t.regex(failed?.context.startFailure?.summary ?? '', /^EULA not accepted: Minecraft's licence .* is not accepted/);
  t.false(existsSync(eulaFile(it, 'castle')));
  check();
  await t.throwsAsync(it.command('tower', 'START'), { message: /is not accepted for this account yet/ });

  const user = { id: 'usr_test', email: 'o@example.com', accountId: 'acc_test', emailVerified: true, passwordHash: '' };
  await it.store.write((tx) => insertUser(tx, { ...user, operator: false, createdAt: it.clock.now() }));
  const principal = { kind: 'key', keyId: 'key_test', userId: 'usr_test', accountId: 'acc_test' } as const;
  await it.eula.accept({ ...principal, scopes: new Set(), operator: false, serverIds: null });
  await it.killAndRestart();
  check();
  await it.command('tower', 'START');
  await it.reach('tower', 'running');
  t.is(readFileSync(eulaFile(it, 'tower'), 'utf8'), 'eula=true\n');
});

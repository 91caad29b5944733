import test from 'ava';
import type { Cause } from '../../machines/server-types.ts';
import type { AccessChange } from '../../src/http/access-changes.ts';
import { FULL_SCOPES } from '../../src/http/scopes.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';

const FRIEND = 'stranger@example.com';

/** The server `abc` of `acc_test`, and the key of another user. */
async function scene(it: ApiUnderTest) {
  await it.create('abc');
  const friend = await it.stranger();
  const heard: AccessChange[] = [];
  it.services.accessChanges.onAccessChange((change) => heard.push(change));
  const invite = (body: object, path = '') => it.call('POST', `/v1/servers/abc/members${path}`, { body });
  const asFriend = async (method: string, path: string, body?: object) => {
    const { status, reason } = await it.call(method, `/v1/servers/abc${path}`, { key: friend, body });
    return reason || status;
  };
  return { friend, heard, invite, asFriend };
}

test('an invitation grants access only after the invited address accepts it', async (t) => {
  const it = await api(t);
  const { invite, asFriend, heard } = await scene(it);
  const browser = await it.browser('usr_other');
  const invited = (await invite({ email: ' Stranger@EXAMPLE.com', role: 'limited' })).json;
  const { link, linkExpiresAt, ...rest } = invited;
  t.deepEqual(rest, { memberId: invited['memberId'], email: FRIEND, role: 'limited', pending: true, userId: '' });
  t.true(it.letters[0]?.text.includes(String(link)));
  t.deepEqual(await it.ok('GET', '/v1/servers/abc/members'), { members: [{ ...rest, linkExpiresAt }] });
  t.like(it.letters[0], { to: FRIEND });
  t.is(await asFriend('GET', ''), 'SERVER_NOT_FOUND');

  const wrong = await it.browser('usr_test');
  const body = { memberId: invited['memberId'] };
  for (const verb of ['accept', 'decline']) {
    const answer = await wrong.call('POST', `/v1/session/invitations:${verb}`, { body });
    t.is(answer.reason, 'INVITATION_NOT_FOUND', `${verb} by another user`);
  }
  t.deepEqual(await wrong.ok('GET', '/v1/session/invitations'), { invitations: [] });
  t.deepEqual(await browser.ok('GET', '/v1/session/invitations'), {
    invitations: [
      {
        ...body,
        serverId: 'abc',
        serverName: 'abc',
        role: 'limited',
        createdAt: new Date(it.clock.now()).toISOString(),
      },
    ],
  });
  t.deepEqual(heard, []);
  await browser.ok('POST', '/v1/session/invitations:accept', body);
  await browser.ok('POST', '/v1/session/invitations:accept', body);
  t.is(await asFriend('GET', ''), 200);
  t.deepEqual(await browser.ok('GET', '/v1/session/invitations'), { invitations: [] });
  t.deepEqual(await it.ok('GET', '/v1/servers/abc/members'), {
    members: [{ ...rest, linkExpiresAt: null, pending: false, userId: 'usr_other' }],
  });
  t.deepEqual(heard[0], { serverId: 'abc', userId: 'usr_other' });
});

test('an invitation cannot be accepted before the e-mail address is verified', async (t) => {
  const it = await api(t);
  const { invite } = await scene(it);
  const steve = { email: 'steve@example.com', password: 'correct horse' };
  const { memberId } = (await invite({ email: steve.email, role: 'member' })).json;
  const browser = await it.browser();
  await browser.ok('POST', '/v1/session/me:signUp', steve);
  const answer = (verb: string) => browser.call('POST', `/v1/session/invitations:${verb}`, { body: { memberId } });
  t.deepEqual(await browser.ok('GET', '/v1/session/invitations'), { invitations: [] });
  t.is((await answer('accept')).reason, 'EMAIL_NOT_VERIFIED');
  t.is((await answer('decline')).reason, 'INVITATION_NOT_FOUND');
  const token = /token=([\w-]+)/.exec(it.letters.at(-1)?.text ?? '')?.[1];
  await browser.ok('POST', '/v1/session/me:verifyEmail', { token });
  t.is((await answer('accept')).status, 200);
});

test('a role change takes effect at the next call and notifies the listeners for access changes', async (t) => {
  const it = await api(t);
  const { invite, asFriend, heard } = await scene(it);
  await it.share('abc', 'limited');
  const [{ memberId } = { memberId: '' }] = (await it.ok('GET', '/v1/servers/abc/members'))['members'] as {
    memberId: string;
  }[];
  t.is(await asFriend('POST', ':start'), 200);
  t.is(await asFriend('POST', ':stop'), 200);
  t.is(await asFriend('POST', ':update', { name: 'Mine' }), 'ROLE_TOO_LOW');
  const raised = await invite({ memberId, role: 'member' }, ':setRole');
  t.like(raised.json, { memberId, role: 'member', pending: false });
  t.is(await asFriend('POST', ':update', { name: 'Ours' }), 200);
  t.is(await asFriend('DELETE', ''), 'ROLE_TOO_LOW');
  t.is(await asFriend('POST', '/members', { email: 'x@example.com', role: 'member' }), 'ROLE_TOO_LOW');
  await invite({ memberId, role: 'limited' }, ':setRole');
  t.is(await asFriend('POST', ':update', { name: 'Mine' }), 'ROLE_TOO_LOW');
  t.is((await invite({ memberId, role: 'owner' }, ':setRole')).reason, 'INVALID_FIELD');
  t.is((await invite({ memberId }, ':remove')).status, 200);
  t.is(await asFriend('GET', ''), 'SERVER_NOT_FOUND');
  t.is((await invite({ memberId }, ':remove')).reason, 'MEMBER_NOT_FOUND');
  t.is(heard.length, 3);
  for (const change of heard) t.deepEqual(change, { serverId: 'abc', userId: 'usr_other' });
});

test('an API key’s scopes and server list also apply to shared servers', async (t) => {
  const it = await api(t);
  await scene(it);
  await it.share('abc', 'member');
  const of = { accountId: 'acc_other', userId: 'usr_other' };
  const reader = (await it.mint(['servers:read'], of)).key;
  t.is((await it.call('GET', '/v1/servers/abc', { key: reader })).status, 200);
  t.is((await it.call('POST', '/v1/servers/abc:start', { key: reader })).reason, 'SCOPE_MISSING');
  const elsewhere = (await it.mint(FULL_SCOPES, { ...of, serverIds: ['other'] })).key;
  t.is((await it.call('GET', '/v1/servers/abc', { key: elsewhere })).reason, 'SERVER_NOT_FOUND');
  t.deepEqual((await it.call('GET', '/v1/me/servers', { key: elsewhere })).json, { my: [], shared: [] });
});

test('the account’s server list has own and shared servers, without owners and without stale player counts', async (t) => {
  const it = await api(t);
  const { friend } = await scene(it);
  await it.share('abc', 'limited');
  await it.call('POST', '/v1/servers', { key: friend, body: { name: 'Own', ramMb: 256 } });
  const list = async () => (await it.call('GET', '/v1/me/servers', { key: friend })).json;
  const summary = { type: 'sandbox', region: 'na', state: 'hibernated' };
  const [shared] = (await list())['shared'] as Record<string, unknown>[];
  t.deepEqual(shared, {
    id: 'abc',
    name: 'abc',
    ramMb: 512,
    address: 'abc.play.example',
    version: '1.21.4',
    role: 'limited',
    tags: [],
    ...summary,
  });
  t.like(((await list())['my'] as object[])[0], { id: 'own', role: 'owner', ...summary });
  const { json } = await it.call('GET', '/v1/servers', { key: friend });
  t.deepEqual(
    (json['servers'] as { id: string }[]).map(({ id }) => id),
    ['own'],
    'only the account’s own servers',
  );

  it.games.players.set('abc', 3);
  await it.command('abc', 'START');
  t.false('playersOnline' in ((await list())['shared'] as object[])[0]!);
  await it.reach('abc', 'running');
  await it.passUntil(
    async () => ((await list())['shared'] as { playersOnline?: number }[])[0]?.playersOnline === 3,
    5_000,
  );
  await it.command('abc', 'STOP');
  t.false('playersOnline' in ((await list())['shared'] as object[])[0]!);
  await it.reach('abc', 'hibernated');
  await it.ok('DELETE', '/v1/servers/abc');
  t.deepEqual((await list())['shared'], []);
});

test('a shared server shows what woke it, but not the id of its owner', async (t) => {
  const it = await api(t);
  const { friend } = await scene(it);
  await it.share('abc', 'limited');
  const wokenBy = async () => {
    const { json } = await it.call('GET', '/v1/me/servers', { key: friend });
    return (json['shared'] as { cause?: object }[])[0]?.cause;
  };
  const wake = async (cause: Cause) => {
    await it.command('abc', 'START', cause);
    const shown = await wokenBy();
    await it.command('abc', 'STOP');
    await it.reach('abc', 'hibernated');
    return shown;
  };
  const others = [
    { kind: 'user', id: 'usr_test', note: 'asked in the panel' },
    { kind: 'key', id: 'key_test', note: 'asked over the API' },
    { kind: 'operator', id: 'usr_test', note: 'a look at it' },
  ] as const;
  for (const cause of others) t.deepEqual(await wake(cause), { ...cause, id: '' }, cause.kind);
  const named = [
    { kind: 'user', id: 'usr_other', note: 'asked in the panel' },
    { kind: 'player', id: 'Steve', note: 'joined' },
  ] as const;
  for (const cause of named) t.deepEqual(await wake(cause), cause, cause.kind);
});

test('the account’s server list shows at once that players join or leave', async (t) => {
  const it = await api(t);
  await it.create('abc');
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  const online = async () => {
    const { my } = (await it.ok('GET', '/v1/me/servers')) as { my: { playersOnline?: number }[] };
    return my[0]?.playersOnline;
  };
  await it.passUntil(async () => (await online()) === 0, 5_000);
  it.presence.changed('abc', { inside: 1, knocking: 0 });
  t.is(await online(), 1);
  it.presence.changed('abc', { inside: 0, knocking: 0 });
  t.is(await online(), 0);
});

test('duplicate invitations, the owner’s address and more than 100 members are refused', async (t) => {
  const it = await api(t);
  const { invite } = await scene(it);
  t.is((await invite({ email: FRIEND, role: 'member' })).status, 200);
  t.is((await invite({ email: FRIEND.toUpperCase(), role: 'limited' })).reason, 'MEMBER_EXISTS');
  t.is((await invite({ email: 'owner@example.com', role: 'member' })).reason, 'MEMBER_EXISTS');
  for (const body of [{}, { email: 'x', role: 'member' }, { email: FRIEND, role: 'owner' }, { email: 'a@b.c' }]) {
    t.is((await invite(body)).reason, 'INVALID_FIELD', JSON.stringify(body));
  }
  const again = async (n: number) => {
    const answer = await invite({ email: `friend${n}@example.com`, role: 'limited' });
    if (answer.reason !== 'TOO_MANY_ATTEMPTS') return answer;
    await it.clock.advance(Number(answer.headers.get('retry-after')) * 1_000);
    return invite({ email: `friend${n}@example.com`, role: 'limited' });
  };
  for (let n = 1; n < 100; n++) t.is((await again(n)).status, 200);
  const last = await again(100);
  t.deepEqual([last.status, last.reason], [429, 'MAX_MEMBERS']);
});

test('a member can leave, and an invitation can be declined', async (t) => {
  const it = await api(t);
  const { invite, asFriend, heard } = await scene(it);
  const browser = await it.browser('usr_other');
  const decline = async (memberId: unknown) => browser.ok('POST', '/v1/session/invitations:decline', { memberId });
  await decline((await invite({ email: FRIEND, role: 'member' })).json['memberId']);
  t.deepEqual(await it.ok('GET', '/v1/servers/abc/members'), { members: [] });
  const { memberId } = (await invite({ email: FRIEND, role: 'member' })).json;
  await browser.ok('POST', '/v1/session/invitations:accept', { memberId });
  t.is(await asFriend('GET', ''), 200);
  await decline(memberId);
  t.is(await asFriend('GET', ''), 'SERVER_NOT_FOUND');
  t.is(heard.length, 2);
});

test('a member cannot be changed through another server, even one with the same owner', async (t) => {
  const it = await api(t);
  const { invite } = await scene(it);
  await it.create('def');
  const { memberId } = (await invite({ email: FRIEND, role: 'member' })).json;
  const other = (verb: string) =>
    it.call('POST', `/v1/servers/def/members:${verb}`, { body: { memberId, role: 'limited' } });
  t.is((await other('setRole')).reason, 'MEMBER_NOT_FOUND');
  t.is((await other('remove')).reason, 'MEMBER_NOT_FOUND');
});

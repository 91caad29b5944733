import test, { type ExecutionContext } from 'ava';
import { listAccountInvitations, putAccountInvitation } from '../../src/accounts/link-rows.ts';
import { type ApiTestOptions, type ApiUnderTest, api } from '../support/api-harness.ts';
import { onEachStore } from '../store/on-each.ts';

const EMAIL = 'steve@example.org';
const PASSWORD = 'correct horse';
const WEEK_MS = 7 * 86_400_000;

interface Office extends ApiUnderTest {
  /** Calls an operation as an operator. */
  op: (method: string, path: string, body?: object) => ReturnType<ApiUnderTest['call']>;
  invite: (email?: string) => Promise<{ link: string; token: string; id: string; sent: unknown }>;
  /** Signs up with the token of an invitation link. */
  signUp: (invitation: string, email?: string) => ReturnType<ApiUnderTest['call']>;
}

/** Sign-up is closed, and `usr_test` is the operator. */
async function office(t: ExecutionContext, config: ApiTestOptions['config'] = {}): Promise<Office> {
  const it = await api(t, { config: { signup: 'closed', ...config } });
  const { key } = await it.mint(['operator']);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [true, 'usr_test']));
  const op: Office['op'] = (method, path, body) => it.call(method, `/v1/operator/${path}`, { key, body });
  return {
    ...it,
    op,
    async invite(email = EMAIL) {
      const { json } = await op('POST', 'accounts:invite', { email });
      const link = String(json['link']);
      const token = new URL(link).searchParams.get('invitation') ?? '';
      return { link, token, id: String(json['invitationId']), sent: json['sent'] };
    },
    async signUp(invitation, email = EMAIL) {
      const body = { email, password: PASSWORD, invitation };
      return (await it.browser()).call('POST', '/v1/session/me:signUp', { body });
    },
  };
}

const list = async ({ op }: Office) => (await op('GET', 'invitations')).json['invitations'] as Record<string, string>[];

test('an account invitation creates one account, only for its address, which is confirmed at once', async (t) => {
  const it = await office(t);
  const { link, token, id, sent } = await it.invite();
  t.true(sent);
  t.like(it.letters.at(-1), { to: EMAIL, subject: 'Create your account at Dormouse' });
  t.true(it.letters.at(-1)?.text.includes(link));
  const [open] = await list(it);
  t.like(open, { invitationId: id, email: EMAIL, invitedBy: 'owner@example.com' });
  t.is(Date.parse(open?.['expiresAt'] ?? '') - it.clock.now(), WEEK_MS);
  t.is((await it.signUp(token, 'alex@example.org')).reason, 'SIGNUP_CLOSED', 'the invitation is for one address');
  t.is((await it.signUp('x'.repeat(43))).reason, 'SIGNUP_CLOSED');
  t.is((await it.signUp('')).reason, 'SIGNUP_CLOSED');
  t.like((await it.signUp(token)).json, { email: EMAIL, emailVerified: true, operator: false });
  t.is(it.letters.length, 1, 'the address needs no confirmation');
  t.deepEqual(await list(it), []);
  t.is((await it.signUp(token)).reason, 'SIGNUP_CLOSED', 'an invitation works once');
  t.is((await it.op('POST', 'accounts:invite', { email: EMAIL })).reason, 'USER_EXISTS');
});

test('an account invitation ends after a week, when cancelled, or when a newer one replaces it', async (t) => {
  const it = await office(t);
  const first = await it.invite();
  const second = await it.invite();
  t.is((await it.signUp(first.token)).reason, 'SIGNUP_CLOSED', 'a newer invitation has replaced it');
  t.deepEqual(
    (await list(it)).map(({ invitationId }) => invitationId),
    [second.id],
  );
  t.is((await it.op('POST', `invitations/${second.id}:cancel`)).status, 200);
  t.is((await it.signUp(second.token)).reason, 'SIGNUP_CLOSED');
  t.is((await it.op('POST', `invitations/${second.id}:cancel`)).reason, 'INVITATION_NOT_FOUND');
  const third = await it.invite();
  await it.clock.jump(it.clock.now() + WEEK_MS);
  t.deepEqual(await list(it), []);
  t.is((await it.signUp(third.token)).reason, 'SIGNUP_CLOSED');
});

test('two parallel sign-ups with one invitation create one account', async (t) => {
  const it = await office(t);
  const { token } = await it.invite();
  const answers = await Promise.all([it.signUp(token), it.signUp(token)]);
  t.deepEqual(answers.map(({ status, reason }) => `${status} ${reason}`).toSorted(), ['200 ', '403 SIGNUP_CLOSED']);
});

test('without a mail server, an account invitation returns its link but sends and logs no link', async (t) => {
  const it = await office(t, { mail: false });
  const { token, sent } = await it.invite();
  t.false(sent);
  t.deepEqual(it.letters, []);
  t.like((await it.signUp(token)).json, { emailVerified: true });
  t.false(it.logged.join('').includes(token));
});

test('an account invitation’s token is not stored, and the audit log records each invitation', async (t) => {
  const it = await office(t);
  const { token, id } = await it.invite();
  await it.op('POST', `invitations/${id}:cancel`);
  await it.invite('alex@example.org');
  const stored = JSON.stringify(
    await Promise.all(['account_invitations', 'audit'].map((table) => it.store.query(`SELECT * FROM "${table}"`))),
  );
  t.false(stored.includes(token) || it.logged.join('').includes(token));
  const entries = await it.store.query<{ action: string; detail: string }>(
    `SELECT * FROM "audit" WHERE "action" LIKE 'account.%' ORDER BY "id"`,
  );
  t.deepEqual(
    entries.map(({ action, detail }) => [action, detail]),
    [
      ['account.invite', EMAIL],
      ['account.cancelInvitation', EMAIL],
      ['account.invite', 'alex@example.org'],
    ],
  );
});

onEachStore('there is one sign-up invitation per address, and expired ones are removed', async (t, store) => {
  const row = (id: string, email: string, createdAt: number) => ({
    id,
    email,
    createdAt,
    hash: `hash of ${id}`,
    invitedBy: 'usr_test',
    expiresAt: createdAt + 10,
  });
  const rows = [
    row('inv_a', 'a@b.c', 0),
    row('inv_b', 'b@b.c', 5),
    row('inv_c', 'b@b.c', 6),
    row('inv_d', 'd@b.c', 12),
  ];
  for (const each of rows) await store.write((tx) => putAccountInvitation(tx, each));
  t.deepEqual(
    (await listAccountInvitations(store, 12)).map(({ id }) => id),
    ['inv_d', 'inv_c'],
  );
  t.deepEqual(
    (await store.query<{ id: string }>('SELECT "id" FROM "account_invitations"')).map(({ id }) => id).toSorted(),
    ['inv_c', 'inv_d'],
  );
});

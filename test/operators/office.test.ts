import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { balance, post } from '../../src/billing/ledger.ts';
import { PASSWORD_FRESH_MS, hashPassword } from '../../src/accounts/passwords.ts';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, type PanelUnderTest, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const ACCOUNT = '/operator/accounts/acc_other';
const LAST_AUDIT = 'SELECT "through", "detail" FROM "audit" WHERE "action" = $1 ORDER BY "at" DESC, "id" DESC LIMIT 1';
const DISABLED = 'SELECT COUNT(*) AS "n" FROM "clients" WHERE "disabledAt" IS NOT NULL';

/** The pages of an operator, with a second account (`acc_other`). */
async function office(t: ExecutionContext): Promise<PanelUnderTest> {
  const it = await openPanel(t);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  await it.stranger();
  return it;
}

/** Sends a form and returns the page that it leads to. */
async function sent(it: PanelUnderTest, path: string, fields: Record<string, string>): Promise<string> {
  const answer = await it.submit(path, fields);
  return answer.status === 303 ? (await it.get(answer.headers.get('location') ?? '')).text : answer.text();
}

test('the operator pages return 404 to other users, and forged or foreign forms change nothing', async (t) => {
  const it = await office(t);
  const other = await it.browser('usr_other');
  for (const path of ['nodes', 'accounts', 'accounts/acc_other', 'orphans', 'proxies', 'apps'].map(
    (each) => `/operator/${each}`,
  )) {
    t.is((await it.get(path, other)).status, 404, path);
    t.is((await it.get(path)).status, 200, path);
    t.regex((await it.get(path)).text, /<nav class="rail" [^>]*aria-label="Operator">/);
    const nobody = await fetch(it.origin + path, { redirect: 'manual' });
    t.regex(nobody.headers.get('location') ?? '', /^\/sign-in/);
  }
  const drain = { node: 'node-1', reason: 'because' };
  t.is((await it.submit('/operator/nodes/drain', drain, other)).status, 404);
  t.is((await it.submit('/operator/nodes/drain', { ...drain, csrf: 'forged' })).status, 403);
  t.is((await it.submit(`${ACCOUNT}/credit`, { amount: '5', kind: 'credit', note: 'mine' }, other)).status, 404);
  t.like((await it.call('GET', '/v1/capacity')).json, { available: true });
  t.is(await balance(it.store, 'acc_other'), 0);
});

test('a node is drained and resumed on the operator page, and its reason is shown escaped', async (t) => {
  const it = await office(t);
  const drain = { node: 'node-1', reason: '' };
  t.regex(await sent(it, '/operator/nodes/drain', drain), /id="drain-reason-wrong">is required/);
  const drained = await sent(it, '/operator/nodes/drain', { ...drain, reason: 'A new <disk>' });
  t.regex(drained, /It starts no more servers[^]*<bdi>A new &lt;disk&gt;<\/bdi>/);
  await it.create('castle');
  t.is((await it.call('POST', '/v1/servers/castle:start')).reason, 'NODE_DRAINED');
  t.notRegex(await sent(it, '/operator/nodes/resume', { ...drain, reason: 'It is in' }), /drained<\/span>/);
  t.is((await it.call('POST', '/v1/servers/castle:start')).status, 200);
});

test('an operator finds an account, credits it with a note, and sets its limits', async (t) => {
  const it = await office(t);
  t.regex((await it.get('/operator/accounts')).text, /acc_other[^]*acc_test/);
  const found = (await it.get('/operator/accounts?q=OWNER%40example')).text;
  t.regex(found, /acc_test/);
  t.notRegex(found, /acc_other/);
  t.regex((await it.get('/operator/accounts?q=100%25')).text, /No account matches/);
  const idsShown = async (show: string) => {
    const { text } = await it.get(`/operator/accounts?show=${show}`);
    return [...new Set(Array.from(text.matchAll(/accounts\/(acc_\w+)"/g), ([, id]) => id))];
  };
  await it.create('castle');
  t.deepEqual(await idsShown('all'), ['acc_other', 'acc_test']);
  t.deepEqual(await idsShown('operators'), ['acc_test']);
  t.deepEqual(await idsShown('servers'), ['acc_test']);
  t.deepEqual(await idsShown('noServers'), ['acc_other']);
  const credit = { amount: '2.50', kind: 'credit', note: 'Sorry for the outage' };
  t.regex(await sent(it, `${ACCOUNT}/credit`, credit), /Added\.[^]*2\.50 USD/);
  t.regex(await sent(it, `${ACCOUNT}/credit`, { ...credit, amount: '-0.5', kind: 'adjustment' }), /2\.00 USD/);
  const ref = /name="ref" value="(\w+)"/.exec((await it.get(ACCOUNT)).text)?.[1] ?? '';
  for (const _ of [1, 2])
    t.regex(
      await sent(it, `${ACCOUNT}/credit`, { ...credit, amount: '1', ref }),
      /3\.00 USD/,
      'a form sent twice is booked once',
    );
  for (const amount of ['', '0', 'five', '--5']) {
    const refused = await sent(it, `${ACCOUNT}/credit`, { ...credit, amount });
    t.regex(refused, /id="credit-amount-wrong"[^]*value="Sorry for the outage"/, amount);
  }
  t.regex(await sent(it, `${ACCOUNT}/credit`, { ...credit, note: ' ' }), /id="credit-note-wrong">is required/);
  t.is(await balance(it.store, 'acc_other'), 3_000_000);

  t.regex(
    await sent(it, `${ACCOUNT}/limits`, { maxRamMb: '2048', maxServers: '', reason: 'Small machine' }),
    /Current: 2048 MB[^]*value="2048"/,
  );
  const unsaid = await sent(it, `${ACCOUNT}/limits`, { maxRamMb: '4096', maxServers: '', reason: ' ' });
  t.regex(unsaid, /Current: 2048 MB[^]*value="4096"[^]*id="limits-reason-wrong">is required/);
  t.like((await it.store.query<{ detail: string }>(LAST_AUDIT, ['account.setLimits']))[0], {
    through: 'session',
    detail: 'RAM 2048 MB, servers default: Small machine',
  });
  t.regex(
    await sent(it, `${ACCOUNT}/limits`, { maxRamMb: '', maxServers: '0', reason: 'x' }),
    /Current: 65536 MB[^]*value=""/,
  );
  t.regex(
    await sent(it, `${ACCOUNT}/limits`, { maxRamMb: '1.5', maxServers: '', reason: 'x' }),
    /id="limits-maxRamMb-wrong"/,
  );
  t.is((await it.get('/operator/accounts/acc_none')).status, 404);
  const posting = { accountId: 'acc_other', kind: 'credit', amountMicros: 1, note: '', ref: 'x', at: 0 } as const;
  t.regex(await sent(it, '/operator/accounts/reconcile', {}), /All wallets match/);
  await it.store.write(async (tx) => {
    await post(tx, posting);
    await tx.run('UPDATE "wallets" SET "balanceMicros" = 7');
  });
  t.regex(await sent(it, '/operator/accounts/reconcile', {}), /1 wallet is not equal[^]*acc_other/);
});

test('an operator suspends and unsuspends a server on the account page, with a reason', async (t) => {
  const it = await office(t);
  await it.create('castle', { name: 'The Castle' });
  await it.create('lobby');
  const page = '/operator/accounts/acc_test';
  const refused = await sent(it, `${page}/suspend`, { server: 'lobby', reason: '' });
  t.regex(refused, /id="suspend-lobby-reason-wrong"/);
  t.notRegex(refused, /id="suspend-castle-reason-wrong"/);
  const suspended = await sent(it, `${page}/suspend`, { server: 'castle', reason: 'Abuse report 4711' });
  t.regex(suspended, /Suspended\.[^]*suspended<\/span>[^]*Abuse report 4711/);
  t.is((await it.call('POST', '/v1/servers/castle:start')).reason, 'SERVER_SUSPENDED');
  t.notRegex(await sent(it, `${page}/unsuspend`, { server: 'castle', reason: 'Settled' }), /suspended<\/span>/);
  t.is((await it.call('POST', '/v1/servers/castle:start')).status, 200);
});

test('an operator sets and removes a server’s own disk quota on the account page, with a reason', async (t) => {
  const it = await office(t);
  await it.create('castle');
  await it.create('lobby');
  const page = '/operator/accounts/acc_test';
  t.regex((await it.get(page)).text, /Disk: not measured yet/);
  const quota = { server: 'castle', quotaMb: '20480', reason: 'A large <modpack>' };
  const refused = await sent(it, `${page}/quota`, { ...quota, reason: ' ' });
  t.regex(refused, /<details open>[^]*value="20480"[^]*id="quota-castle-reason-wrong">is required/);
  t.notRegex(refused, /id="quota-lobby-reason-wrong"/);
  for (const quotaMb of ['0', '-1', '1.5', 'much', '99999999999'])
    t.regex(await sent(it, `${page}/quota`, { ...quota, quotaMb }), /id="quota-castle-quotaMb-wrong"/, quotaMb);
  t.regex(await sent(it, `${page}/quota`, quota), /Disk quota saved[^]*quota 20 GB of its own/);
  t.like((await it.call('GET', '/v1/servers/castle')).json, { diskQuotaOverrideMb: '20480' });
  t.regex(JSON.stringify((await it.call('GET', '/v1/servers/castle/audit')).json), /20480 MB: A large <modpack>/);
  t.notRegex(await sent(it, `${page}/quota`, { ...quota, quotaMb: '' }), /of its own/);
  t.like((await it.call('GET', '/v1/servers/castle')).json, { diskQuotaOverrideMb: '0' });
  t.is((await it.submit(`${page}/quota`, quota, await it.browser('usr_other'))).status, 404);
});

test('an operator removes an orphan, invites someone, cancels the invitation, and sees the proxy', async (t) => {
  const it = await office(t);
  const folder = join(it.dataDir, 'servers', 'old-lobby');
  await mkdir(folder, { recursive: true });
  t.regex((await it.get('/operator/orphans')).text, /<code>old-lobby<\/code>/);
  t.regex(await sent(it, '/operator/orphans/remove', { kind: 'data', id: 'old-lobby', reason: '' }), /-reason-wrong/);
  t.regex(await sent(it, '/operator/orphans/remove', { kind: 'data', id: 'other', reason: 'x' }), /role="alert"/);
  await access(folder);
  const gone = await sent(it, '/operator/orphans/remove', { kind: 'data', id: 'old-lobby', reason: 'Left in 2024' });
  t.regex(gone, /Removed\.[^]*Nothing here/);
  await t.throwsAsync(access(folder));

  const invited = await sent(it, '/operator/accounts/invite', { email: 'steve@example.org' });
  t.regex(invited, /<code>http:\/\/127\.0\.0\.1:\d+\/sign-up\S+<\/code>/);
  t.is(it.letters.at(-1)?.to, 'steve@example.org');
  t.regex(await sent(it, '/operator/accounts/invite', { email: 'steve' }), /value="steve"/);
  const listed = (await it.get('/operator/accounts')).text;
  t.regex(listed, /Open invitations[^]*steve@example\.org[^]*Invited by <bdi>owner@example\.com/);
  const invitation = /name="invitation" value="(inv_\w+)"/.exec(listed)?.[1] ?? '';
  const other = await it.browser('usr_other');
  t.is((await it.submit('/operator/accounts/cancel-invitation', { invitation, reason: 'x' }, other)).status, 404);
  const unsaid = await sent(it, '/operator/accounts/cancel-invitation', { invitation, reason: '' });
  t.regex(unsaid, /-reason-wrong">is required[^]*Yes, cancel it/);
  const cancelled = await sent(it, '/operator/accounts/cancel-invitation', { invitation, reason: 'Wrong address' });
  t.regex(cancelled, /Invitation cancelled/);
  t.notRegex(cancelled, /Open invitations/);
  t.regex(
    await sent(it, '/operator/accounts/cancel-invitation', { invitation, reason: 'x' }),
    /There is no such invitation/,
  );
  t.regex((await it.get('/operator/proxies')).text, /edge[^]*0\.0\.0\.0:25565[^]*linked[^]*1\.0\.0\+abc/);
});

test('granting the operator role or a reset link needs a reason and a recent password', async (t) => {
  const it = await office(t);
  const access = (what: string, more: object = {}) =>
    sent(it, `${ACCOUNT}/access`, { do: what, reason: 'Helps me', ...more });
  t.regex(await access('make-operator', { reason: '' }), /id="access-reason-wrong">is required/);
  t.regex(await access('make-operator'), /This account is now an operator[^]*operator<\/span>/);
  t.regex((await it.get('/operator/accounts')).text, /acc_other[^]*operator<\/span>/);
  t.notRegex(await access('something else'), /no longer an operator/);
  t.regex(await access('end-operator'), /no longer an operator/);
  const own = { do: 'end-operator', reason: 'Enough' };
  t.regex(await sent(it, '/operator/accounts/acc_test/access', own), /role="alert">This is the only operator/);
  const made = await access('reset-link');
  t.regex(made, /<code>http:\S+\/sign-in\/new-password\?token=[\w-]{43}<\/code>/);
  t.is(it.letters.at(-1)?.to, 'stranger@example.com');
  t.notRegex((await it.get(ACCOUNT)).text, /name="password"/);
  await it.clock.advance(PASSWORD_FRESH_MS);
  t.regex((await it.get(ACCOUNT)).text, /name="password"/);
  t.regex(await access('make-operator'), /Enter your password again[^]*value="Helps me"/);
  t.regex(await access('make-operator', { password: 'wrong password' }), /This account has no password/);
  await it.store.write(async (tx) =>
    tx.run('UPDATE "users" SET "passwordHash" = $1 WHERE "id" = $2', [await hashPassword('correct horse'), 'usr_test']),
  );
  t.regex(await access('make-operator', { password: 'wrong password' }), /This is not your password/);
  t.regex(await access('make-operator', { password: 'correct horse' }), /This account is now an operator/);
});

test.runIf(isHere('chromium'))(
  'an app is registered, disabled and enabled on the operator page in a browser',
  async (t) => {
    const it = await office(t);
    const { page, complaints } = await it.open('/operator');
    await page.getByRole('link', { name: 'Apps' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Name').fill('My <launcher>');
    await page.keyboard.press('Tab');
    await page.keyboard.type('https://launcher.example/about');
    await page.keyboard.press('Enter');
    await page.getByText('App registered.').waitFor();
    t.regex(await page.innerText('.list'), /My <launcher>\s+client_id app_\w+[^]*launcher\.example/);
    await page.getByText('Disable…').click();
    await page.getByLabel('Reason').fill('It asks for passwords');
    await page.getByRole('button', { name: 'Yes, disable this app' }).click();
    await page.getByText('its tokens are refused').waitFor();
    const [told] = await it.store.query<{ through: string; detail: string }>(LAST_AUDIT, ['client.disable']);
    t.is(told?.through, 'session');
    t.regex(told?.detail ?? '', /^app_\w+ My <launcher>: It asks for passwords$/);
    t.is(Number((await it.store.query<{ n: number }>(DISABLED))[0]?.n), 1);
    await page.getByText('Enable…').click();
    await page.getByLabel('Reason').fill('A newer version does not');
    await page.getByRole('button', { name: 'Enable this app' }).click();
    await page.getByText('App enabled.').waitFor();
    t.deepEqual(complaints, []);
    t.is(Number((await it.store.query<{ n: number }>(DISABLED))[0]?.n), 0);
  },
);

test('the operator page warns about wrong settings and an undeliverable operator address', async (t) => {
  let trouble: string | undefined;
  const it = await openPanel(t, { entrance: { trouble: () => trouble } });
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  t.notRegex((await it.get('/operator')).text, /class="note/);
  trouble = 'DEFAULT_SERVER is <castel>.';
  t.regex((await it.get('/operator')).text, /<p class="note warn">DEFAULT_SERVER is &lt;castel&gt;\.<\/p>/);
  trouble = undefined;
  await it.store.write((tx) =>
    tx.run('UPDATE "users" SET "email" = $1 WHERE "id" = $2', ['operator@localhost', 'usr_test']),
  );
  t.regex((await it.get('/operator')).text, /e-mail you warnings[^]*href="\/profile"/);
});

for (const [name, context] of [
  ['a desktop', { viewport: { width: 1280, height: 900 } }],
  ['a phone', PHONE],
] as const)
  test.runIf(isHere('chromium'))(`the list of accounts narrows while its reader types, on ${name}`, async (t) => {
    const it = await office(t);
    const { page, complaints } = await it.open('/operator/accounts', context);
    const rows = page.locator('table.rows tbody tr');
    t.is(await rows.count(), 2);
    await accessible(t, page);
    await page.getByLabel('Search').fill('OTHER');
    await page.getByText('acc_test', { exact: true }).waitFor({ state: 'detached' });
    t.is(await rows.count(), 1);
    await page.getByLabel('Show', { exact: true }).selectOption('Operators');
    await page.getByText('No account matches.').waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    await accessible(t, page);
    t.deepEqual(complaints, []);
  });

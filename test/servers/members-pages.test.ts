import test from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const PAGE = '/servers/castle/members';
const FRIEND = 'stranger@example.com';

test('a member is invited, accepts, lands on the server, gets another role and is removed', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.stranger();
  const friend = await it.browser('usr_other');
  const members = async () => (await it.ok('GET', '/v1/servers/castle/members'))['members'] as Record<string, string>[];
  t.is((await it.submit(`${PAGE}/invite`, { email: ` ${FRIEND} `, role: 'limited' })).status, 303);
  t.regex((await it.get(PAGE)).text, /<h2>Invited<\/h2>/);
  const [invited] = await members();
  const accepted = await it.submit(
    '/profile/invitations',
    { invitation: invited?.['memberId'] ?? '', decision: 'accept' },
    friend,
  );
  t.is(accepted.headers.get('location'), '/servers/castle?done=joined');
  t.regex((await it.get('/servers/castle?done=joined', friend)).text, /You joined/);
  t.notRegex((await it.get(PAGE)).text, /<h2>Invited<\/h2>/);

  const member = invited?.['memberId'] ?? '';
  t.is((await it.submit(`${PAGE}/role`, { member, role: 'member' })).status, 303);
  t.like(await members(), [{ role: 'member' }]);
  t.is((await it.get(PAGE, friend)).status, 403);
  t.is((await it.submit(`${PAGE}/invite`, { email: 'more@example.com', role: 'member' }, friend)).status, 403);
  t.is((await it.submit(`${PAGE}/remove`, { member })).status, 303);
  t.deepEqual(await members(), []);
  t.is((await it.get('/servers/castle', friend)).status, 404);
});

test('the members page explains how to invite people without an account, with open and with closed sign-up', async (t) => {
  const open = await openPanel(t);
  await open.create('castle');
  t.regex((await open.get(PAGE)).text, /People without an account create one when they accept\./);
  const closed = await openPanel(t, { config: { signup: 'closed' } });
  await closed.create('castle');
  t.regex((await closed.get(PAGE)).text, /Sign-up is closed\. Ask your administrator to invite the address first/);
  await closed.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  t.regex(
    (await closed.get(PAGE)).text,
    /Sign-up is closed\. For people without an account,\s+<a href="\/operator\/accounts">create an invitation/,
  );
});

test.runIf(isHere('chromium'))('a member leaves a shared server after a confirmation, on a phone', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { name: 'The Castle' });
  t.notRegex((await it.get('/servers/castle')).text, /Leave…/, 'an owner cannot leave');
  await it.stranger();
  await it.share('castle', 'limited');
  const { page, complaints } = await it.open('/servers/castle', { ...PHONE, userId: 'usr_other' });
  await accessible(t, page);
  await page.locator('[popovertarget=pages]').tap();
  await page.getByRole('link', { name: 'Leave…' }).tap();
  await page.getByRole('heading', { name: 'Servers shared with you' }).waitFor();
  const leave = page.getByRole('button', { name: 'Yes, leave' });
  t.false(await leave.isVisible());
  await page.getByText('Leave…').tap();
  await accessible(t, page);
  await leave.tap();
  await page.getByText('You left the server.').waitFor();
  t.is(await page.getByRole('heading', { name: 'Servers shared with you' }).count(), 0);
  t.is((await it.get('/servers/castle', await it.browser('usr_other'))).status, 404);
  t.deepEqual((await it.ok('GET', '/v1/servers/castle/members'))['members'], []);
  const { entries } = (await it.ok('GET', '/v1/servers/castle/audit')) as { entries: { action: string }[] };
  t.is(entries[0]?.action, 'member.leave');
  t.deepEqual(complaints, []);
});

test('an invalid e-mail address is refused and kept in the invitation form', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const refused = await it.submit(`${PAGE}/invite`, { email: 'nobody', role: 'member' });
  t.is(refused.status, 400);
  const page = await refused.text();
  t.regex(page, /id="invite-email"[^>]*aria-invalid="true"[^>]*value="nobody"/);
  t.regex(page, /value="member" checked/);
  t.is((await it.submit(`${PAGE}/invite`, { email: FRIEND, role: 'member', csrf: 'forged' })).status, 403);
});

test.runIf(isHere('chromium'))(
  `the members page is accessible in dark mode and usable by keyboard on a phone`,
  async (t) => {
    const it = await openPanel(t);
    await it.create('castle');
    await it.stranger();
    await it.share('castle', 'member');
    const { page, complaints } = await it.open(PAGE, { ...PHONE, colorScheme: 'dark' });
    await page.getByLabel('E-mail address').fill('friend@example.com');
    await page.keyboard.press('Enter');
    await page.getByText('Invitation sent.').waitFor();
    await page.getByRole('heading', { name: 'friend@example.com' }).waitFor();
    await accessible(t, page);
    t.deepEqual(complaints, []);
  },
);

import test from 'ava';
import { closeBrowser, openTab } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, legibleInTheDark, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const PAGE = '/servers/castle/members';
const FRIEND = 'stranger@example.com';

test('a member is invited, accepts, lands on the server, gets another role and is removed', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.stranger();
  const friend = await it.browser('usr_other');
  const members = async () => (await it.ok('GET', '/v1/servers/castle/members'))['members'] as Record<string, string>[];
  t.is((await it.submit(`${PAGE}/invite`, { email: ` ${FRIEND} `, role: 'limited' })).status, 200);
  t.regex((await it.get('/servers', friend)).text, /Invitations to you/);
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

test('the members page says whether a link creates an account, with open and with closed sign-up', async (t) => {
  const open = await openPanel(t);
  await open.create('castle');
  t.regex((await open.get(PAGE)).text, /It also creates an account for people without one\./);
  const closed = await openPanel(t, { config: { signup: 'closed' } });
  await closed.create('castle');
  t.regex(
    (await closed.get(PAGE)).text,
    /Sign-up is closed: people without an account ask your administrator for one\./,
  );
  await closed.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  t.regex((await closed.get(PAGE)).text, /It also creates an account for people without one\./);
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
    await page.getByRole('heading', { name: 'Your invitation link' }).waitFor();
    await page.getByRole('heading', { name: 'friend@example.com' }).waitFor();
    await accessible(t, page);
    t.deepEqual(complaints, []);
  },
);

test.runIf(isHere('chromium'))(
  'with closed sign-up, an operator’s friend joins by a link: three clicks for the owner, three for the friend',
  async (t) => {
    const it = await openPanel(t, { config: { signup: 'closed' } });
    await it.create('castle', { name: 'The Castle' });
    await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [true, 'usr_test']));
    const owner = await it.open('/servers/castle');
    await owner.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await owner.page.getByRole('link', { name: 'Members' }).click();
    await owner.page.getByRole('button', { name: 'Create a link' }).click();
    await owner.page.getByRole('button', { name: 'Copy the invitation link' }).click();
    const link = await owner.page.evaluate<string>('navigator.clipboard.readText()');
    await accessible(t, owner.page);
    await legibleInTheDark(t, owner.page);

    const friend = await openTab(t, PHONE);
    await friend.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await friend.page.goto(it.origin + new URL(link).pathname + new URL(link).search);
    await accessible(t, friend.page);
    await friend.page.getByLabel('E-mail address').fill('friend@example.com');
    await friend.page.getByLabel('Choose a password').fill('correct horse');
    await friend.page.getByRole('button', { name: 'Create an account and join' }).tap();
    await friend.page.getByText('You joined.').waitFor();
    await friend.page.getByRole('button', { name: 'Copy the address' }).first().tap();
    t.regex(await friend.page.evaluate<string>('navigator.clipboard.readText()'), /^castle\./);
    await accessible(t, friend.page);
    t.deepEqual([...owner.complaints, ...friend.complaints], []);
  },
);

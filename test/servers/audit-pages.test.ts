import test from 'ava';
import { auditWords } from '../../src/audit/words.ts';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const PAGE = '/servers/castle/audit';

test('an audit entry shows its actor, action and channel in words', (t) => {
  const me = { userId: 'usr_me', emails: new Map([['usr_friend', 'a@b.example']]) };
  const of = (detail: string, fields: { userId?: string; action?: string } = {}) => {
    const entry = { accountId: 'acc', userId: '', action: 'server.start', createdAt: '', ...fields };
    const { who, what, through, detail: rest } = auditWords({ ...entry, detail }, me);
    return [who, what, through, rest];
  };
  t.deepEqual(of('session; hibernated → starting', { userId: 'usr_me' }), [
    'You',
    'started it',
    'in the panel',
    'hibernated → starting',
  ]);
  t.deepEqual(of('session', { userId: 'usr_friend' }), ['a@b.example', 'started it', 'in the panel', '']);
  t.deepEqual(of('key key_1', { userId: 'usr_x' }), ['Someone else', 'started it', 'with the API key key_1', '']);
  t.deepEqual(of('player Steve; a → b', { action: 'server.wake' }), [
    'Steve',
    'woke it by joining',
    'in the game',
    'a → b',
  ]);
  t.deepEqual(of('system idle', { action: 'server.stop' }), ['Dormouse', 'stopped it', 'no players online', '']);
  t.deepEqual(of('operator; too loud', { action: 'server.suspend', userId: 'usr_x' }), [
    'The operator',
    'suspended it',
    'as the operator',
    'too loud',
  ]);
  t.deepEqual(of('session', { action: 'something.new', userId: 'usr_me' })[1], 'something.new');
});

test('a server’s audit log is paged and shows members’ addresses to the owner only', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.stranger();
  await it.share('castle', 'member');
  const member = await it.browser('usr_other');
  for (let nth = 1; nth <= 60; nth++)
    await it.submit('/servers/castle/settings/name', { name: `Castle ${nth}` }, member);
  const owners = (await it.get(PAGE)).text;
  t.is(owners.split('changed settings').length - 1, 50);
  t.regex(owners, /stranger@example\.com/);
  t.regex(owners, /in the panel/);
  t.regex(owners, /\?page=2">Older/);
  const older = (await it.get(`${PAGE}?page=2`)).text;
  t.is(older.split('changed settings').length - 1, 10);
  t.regex(older, /\?page=1">Newer/);
  t.is((await it.get(`${PAGE}?page=1e9`)).status, 200);
  const own = (await it.get(PAGE, member)).text;
  t.notRegex(own, /stranger@example\.com/);
  t.regex(own, /<bdi>You<\/bdi>/);
  t.is((await it.get('/servers/nowhere/audit')).status, 404);
});

test.runIf(isHere('chromium'))(`the audit logs of a server and an account are accessible in dark mode`, async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.submit('/servers/castle/members/invite', { email: 'friend@example.com', role: 'limited' });
  const { page, complaints } = await it.open(PAGE, { ...PHONE, colorScheme: 'dark' });
  await accessible(t, page);
  await page.goto(`${it.origin}/profile`);
  await page.locator('[popovertarget=pages]').click();
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page.getByText('invited', { exact: false }).first().waitFor();
  await accessible(t, page);
  t.deepEqual(complaints, []);
});

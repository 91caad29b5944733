import test from 'ava';
import { recordAudit } from '../../src/audit/audit.ts';
import { auditWords } from '../../src/audit/words.ts';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const PAGE = '/servers/castle/audit';

test('an audit entry shows its actor, action and channel in words', (t) => {
  const me = { userId: 'usr_me', emails: new Map([['usr_friend', 'a@b.example']]) };
  const of = (by: string, fields: { userId?: string; action?: string; detail?: string } = {}) => {
    const entry = { userId: '', through: by, action: 'server.start', detail: '', ...fields };
    const { who, what, through, detail } = auditWords(entry, me);
    return [who, what, through, detail];
  };
  t.deepEqual(of('session', { userId: 'usr_me', detail: 'hibernated → starting' }), [
    'You',
    'started it',
    'in the panel',
    'hibernated → starting',
  ]);
  t.deepEqual(of('session', { userId: 'usr_friend' }), ['a@b.example', 'started it', 'in the panel', '']);
  t.deepEqual(of('key key_1', { userId: 'usr_x' }), ['Someone else', 'started it', 'with the API key key_1', '']);
  t.deepEqual(of('player Steve', { action: 'server.wake', detail: 'a → b' }), [
    'Steve',
    'woke it by joining',
    'in the game',
    'a → b',
  ]);
  t.deepEqual(of('system idle', { action: 'server.stop' }), ['Dormouse', 'stopped it', 'no players online', '']);
  t.deepEqual(of('operator', { action: 'server.suspend', userId: 'usr_x', detail: 'too loud' }), [
    'The operator',
    'suspended it',
    'as the operator',
    'too loud',
  ]);
  t.deepEqual(of('session', { action: 'something.new', userId: 'usr_me' })[1], 'something.new');
});

test('a server’s audit log is paged, groups entries, and shows members’ addresses to the owner only', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.stranger();
  await it.share('castle', 'member');
  const member = await it.browser('usr_other');
  const rename = (nth: number, browser = member) =>
    it.submit('/servers/castle/settings/name', { name: `Castle ${nth}` }, browser);
  for (let nth = 1; nth <= 4; nth++) await rename(nth);
  const grouped = (await it.get(PAGE)).text;
  t.regex(grouped, /<summary><bdi>changed settings, 4 times<\/bdi><\/summary>/);
  t.regex(grouped, /stranger@example\.com/);
  t.regex(grouped, /in the panel/);
  for (let nth = 1; nth <= 28; nth++) {
    await rename(nth);
    await rename(nth, it.owner);
  }
  const owners = (await it.get(PAGE)).text;
  t.is(owners.split('>changed settings').length - 1, 50);
  const older = /href="(\/servers\/castle\/audit\?after=aud_\w+)">Older/.exec(owners)?.[1] ?? '';
  const rest = (await it.get(older)).text;
  t.is(rest.split('>changed settings<').length - 1, 5);
  t.regex(rest, /changed settings, 5 times/);
  t.regex(rest, /href="\/servers\/castle\/audit">Newest/);
  t.notRegex(rest, />Older/);
  t.is((await it.get(`${PAGE}?after=nothing&actor=%00&action=x`)).status, 200);
  const own = (await it.get(PAGE, member)).text;
  t.notRegex(own, /stranger@example\.com/);
  t.regex(own, /<bdi>You<\/bdi>/);
  t.is((await it.get('/servers/nowhere/audit')).status, 404);
});

test('a page of long groups stays below 60 KB', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  for (let nth = 0; nth < 210; nth++) {
    const path = `plugins/with-a-long-name-${nth}.jar`;
    const entry = {
      action: 'file.upload',
      accountId: 'acc_test',
      serverId: 'castle',
      detail: path,
      at: it.clock.now(),
    };
    await it.store.write((tx) => recordAudit(tx, { userId: 'usr_test', through: 'session' }, entry));
  }
  const { text } = await it.get(PAGE);
  t.regex(text, /uploaded 200 files to plugins/);
  t.regex(text, />Older/);
  t.true(text.length < 60_000, `${text.length}`);
});

for (const [name, context] of [
  ['a desktop', { viewport: { width: 1280, height: 900 } }],
  ['a phone', PHONE],
] as const)
  test.runIf(isHere('chromium'))(`the audit log narrows while its reader types, on ${name}`, async (t) => {
    const it = await openPanel(t);
    await it.create('castle');
    for (const path of ['plugins/a.jar', 'plugins/b.jar', 'plugins/c.jar', 'notes.txt'])
      await it.ok('POST', '/v1/servers/castle/file:mkdir', { path });
    const { page, complaints } = await it.open(PAGE, context);
    await accessible(t, page);
    await page.locator('summary', { hasText: 'created 3 folders in plugins' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('plugins/b.jar').waitFor();
    await page.getByLabel('Search').fill('NOTES');
    await page.getByText('created 3 folders in plugins').waitFor({ state: 'detached' });
    await page.getByText('notes.txt').waitFor();
    t.is(await page.locator('table.rows tbody tr').count(), 1);
    await page.getByLabel('Who').selectOption('Players');
    await page.getByText('No entry matches.').waitFor();
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.getByText('created 3 folders in plugins').waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    await accessible(t, page);
    t.deepEqual(complaints, []);
  });

test.runIf(isHere('chromium'))('the audit log is filtered without JavaScript', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.ok('POST', '/v1/servers/castle/file:mkdir', { path: 'plugins' });
  const { page } = await it.open(PAGE, { javaScriptEnabled: false });
  await page.getByLabel('What').selectOption('Files');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByText('created a folder').waitFor();
  t.is(await page.locator('table.rows tbody tr').count(), 1);
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

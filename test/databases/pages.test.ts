import test from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const PAGE = '/servers/castle/database';

test('a database is made, its password shown only when asked for, changed, and all of it deleted', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const database = () => it.ok('GET', '/v1/servers/castle/database');
  const text = async (form: string) => (await it.submit(`${PAGE}/${form}`)).text();
  t.regex((await it.get(PAGE)).text, /Create database/);
  const made = await text('create');
  const { dbPassword, dbName } = (await database()) as Record<string, string>;
  t.true(made.includes(dbPassword ?? '?'));
  const page = (await it.get(PAGE)).text;
  t.true(page.includes(dbName ?? '?'));
  t.false(page.includes(dbPassword ?? ''));
  t.true((await text('show')).includes(dbPassword ?? '?'));
  const rotated = await text('rotate');
  t.false(rotated.includes(dbPassword ?? ''));
  t.true(rotated.includes((await database())['dbPassword'] as string));

  await it.stranger();
  await it.share('castle', 'member');
  const member = await it.browser('usr_other');
  const shown = await (await it.submit(`${PAGE}/show`, {}, member)).text();
  t.false(shown.includes((await database())['dbPassword'] as string));
  t.is((await it.submit(`${PAGE}/rotate`, {}, member)).status, 403);
  t.is((await it.submit(`${PAGE}/drop`, { csrf: 'forged' })).status, 403);
  t.is((await it.submit(`${PAGE}/drop`)).status, 303);
  t.is((await database())['present'], false);
});

test('where there is no MySQL the page says so, and offers none', async (t) => {
  const it = await openPanel(t, { databases: null });
  await it.create('castle');
  const page = await it.get(PAGE);
  t.is(page.status, 200);
  t.regex(page.text, /MySQL is not set up here/);
  t.notRegex(page.text, /database\/create/);
});

test.runIf(isHere('chromium'))(
  `the page of a database, in the dark: a person makes and deletes one, nothing keeps anybody out`,
  async (t) => {
    const it = await openPanel(t);
    await it.create('castle');
    const { page, complaints } = await it.open(PAGE, { ...PHONE, colorScheme: 'dark' });
    await page.getByRole('button', { name: 'Create database' }).click();
    await page.getByRole('heading', { name: 'The password' }).waitFor();
    await accessible(t, page);
    await page.locator('summary', { hasText: 'Delete the database' }).click();
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await page.getByText('No database yet.').waitFor();
    t.is(await page.getByRole('heading', { name: 'The password' }).count(), 0);
    await accessible(t, page);
    t.deepEqual(complaints, []);
  },
);

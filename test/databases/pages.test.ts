import test from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const PAGE = '/servers/castle/database';

test('the database page creates and deletes a database, and reveals its password only to the owner on request', async (t) => {
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

test('without MySQL the database page says so and offers no database', async (t) => {
  const it = await openPanel(t, { databases: null });
  await it.create('castle');
  const page = await it.get(PAGE);
  t.is(page.status, 200);
  t.regex(page.text, /MySQL is not set up here/);
  t.notRegex(page.text, /database\/create/);
});

test.runIf(isHere('chromium'))(
  `the database page is accessible in dark mode on a phone, with and without a database`,
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

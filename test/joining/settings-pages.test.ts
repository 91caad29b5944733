import test from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const TOP = '/servers/castle/settings';

test('the joining page saves the wake policy, the player texts and the waiting room by separate forms', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const save = async (form: string, fields: Record<string, string>) =>
    (await it.submit(`${TOP}/joining/${form}`, fields)).status;
  const policy = () => it.ok('POST', '/v1/servers/castle:setWakePolicy', {});
  t.is(await save('policy', { mode: 'known', maxWakesPerDay: '20' }), 303);
  t.is(await save('maintenance', { maintenanceText: 'Back\r\nat eight' }), 303);
  t.is(await save('asleep', { asleepMotd: '<gray>Shh' }), 303);
  const saved = { mode: 'known', maxWakesPerDay: 20, maintenanceText: 'Back\nat eight', asleepMotd: '<gray>Shh' };
  t.deepEqual(await policy(), saved);
  t.is(await save('clients', { clientVersions: 'any' }), 303);
  t.is((await it.ok('GET', '/v1/servers/castle'))['clientVersions'], 'any');
  t.is(await save('clients', { clientVersions: 'some' }), 400);
  t.is(await save('room', { waitingRoom: 'true' }), 303);
  t.is((await it.ok('GET', '/v1/servers/castle'))['waitingRoom'], true);
  t.is(await save('room', {}), 303);
  t.is((await it.ok('GET', '/v1/servers/castle'))['waitingRoom'], false);

  const refused = await it.submit(`${TOP}/joining/policy`, { mode: 'whoever', maxWakesPerDay: '99999' });
  t.is(refused.status, 400);
  t.regex(await refused.text(), /id="policy-maxWakesPerDay"[^>]*aria-invalid="true"[^>]*value="99999"/);
  t.deepEqual(await policy(), saved);
  const page = (await it.get(`${TOP}/joining`)).text;
  t.regex(page, /value="known" checked/);
  t.regex(page, /Joining doesn’t wake the server/);
});

test('the settings show and hide the public page with its link and badge, and limited access gets 403', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  t.notRegex((await it.get(`${TOP}/public`)).text, /badge\.svg/);
  await it.submit(`${TOP}/public/save`, { enabled: 'true' });
  const { publicSlug } = await it.ok('GET', '/v1/servers/castle');
  const page = (await it.get(`${TOP}/public`)).text;
  t.true(page.includes(`href="/status/${publicSlug as string}">${it.origin}/status/${publicSlug as string}</a>`));
  t.like(await it.ok('GET', '/v1/servers/castle'), { publicStatusEnabled: true, publicShowAddress: false });
  await it.submit(`${TOP}/public/save`, {});
  t.like(await it.ok('GET', '/v1/servers/castle'), { publicStatusEnabled: false });

  await it.stranger();
  await it.share('castle', 'limited');
  const guest = await it.browser('usr_other');
  for (const path of ['/public', '/joining']) t.is((await it.get(TOP + path, guest)).status, 403, path);
  t.is((await it.submit(`${TOP}/public/save`, { enabled: 'true' }, guest)).status, 403);
});

test.runIf(isHere('chromium'))(
  `the joining and public page settings work by keyboard in dark mode on a phone`,
  async (t) => {
    const it = await openPanel(t);
    await it.create('castle');
    await it.ok('POST', '/v1/servers/castle:setWakePolicy', { maintenanceText: '<gold>Back at eight' });
    const { page, complaints } = await it.open(`${TOP}/joining`, { ...PHONE, colorScheme: 'dark' });
    await accessible(t, page);
    await page.getByLabel('Anyone who isn’t banned').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByText('Saved.').waitFor();
    t.like(await it.ok('POST', '/v1/servers/castle:setWakePolicy', {}), { mode: 'known' });
    await page.getByRole('link', { name: 'Public page' }).click();
    await page.getByLabel('Show the public page').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByAltText('Current badge').waitFor();
    await accessible(t, page);
    t.deepEqual(complaints, []);
  },
);

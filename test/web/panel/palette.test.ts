import test from 'ava';
import { closeBrowser } from '../../support/browser.ts';
import { isHere } from '../../support/needs.ts';
import { PHONE, accessible, legibleInTheDark, openPanel } from '../../support/panel.ts';

test.after.always(closeBrowser);

test.runIf(isHere('chromium'))('Ctrl K finds pages, servers and actions by keyboard alone', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.create('lobby', { name: 'The <i>Lobby</i>' });
  const { page, complaints } = await it.open('/servers/castle');
  const finder = page.getByRole('combobox', { name: 'Server, page or action' });
  t.is(await finder.count(), 0);
  const find = async (text: string, option: string) => {
    await page.keyboard.press('Control+k');
    await finder.waitFor();
    await page.keyboard.type(text);
    await page.getByRole('option', { name: option, selected: true }).waitFor();
  };
  await find('', 'Start action');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowDown');
  await page.getByRole('option', { name: 'Start action', selected: true }).waitFor();
  await accessible(t, page);
  await page.keyboard.press('Escape');
  t.false(await finder.isVisible());

  await find('lobby', 'The <i>Lobby</i> server lobby');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/servers/lobby');
  await find('console', 'Console');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/servers/lobby/console');
  await page.keyboard.press('Control+k');
  await finder.waitFor();
  await page.keyboard.type('no such thing');
  await page.getByText('No matches.').waitFor();
  await page.keyboard.press('Escape');

  await find('start', 'Start action');
  await page.keyboard.press('Enter');
  await it.reach('lobby', 'running');
  t.deepEqual(complaints, []);
});

test.runIf(isHere('chromium'))('the list of Ctrl K fits a phone in the dark, and a tap opens an entry', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const { page, complaints } = await it.open('/servers/castle', { ...PHONE, colorScheme: 'dark' });
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'Players' }).waitFor();
  await accessible(t, page);
  await legibleInTheDark(t, page);
  await page.getByRole('option', { name: 'Players' }).tap();
  await page.waitForURL('**/servers/castle/players');
  t.deepEqual(complaints, []);
});

test.runIf(isHere('chromium'))('the key / goes to the command line, and stays a character in fields', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  const { page, complaints } = await it.open('/servers/castle/console');
  const line = page.locator('.command input[type=text]');
  await line.waitFor();
  await page.locator('h1').click();
  await page.keyboard.press('/');
  await page.keyboard.type('say 1/2');
  t.is(await line.inputValue(), 'say 1/2');
  t.deepEqual(complaints, []);
});

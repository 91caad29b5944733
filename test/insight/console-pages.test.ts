import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, type PanelUnderTest, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const AT = '/servers/castle/console';
const INFO = '[12:00:00] [Server thread/INFO]: ';
const ERROR = '[12:00:02] [Server thread/ERROR]: ';
const WARN = '[12:00:01] [Server thread/WARN]: ';

/** A sleeping or awake server that has printed a few lines. */
async function castle(t: ExecutionContext, { awake = false, says = 'All is well.' } = {}): Promise<PanelUnderTest> {
  const it = await openPanel(t, { console: { run: async (_, __, command) => (command === 'list' ? says : '') } });
  await it.create('castle');
  if (awake) {
    await it.command('castle', 'START');
    await it.reach('castle', 'running');
  }
  it.engine.print('castle', `${INFO}\u001B[32mgreen\u001B[0m <b>`, `${WARN}slow`, '\tat no.Such(Class)');
  return it;
}

test('the console page shows the log in colours with warnings marked and markup escaped, and can search it', async (t) => {
  const it = await castle(t);
  const { text } = await it.get(AT);
  t.regex(text, /Asleep\. Log of the last run/);
  t.regex(text, /<span class="c2">green<\/span>/);
  t.regex(text, /&lt;b&gt;/);
  t.is(text.match(/<p class="warn">/g)?.length, 2, 'the warning and its stack trace');
  const found = (await it.get(`${AT}?find=SLOW`)).text;
  t.regex(found, /slow/);
  t.notRegex(found, /green/);
  t.regex((await it.get(`${AT}?find=${encodeURIComponent('"><script>')}`)).text, /No matches/);
  it.engine.away();
  t.regex((await it.get(AT)).text, /The log cannot be read now/);
});

test('a name in the log leads to the forms that kick, ban or promote the player', async (t) => {
  const it = await castle(t);
  it.engine.print('castle', `${INFO}Steve joined the game`);
  const [, href = ''] = /href="([^"]*)">Steve<\/a>/.exec((await it.get(AT)).text) ?? [];
  t.is(href, '/servers/castle/players?player=Steve');
  t.is((await it.get(href)).text.match(/name="name"[^>]*value="Steve"/g)?.length, 3, 'whitelist, operators and bans');
});

test('a stack trace in the log leads to a page that explains the error', async (t) => {
  const it = await castle(t);
  const trace = ['\tat a.B.c(D.java:1) ~[Warps-2.4.jar:?]', 'Caused by: x.Y', '\tat a.B.d(D.java:2)'];
  it.engine.print(
    'castle',
    `${ERROR}Could not tick <b> & "c"`,
    'java.lang.OutOfMemoryError: Java heap space',
    ...trace,
  );
  it.engine.print('castle', `${ERROR}Other`, 'a.b.SomeException: x', ...trace, `${INFO}on it goes`);
  const { text } = await it.get(AT);
  const links = [...text.matchAll(/href="([^"]*console\/error\?line=[^"]*)"/g)].map(([, href = '']) => href);
  t.is(links.length, 3, 'each trace has one, also that of the warning');
  const [, memory = '', other = ''] = links;
  const explained = (await it.get(memory)).text;
  t.regex(explained, /Out of memory/);
  t.regex(explained, /href="\/servers\/castle\/settings">Give it more RAM/);
  t.regex(explained, /Could not tick &lt;b&gt; &amp; /);
  t.notRegex(explained, /SomeException|on it goes/);
  for (const page of [other, `${AT}/error`]) {
    const unknown = (await it.get(page)).text;
    t.regex(unknown, /The error comes from <strong>Warps-2\.4\.jar<\/strong>/);
    t.regex(unknown, /SomeException/);
  }
  t.regex((await it.get(`${AT}/error?line=gone`)).text, /This error is no longer among/);
  // The address of the page cuts the line in the middle of a character.
  it.engine.print('castle', ERROR.padEnd(499, 'x') + '😀', ...trace);
  const cut = await it.get(AT);
  t.is(cut.status, 200);
  const [href = ''] = /\/servers\/castle\/console\/error\?line=[^"]*xxx[^"]*/.exec(cut.text) ?? [];
  t.regex((await it.get(href)).text, /Dormouse does not know this error[^]*xxx/);
  await it.stranger();
  t.is((await it.get(`${AT}/error`, await it.browser('usr_other'))).status, 404);
});

test('the console page runs a command and shows its reply, or keeps a command that cannot run', async (t) => {
  const it = await castle(t, { says: 'There are <0> players\n§aline two' });
  const send = (command: string, browser?: typeof it.owner) => it.submit(`${AT}/command`, { command }, browser);
  const asleep = await send('say <hello>');
  t.is(asleep.status, 400);
  const refused = await asleep.text();
  t.regex(refused, /role="alert"/);
  t.regex(refused, /value="say &lt;hello&gt;"/);
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  const done = await (await send('list')).text();
  t.regex(done, /There are &lt;0&gt; players/);
  t.regex(done, /<span class="c10">line two<\/span>/);
  t.regex(await (await send('save-all')).text(), /\(no output\)/);
  t.is((await it.submit(`${AT}/command`, { command: 'list', csrf: 'forged' })).status, 403);

  await it.stranger();
  await it.share('castle', 'limited');
  const limited = await it.browser('usr_other');
  const page = (await it.get(AT, limited)).text;
  t.regex(page, /green/, 'a limited member may read the log');
  t.notRegex(page, /name="command"/);
  t.is((await send('list', limited)).status, 403);
});

test('the console page lists earlier logs newest first and lets the owner download the current one', async (t) => {
  const it = await castle(t);
  const folder = join(it.dataDir, 'servers/castle/logs');
  await mkdir(folder, { recursive: true });
  for (const day of ['2026-11-09-1', '2026-11-10-2', '2026-11-10-10']) {
    await writeFile(join(folder, `${day}.log.gz`), gzipSync(`${INFO}that was ${day}\n`));
  }
  await writeFile(join(folder, 'latest.log'), '');
  const { text } = await it.get(AT);
  t.deepEqual(
    [...text.matchAll(/<span>(2026[\d-]+)<\/span>/g)].map(([, day]) => day),
    ['2026-11-10-10', '2026-11-10-2', '2026-11-09-1'],
  );
  const whole = await it.owner.call('GET', '/servers/castle/console/log');
  t.is(whole.text, `${INFO}green <b>\n${WARN}slow\n\tat no.Such(Class)\n`);
  t.regex(whole.headers.get('content-disposition') ?? '', /castle\.log/);
  await it.stranger();
  await it.share('castle', 'limited');
  t.notRegex((await it.get(AT, await it.browser('usr_other'))).text, /Earlier runs/);
});

test.runIf(isHere('chromium'))(
  'the console follows bursts of thousands of lines, and can filter, pause and resume',
  async (t) => {
    const it = await castle(t, { awake: true });
    const { page, complaints } = await it.open(AT);
    const log = page.locator('#log');
    await log.getByText('slow').waitFor();
    for (let burst = 0; burst < 6; burst += 1) {
      it.engine.print('castle', ...Array.from({ length: 1_000 }, (_, nth) => `${INFO}burst ${burst} line ${nth}`));
      await log.getByText(`burst ${burst} line 999`).waitFor();
    }
    t.is(await page.evaluate('document.querySelector("#log > div").childElementCount'), 5_000);

    await page.getByLabel('Only warnings').check();
    await page.getByText('0 of 5000 lines').waitFor();
    it.engine.print('castle', `${WARN}low on room`);
    await log.getByText('low on room').waitFor();
    t.is(await log.locator('p:visible').count(), 1);
    await page.getByLabel('Only warnings').uncheck();
    await page.getByLabel('Find').fill('BURST 5 line 77');
    await page.getByText('11 of 5000 lines').waitFor();
    await page.getByLabel('Find').fill('');

    await page.getByRole('button', { name: 'Pause' }).click();
    it.engine.print('castle', `${INFO}while nobody looked`);
    await page.getByText('1 new line').waitFor();
    t.is(await log.getByText('while nobody looked').count(), 0);
    await page.getByRole('button', { name: 'Jump to the newest' }).click();
    await log.getByText('while nobody looked').waitFor();
    // A stack trace may arrive later than its message.
    it.engine.print('castle', 'a.b.SomeException: x');
    await log.getByText('SomeException').waitFor();
    t.is(await log.locator('.explain').count(), 0);
    it.engine.print('castle', '\tat no.Such(Class)', '\tat no.Other(Class)');
    await log.locator('.explain').waitFor();
    t.is(await log.locator('.explain').count(), 1);
    t.regex(String(await log.locator('.explain').getAttribute('href')), /error\?line=a\.b\.SomeException%3A%20x$/);

    // After a restart of the game, the old lines stay and the new ones follow, each once.
    await it.command('castle', 'STOP');
    await it.reach('castle', 'hibernated');
    await page.getByText('Asleep. Log of').waitFor();
    it.engine.script('castle', { print: [`${INFO}good morning`] });
    await it.command('castle', 'START');
    await it.reach('castle', 'running');
    await log.getByText('good morning').waitFor();
    t.is(await log.getByText('while nobody looked').count(), 1);
    t.deepEqual(complaints, []);
  },
);

test.runIf(isHere('chromium'))(
  'a stream that repeats lines of the page shows each once, however slowly they arrive',
  async (t) => {
    const it = await castle(t, { awake: true });
    const { page } = await it.open(AT);
    await page.clock.install();
    await page.addInitScript(`
      window.streams = [];
      window.EventSource = class extends EventTarget {
        constructor(url) { super(); if (url.includes('/logs/')) window.streams.push(this); }
        close() {}
      };`);
    await page.reload();
    const happens = (name: string, ...lines: string[]) =>
      page.evaluate(`{
        const stream = window.streams.at(-1);
        for (const data of ${JSON.stringify(lines)}) stream.dispatchEvent(new MessageEvent('message', { data }));
        if (${JSON.stringify(name)} !== 'message') stream.dispatchEvent(new Event(${JSON.stringify(name)}));
      }`);
    const shown = () => page.locator('#log p').allTextContents();
    await happens('open');
    await happens('message', 'one', 'two', 'three');
    await page.clock.runFor(1_000);
    t.deepEqual(await shown(), ['one', 'two', 'three']);
    await happens('error');
    await page.evaluate(`document.dispatchEvent(new Event('dormouse:renewed'))`);
    t.is(await page.evaluate('window.streams.length'), 2);
    await happens('open');
    await page.clock.runFor(1_000);
    await happens('message', 'one', 'two');
    await page.clock.runFor(1_000);
    await happens('message', 'three', 'four');
    await page.clock.runFor(1_000);
    t.deepEqual(await shown(), ['one', 'two', 'three', 'four']);
  },
);

test.runIf(isHere('chromium'))(
  'console commands work by keyboard alone, with replies and arrow-key history',
  async (t) => {
    const it = await castle(t, { awake: true });
    const { page } = await it.open(AT);
    const log = page.locator('#log');
    await log.getByText('slow').waitFor();
    await page.getByLabel('Command').focus();
    await page.keyboard.type('list');
    await page.keyboard.press('Enter');
    await log.getByText('> list').waitFor();
    await log.getByText('All is well.').waitFor();
    t.true(await log.getByText('slow').isVisible(), 'the earlier log lines stay');
    await page.keyboard.type('say hi');
    await page.keyboard.press('Enter');
    await log.getByText('(no output)').waitFor();
    await page.keyboard.type('dra');
    for (const key of ['ArrowUp', 'ArrowUp', 'ArrowUp']) await page.keyboard.press(key);
    t.is(await page.getByLabel('Command').inputValue(), 'list');
    for (const key of ['ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
    t.is(await page.getByLabel('Command').inputValue(), 'dra');
    await it.command('castle', 'STOP');
    await it.reach('castle', 'hibernated');
    await page.keyboard.press('Enter');
    await log.locator('.error').waitFor();
    t.is(await page.getByLabel('Command').inputValue(), 'dra', 'a refused command is kept');
  },
);

test.runIf(isHere('chromium'))(
  'Tab completes commands and players’ names in turn, and then moves the focus as elsewhere',
  async (t) => {
    const it = await castle(t);
    await it.ok('POST', '/v1/servers/castle/players:setWhitelist', { name: 'Stella', allowed: true });
    await it.ok('POST', '/v1/servers/castle/players:setWhitelist', { name: 'Steve', allowed: true });
    const { page } = await it.open(AT);
    const line = page.getByLabel('Command');
    await line.fill('gam');
    const values: string[] = [];
    for (let press = 0; press < 3; press += 1) {
      await page.keyboard.press('Tab');
      values.push(await line.inputValue());
    }
    t.deepEqual(values, ['gamemode', 'gamerule', 'gam']);
    t.is(await page.evaluate('document.activeElement.textContent.trim()'), 'Run', 'nothing else begins with it');
    await line.fill('/kick st');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    t.is(await line.inputValue(), '/kick Steve');
    await line.fill('kick Nobody');
    await page.keyboard.press('Tab');
    t.is(await page.evaluate('document.activeElement.textContent.trim()'), 'Run');
  },
);

test.runIf(isHere('chromium'))('the console opens an earlier log and returns to the live one', async (t) => {
  const it = await castle(t);
  const folder = join(it.dataDir, 'servers/castle/logs');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, '2026-11-10-1.log.gz'), gzipSync(`${INFO}long ago\n`));
  const { page } = await it.open(AT);
  await page.getByRole('button', { name: 'Read 2026-11-10' }).click();
  await page.locator('#log').getByText('long ago').waitFor();
  t.is(await page.locator('#log').getByText('slow').count(), 0);
  await page.getByRole('button', { name: 'Back to the live log' }).click();
  await page.locator('#log').getByText('slow').waitFor();
});

test.runIf(isHere('chromium'))(`the console is accessible in dark mode on a phone`, async (t) => {
  const it = await castle(t, { awake: true });
  it.engine.print('castle', ...Array.from({ length: 16 }, (_, nth) => `\u001B[38;5;${nth}mcolour ${nth}`));
  it.engine.print('castle', '[12:00:00] [main/ERROR]: broken', `${INFO}<Steve> hello`);
  const { page } = await it.open(AT, { ...PHONE, colorScheme: 'dark' });
  await page.locator('#log').getByText('broken').waitFor();
  await accessible(t, page);
  await it.command('castle', 'STOP');
  await it.reach('castle', 'hibernated');
  await page.getByText('Asleep. Log of').waitFor();
  await accessible(t, page);
  await page.locator('#log').getByText('Steve').click();
  await page.getByRole('heading', { name: 'Banned players' }).waitFor();
});

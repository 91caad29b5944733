import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const PAGE = '/servers/castle/players';

/** A sleeping server `castle` and its files. */
async function players(t: ExecutionContext, run?: (command: string) => Promise<string>) {
  const it = await openPanel(t, run && { console: { run: (_address, _password, command) => run(command) } });
  await it.create('castle', { type: 'paper' });
  const root = join(it.dataDir, 'servers', 'castle');
  await mkdir(root, { recursive: true });
  return {
    ...it,
    json: async (file: string) => JSON.parse(await readFile(join(root, file), 'utf8')) as Record<string, unknown>[],
    put: (file: string, content: unknown) => writeFile(join(root, file), JSON.stringify(content)),
    page: async () => (await it.get(PAGE)).text,
  };
}

test('each player list can be changed by a form without a script, in the game’s own files', async (t) => {
  const it = await players(t);
  const send = async (name: string, fields: Record<string, string>) => {
    const answer = await it.submit(`${PAGE}/${name}`, fields);
    t.is(answer.status, 303, `${name}: ${await answer.text()}`);
  };
  t.regex(await it.page(), /The server is asleep/);
  await send('enforce', { on: 'true' });
  t.regex(await it.page(), /Only listed players/);
  await send('whitelist', { on: 'true', name: ' Steve ' });
  t.like(await it.json('whitelist.json'), [{ name: 'Steve' }]);
  await send('whitelist', { on: 'false', name: 'Steve' });
  t.deepEqual(await it.json('whitelist.json'), []);
  await send('operator', { on: 'true', name: 'Alex' });
  t.like(await it.json('ops.json'), [{ name: 'Alex', level: 4 }]);
  t.regex(await it.page(), /Level 4: can do everything/);
  await send('ban', { on: 'true', name: 'Herobrine', reason: 'Took the <torches>' });
  t.regex(await it.page(), /Took the &lt;torches&gt;/);
  await send('ban', { on: 'false', name: 'Herobrine' });
  t.deepEqual(await it.json('banned-players.json'), []);
  await send('ban-address', { on: 'true', ip: '203.0.113.7', reason: '' });
  t.like(await it.json('banned-ips.json'), [{ ip: '203.0.113.7' }]);
  await send('ban-address', { on: 'false', ip: '203.0.113.7' });
  t.deepEqual(await it.json('banned-ips.json'), []);
});

test('the players page warns if the game does not check Minecraft accounts', async (t) => {
  const it = await players(t);
  t.false((await it.page()).includes('doesn’t check Minecraft accounts'));
  await it.ok('POST', '/v1/servers/castle:setProperties', { properties: { 'online-mode': 'false' } });
  t.true((await it.page()).includes('This server doesn’t check Minecraft accounts: anyone can join'));
});

test('the players page shows when a ban ends, and hides bans that have ended', async (t) => {
  const it = await players(t);
  const ban = { uuid: '', created: '2026-01-01 10:00:00 +0000', source: 'Alex', reason: 'Loud' };
  await it.put('banned-players.json', [
    { ...ban, name: 'Late', expires: '2099-01-31 18:05:09 +0100' },
    { ...ban, name: 'Past', expires: '2001-01-31 18:05:09 +0000' },
  ]);
  const page = await it.page();
  t.regex(page, /until\s+<time datetime="2099-01-31T17:05:09.000Z"/);
  t.notRegex(page, /Past/);
});

test('the ban forms ban permanently, for a set time or until a date, and reject invalid dates', async (t) => {
  const it = await players(t);
  const endOf = async (fields: Record<string, string>) => {
    const sent = { on: 'true', name: 'Steve', reason: '', ip: '203.0.113.7', ...fields };
    for (const form of ['ban', 'ban-address']) t.is((await it.submit(`${PAGE}/${form}`, sent)).status, 303);
    const [[player], [address]] = [await it.json('banned-players.json'), await it.json('banned-ips.json')];
    t.is(player?.['expires'], address?.['expires']);
    for (const form of ['ban', 'ban-address']) await it.submit(`${PAGE}/${form}`, { ...sent, on: 'false' });
    return String(player?.['expires']);
  };
  t.is(await endOf({}), 'forever');
  t.is(await endOf({ length: '', expires: '2099-01-31' }), 'forever');
  const hours = async (length: string) => (Date.parse(await endOf({ length })) - it.clock.now()) / 3_600_000;
  t.deepEqual([await hours('hour'), await hours('day'), await hours('week')].map(Math.round), [1, 24, 168]);
  t.is(await endOf({ length: 'date', expires: '2099-01-31' }), '2099-02-01 00:00:00 +0000');
  for (const [expires, said] of [
    ['', /Enter a date/],
    ['2099-02-31', /Enter a date/],
    ['2001-01-31', /must be in the future/],
  ] as const) {
    const refused = await it.submit(`${PAGE}/ban`, { on: 'true', name: 'Steve', length: 'date', expires });
    t.is(refused.status, 400);
    const page = await refused.text();
    t.regex(page, /id="ban-expires"[^>]*aria-invalid="true"/);
    t.regex(page, said);
    t.regex(page, /value="date" selected/);
  }
});

test('long player lists are paged, and each entry has its own button for removal', async (t) => {
  const it = await players(t);
  const names = Array.from({ length: 45 }, (_, nth) => ({ uuid: '', name: `player_${String(nth).padStart(2, '0')}` }));
  await it.put('whitelist.json', names);
  const first = await it.page();
  t.regex(first, /player_19[^]*1–20 of 45/);
  t.notRegex(first, /player_20/);
  const last = (await it.get(`${PAGE}?whitelist=40`)).text;
  t.regex(last, /name="name" value="player_44"[^]*41–45 of 45/);
  const sent = { on: 'false', name: 'player_44' };
  const answer = await it.submit(`${PAGE}/whitelist?whitelist=40`, sent);
  t.is(answer.headers.get('location'), `${PAGE}?whitelist=40&done=whitelist`);
  t.is((await it.json('whitelist.json')).length, 44);
});

test('a refused IP ban shows its error in the form and keeps the typed values', async (t) => {
  const it = await players(t);
  const refused = await it.submit(`${PAGE}/ban-address`, { on: 'true', ip: '203.0.113', reason: 'Spam' });
  t.is(refused.status, 400);
  const page = await refused.text();
  t.regex(page, /role="alert">IP must be an IP address\.</);
  t.regex(page, /id="ban-address-ip"[^>]*aria-invalid="true"[^>]*value="203.0.113"/);
  t.regex(page, /id="ban-address-reason"[^>]*value="Spam"/);
  t.notRegex(page, /id="ban-reason"[^>]*value="Spam"/, 'the other form stays empty');
  t.is((await it.submit(`${PAGE}/ban`, { on: 'true', name: 'Steve', csrf: 'forged' })).status, 403);
  t.is((await it.submit(`${PAGE}/kick`, { name: 'Steve' })).status, 400, 'a sleeping server has no players');
});

test('an unreadable operator list shows an error and no form that could overwrite it', async (t) => {
  const it = await players(t);
  await it.put('ops.json', { none: true });
  const page = await it.page();
  t.regex(page, /ops\.json is not a JSON list/);
  t.notRegex(page, /<form[^>]*players\/operator/);
});

test('limited access makes the players page read-only', async (t) => {
  const it = await players(t);
  await it.stranger();
  await it.share('castle', 'limited');
  const guest = await it.browser('usr_other');
  const page = await it.get(PAGE, guest);
  t.is(page.status, 200);
  t.notRegex(page.text, /action="\/servers\/castle\/players/);
  t.is((await it.submit(`${PAGE}/ban`, { on: 'true', name: 'Steve' }, guest)).status, 403);
});

test.runIf(isHere('chromium'))(
  'a player can be kicked with a reason in the browser, and the page updates',
  async (t) => {
    const online = ['Steve', 'Alex'];
    const kicks: string[] = [];
    const it = await players(t, async (command) => {
      const [verb, name = '', ...reason] = command.split(' ');
      if (verb !== 'kick') return `There are ${online.length} of a max of 20 players online: ${online.join(', ')}`;
      online.splice(online.indexOf(name), 1);
      kicks.push(`${name}: ${reason.join(' ')}`);
      return `Kicked ${name}`;
    });
    await it.command('castle', 'START');
    await it.reach('castle', 'running');
    const { page, complaints } = await it.open(PAGE);
    await page.getByRole('link', { name: 'Kick Steve' }).click();
    await page.getByRole('heading', { name: 'Kick Steve' }).waitFor();
    await accessible(t, page);
    await page.locator('#kick').getByLabel('Reason').fill('Dinner is ready');
    await page.keyboard.press('Enter');
    await page.getByText('Player kicked.').waitFor();
    t.deepEqual(kicks, ['Steve: Dinner is ready']);
    t.is(await page.getByRole('link', { name: 'Kick Steve' }).count(), 0);
    t.is(await page.getByRole('link', { name: 'Kick Alex' }).count(), 1);
    t.deepEqual(complaints, []);
  },
);

test.runIf(isHere('chromium'))(`the players page is accessible and usable in dark mode on a phone`, async (t) => {
  const it = await players(t);
  const ban = {
    created: '2026-01-01 10:00:00 +0000',
    source: 'Alex',
    reason: 'Loud '.repeat(40),
    expires: 'forever',
  };
  await it.put('banned-players.json', [{ ...ban, uuid: '', name: 'A_name_of_sixteen' }]);
  await it.put('banned-ips.json', [{ ...ban, ip: '2001:db8:1234:5678:9abc:def0:1234:5678' }]);
  await it.put('ops.json', [{ uuid: '', name: 'Alex', level: 3, bypassesPlayerLimit: true }]);
  const { page, complaints } = await it.open(`${PAGE}?ban=Steve`, { ...PHONE, colorScheme: 'dark' });
  await accessible(t, page);
  await page.getByLabel('Address').fill('203.0.113.7');
  await page.keyboard.press('Tab');
  await page.keyboard.type('Spam');
  await page.keyboard.press('Enter');
  await page.getByText('Bans updated.').waitFor();
  await page.getByText('203.0.113.7', { exact: true }).first().waitFor();
  await accessible(t, page);
  t.deepEqual(complaints, []);
});

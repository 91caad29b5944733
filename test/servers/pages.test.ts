import test from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { foundServers, sortedServers } from '../../src/servers/pages/list.ts';
import { PHONE, type PanelUnderTest, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

test('the list shows each server’s name, state, software, RAM and address, and the cause of its state', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { name: 'The <b>Castle</b>', ramMb: 2_048 });
  await it.create('lobby', { name: 'Lobby' });
  await it.command('castle', 'JOIN', { kind: 'player', id: 'Steve', note: 'joined' });
  await it.reach('castle', 'running');
  const { text } = await it.get('/servers');
  const [castle = '', lobby = ''] = ['castle', 'lobby'].map(
    (id) => text.split(`id="server-${id}"`)[1]?.split('</li>')[0],
  );
  t.regex(castle, /The &lt;b&gt;Castle&lt;\/b&gt;/);
  t.regex(castle, /awake/);
  t.regex(castle, /Sandbox 1\.21\.4/);
  t.regex(castle, /<bdi>Steve<\/bdi> joined/);
  t.regex(castle, /2 GB/);
  t.regex(castle, /data-copy="castle\.[^"]+"/);
  t.regex(castle, /action="\/servers\/stop"/);
  t.regex(lobby, /asleep[\s\S]*Joining wakes it/);
  t.regex(lobby, /action="\/servers\/start"/);
  t.notRegex(text, /first join/, 'a user with two servers sees no guide');
});

test('the list shows on a strip when each server was awake today', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.create('garden');
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  // Nobody plays, so it goes to sleep after ten minutes.
  await it.clock.advance(60 * 60_000);
  await it.reach('castle', 'hibernated');
  const ASLEEP = { words: 'not awake', bands: [] };
  const shown = async () => {
    const { text } = await it.get('/servers?sort=name');
    return [...text.matchAll(/Today \(UTC\): ([^"<]*)<\/title>[\s\S]*?<\/svg>/g)].map(([strip, words]) => ({
      words,
      bands: [...strip.matchAll(/class="band (good|bad)" d="([^"]*)"/g)].map(([, tone, d]) => `${tone} ${d}`),
    }));
  };
  t.deepEqual(await shown(), [{ words: 'awake 10 min', bands: ['good M1333 0h10v20h-10z'] }, ASLEEP]);
  // The next day begins at midnight.
  await it.clock.advance(2 * 60 * 60_000);
  t.deepEqual(await shown(), [ASLEEP, ASLEEP]);
});

test('the strip of a server claims nothing about hours whose states are no longer stored', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  await it.clock.advance(60 * 60_000);
  await it.reach('castle', 'hibernated');
  await it.store.write((tx) => tx.run(`DELETE FROM "transitions" WHERE "from" <> 'stopping'`));
  const { text } = await it.get('/servers');
  t.regex(text, /Today \(UTC\): not awake<\/title>\s*<path class="band calm" d="M13\d\d 0h\d\dv20h-\d\dz" \/>/);
});

test('a card starts and stops its server without scripts, and a refusal shows an alert', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const pressed = await it.submit('/servers/start', { id: 'castle' });
  t.is(pressed.headers.get('location'), '/servers');
  await it.reach('castle', 'running');
  t.is((await it.submit('/servers/stop', { id: 'castle', csrf: 'forged' })).status, 403);
  await it.submit('/servers/stop', { id: 'castle' });
  await it.reach('castle', 'hibernated');
  await it.stranger();
  const stranger = await it.browser('usr_other');
  const refused = await it.submit('/servers/start', { id: 'castle' }, stranger);
  t.is(refused.status, 404);
  t.regex(await refused.text(), /role="alert"/);
});

test('a failed install can be retried from its card', async (t) => {
  const it = await openPanel(t);
  it.engine.script('pack', { exitCode: 1 });
  await it.create('pack', { modpackPlatform: 'modrinth', modpackRef: 'cobblemon', type: 'fabric' });
  await it.reach('pack', 'install_failed');
  t.regex((await it.get('/servers')).text, /action="\/servers\/retry-install"/);
  it.engine.script('pack', { exitCode: 0 });
  await it.submit('/servers/retry-install', { id: 'pack' });
  await it.reach('pack', 'hibernated');
  t.is((await it.submit('/servers/retry-install', { id: 'pack' })).status, 400, 'the server is already installed');
});

test('a user without servers creates one in two fields and sees the guide until a player has joined', async (t) => {
  const it = await openPanel(t);
  t.regex((await it.get('/servers')).text, /Three steps to the first join[\s\S]*action="\/servers\/first"/);
  const refused = await it.submit('/servers/first', { name: ' ', template: 'vanilla' });
  t.is(refused.status, 400);
  const page = await refused.text();
  t.regex(page, /id="first-name-wrong">is required/);
  t.regex(page, /value="vanilla" checked/);
  t.regex(page, /Sandbox<small>[^<]*No download/);
  const made = await it.submit('/servers/first', { name: 'My castle', template: 'sandbox' });
  t.is(made.headers.get('location'), '/servers/my-castle');
  t.regex((await it.get('/servers')).text, /Join it now[\s\S]*<code>my-castle\./);
  await it.command('my-castle', 'JOIN', { kind: 'player', id: 'Steve', note: 'joined' });
  t.notRegex((await it.get('/servers')).text, /Join it now/);
  await it.reach('my-castle', 'running');
  const awake = (await it.get('/servers')).text;
  t.regex(awake, /class="past">\s*<h3>Running[\s\S]*No one has joined yet/);
  it.games.players.set('my-castle', 1);
  await it.passUntil(async () => !(await it.get('/servers')).text.includes('class="steps"'), 5_000);
  // The browser remembers the finished guide, even if the server's history is deleted.
  const { headers } = await it.get('/servers');
  t.regex(headers.getSetCookie().join(), /^tour=usr_test; .*HttpOnly/);
});

test('the first-join guide is dismissed permanently, for this browser and this user only', async (t) => {
  const it = await openPanel(t);
  const hasTour = async (cookie: string) => {
    const headers = { cookie, accept: 'text/html' };
    return (await (await fetch(`${it.origin}/servers`, { headers })).text()).includes('class="steps"');
  };
  await it.create('castle');
  t.true(await hasTour(it.owner.cookie));
  t.is((await it.submit('/servers/dismiss', { csrf: 'forged' })).status, 403);
  const dismissed = await it.submit('/servers/dismiss');
  t.is(dismissed.headers.get('location'), '/servers');
  const [tour = ''] = (dismissed.headers.getSetCookie()[0] ?? '').split(';');
  t.false(await hasTour(`${it.owner.cookie}; ${tour}`));
  await it.stranger();
  const stranger = await it.browser('usr_other');
  t.true(await hasTour(`${stranger.cookie}; ${tour}`));
});

test('an app sees neither the name of a server nor the player that woke it', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { name: 'The Castle' });
  await it.command('castle', 'START');
  const authorization = `Bearer ${await it.connect('usr_test', 'app_1')}`;
  const [asApp] = (await it.call('GET', '/v1/me/servers', { key: null, headers: { authorization } })).json[
    'my'
  ] as object[];
  const [asKey] = (await it.call('GET', '/v1/me/servers')).json['my'] as object[];
  t.deepEqual(Object.keys(asApp ?? {}), ['id', 'address', 'state', 'type', 'version', 'region', 'role']);
  t.like(asKey, { name: 'The Castle', ramMb: 512, cause: { kind: 'key', id: 'key_test' } });
});

test('the event stream of the list reports changes, but only of servers the user can access', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.stranger();
  const strangers = await it.browser('usr_other');
  const stream = (cookie: string) => fetch(`${it.origin}/panel/v1/me/servers/events/stream`, { headers: { cookie } });
  const [own, other] = await Promise.all([stream(it.owner.cookie), stream(strangers.cookie)]);
  const heard = own.body!.pipeThrough(new TextDecoderStream()).getReader();
  const overheard = other.body!.pipeThrough(new TextDecoderStream()).getReader();
  await it.command('castle', 'START');
  t.regex((await heard.read()).value ?? '', /^event: changed\ndata: \{"at":"[^"]+"\}\n\n/);
  // A stranger's next event is a ping.
  await it.clock.advance(15_000);
  t.is((await overheard.read()).value, ': ping\n\n');
  t.is((await strangers.call('GET', '/panel/v1/servers/castle/icon')).status, 404);
  const invited = { email: 'stranger@example.com', role: 'limited' };
  const { memberId } = await it.ok('POST', '/v1/servers/castle/members', invited);
  await strangers.ok('POST', '/v1/session/invitations:accept', { memberId });
  t.regex((await overheard.read()).value ?? '', /^event: changed\n/, 'a new member receives changes');
  await Promise.all([heard.cancel(), overheard.cancel()]);
  for (const path of ['/panel/v1/me/servers/events/stream', '/panel/v1/servers/castle/icon']) {
    t.is((await it.call('GET', path)).status, 401, 'an API key does not open it');
    t.not((await it.call('GET', path.slice('/panel'.length))).status, 200, 'the address is not part of the API');
  }
});

test('a server’s icon is its own favicon or a drawn SVG', async (t) => {
  const it = await openPanel(t);
  const png = Buffer.from('89504e470d0a1a0a00', 'hex').toString('base64');
  await it.create('drawn', { name: '<Zoo' });
  await it.create('own', { lastStatus: JSON.stringify({ favicon: `data:image/png;base64,${png}` }) });
  const icon = (id: string) => it.owner.call('GET', `/panel/v1/servers/${id}/icon`);
  const drawn = await icon('drawn');
  t.is(drawn.headers.get('content-type'), 'image/svg+xml');
  t.regex(drawn.headers.get('content-security-policy') ?? '', /default-src 'none'; sandbox/);
  t.regex(drawn.text, />&lt;<\/text>/);
  t.is((await icon('own')).headers.get('content-type'), 'image/png');
});

test.runIf(isHere('chromium'))(
  'the list updates in place while a first server is created, started and joined by others',
  async (t) => {
    const it = await openPanel(t);
    const { page, complaints, asked } = await it.open('/servers', { ...PHONE, colorScheme: 'dark' });
    await accessible(t, page);
    await page.getByLabel('Name').fill('My castle');
    await page.getByRole('button', { name: 'Create server' }).press('Enter');
    await page.waitForURL('**/servers/my-castle');
    await page.goto(`${it.origin}/servers`);
    await accessible(t, page);
    await page.evaluate('window.stays = true');
    await page.getByRole('button', { name: 'Start My castle' }).click();
    await page.getByText('awake', { exact: true }).waitFor();
    // The pressed button changes to its next action.
    await page.getByRole('button', { name: 'Stop My castle' }).waitFor();
    t.is(await page.getByRole('button', { name: 'Start My castle', exact: true }).count(), 0);
    it.games.players.set('my-castle', 2);
    await it.passUntil(async () => (await page.getByText('2 playing').count()) > 0, 1_000);
    t.true(await page.evaluate('window.stays'), 'the page was not reloaded');
    t.deepEqual(complaints, []);
    t.deepEqual(
      asked.filter((url) => !url.startsWith(`${it.origin}/`)),
      [],
    );
  },
);

test('the front page shows the idle timeout after which a server sleeps', async (t) => {
  const it = await openPanel(t, { config: { idleTimeoutMinutes: 7 } });
  await it.create('castle');
  it.games.players.set('castle', 1);
  await it.command('castle', 'JOIN', { kind: 'player', id: 'Steve', note: 'joined' });
  await it.reach('castle', 'running');
  t.regex((await it.get('/servers/castle')).text, /Sleeps 7 minutes after the last player has left/);
  t.regex((await it.get('/servers/castle/settings/game')).text, /0 = default \(7\)\./);
  await it.submit('/servers/castle/settings/game/idle', { idleTimeoutMinutes: '1' });
  t.regex((await it.get('/servers/castle')).text, /Sleeps 1 minute after/);
});

test('servers are found by every word of a search, in name, tags, address, software or state', (t) => {
  const found = (search: string) => foundServers(LISTED, search).map(({ id }) => id);
  t.deepEqual(found(''), ['world10', 'lobby', 'world2']);
  t.deepEqual(found('WORLD asleep'), ['world10']);
  t.deepEqual(found('paper lob'), ['lobby']);
  t.deepEqual(found('world2.example'), ['world2']);
  t.deepEqual(found('red friends'), ['world2']);
  t.deepEqual(found('nothing'), []);
});

test('servers are sorted awake first, by name as a reader counts, by last play or by cost', (t) => {
  const cost = ({ id }: { id: string }) => ({ lobby: 3, world2: 9 })[id] ?? 0;
  const sorted = (sort: Parameters<typeof sortedServers>[1]) => sortedServers(LISTED, sort, cost).map(({ id }) => id);
  t.deepEqual(sorted(''), ['world2', 'lobby', 'world10']);
  t.deepEqual(sorted('name'), ['lobby', 'world2', 'world10']);
  t.deepEqual(sorted('played'), ['world10', 'lobby', 'world2']);
  t.deepEqual(sorted('cost'), ['world2', 'lobby', 'world10']);
});

test('a list of servers is searched and shown as a table without scripts, and a command returns to it', async (t) => {
  const it = await openPanel(t);
  await createMany(it);
  const { text } = await it.get('/servers?q=world&sort=name&view=table');
  t.deepEqual(
    [...text.matchAll(/<tr id="server-(\w+)"/g)].map(([, id]) => id),
    ['world1', 'world2', 'world3', 'world10', 'world11', 'world12'],
  );
  t.regex(text, /6 of 7 servers/);
  t.regex(text, /action="\/servers\/start\?q=world&amp;sort=name&amp;view=table"/);
  const pressed = await it.submit('/servers/start?q=world&view=table', { id: 'world2' });
  t.is(pressed.headers.get('location'), '/servers?q=world&view=table');
  t.regex((await it.get('/servers?q=nothing')).text, /0 of 7 servers/);
  t.is((await it.get('/servers?sort=constructor&view=&from=-1')).status, 200);
});

test.runIf(isHere('chromium'))('the list of servers follows what a reader types, and keeps the focus', async (t) => {
  const it = await openPanel(t);
  await createMany(it);
  for (const options of [{ colorScheme: 'light' }, { ...PHONE, colorScheme: 'dark' }] as const) {
    const { page, complaints } = await it.open('/servers', options);
    const search = page.getByRole('textbox', { name: 'Search' });
    await search.pressSequentially('world1');
    await page.getByText('4 of 7 servers').waitFor();
    t.is(await page.locator('.cards > li').count(), 4);
    t.true(await search.evaluate((field) => field.matches(':focus')));
    t.is(new URL(page.url()).search, '?q=world1');
    await accessible(t, page);
    await page.getByLabel('Show as').selectOption('table');
    await page.getByRole('row', { name: 'world10' }).waitFor();
    await accessible(t, page);
    await it.command('world10', options.colorScheme === 'light' ? 'START' : 'STOP');
    await page.getByRole('row', { name: /world10.*(awake|asleep)/ }).waitFor();
    await search.fill('');
    await page.locator('#server-lobby').waitFor();
    t.deepEqual(complaints, []);
  }
});

const LISTED = [
  { id: 'world10', state: 'hibernated', type: 'vanilla', lastActiveAt: '2026-11-20T10:00:00.000Z' },
  { id: 'lobby', state: 'start_failed', type: 'paper', name: 'A lobby', lastActiveAt: '2026-11-19T10:00:00.000Z' },
  { id: 'world2', state: 'running', type: 'fabric', tags: ['Red team', 'friends'] },
].map((each) =>
  Object.assign(each, { version: '1.21.4', region: 'eu', role: 'owner', address: `${each.id}.example.com` }),
);

async function createMany(it: PanelUnderTest): Promise<void> {
  for (const id of ['lobby', 'world1', 'world10', 'world11', 'world12', 'world2', 'world3']) await it.create(id);
}

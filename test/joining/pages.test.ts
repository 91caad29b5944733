import test, { type ExecutionContext } from 'ava';
import { closeBrowser, openTab } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { type Site, openSite } from '../web/site.ts';

test.after.always(closeBrowser);

const ICON = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const EVIL = `<script>alert(1)</script>"><img src=x onerror=alert(2)>' \u202e`;

async function show(site: Site, id: string, showAddress = false): Promise<string> {
  const name = (await site.servers.get(id))?.row.name ?? '';
  await site.publicStatuses.set({ id, name }, { enabled: true, showAddress }, async () => {});
  return `/status/${site.publicStatuses.of(id).slug}`;
}

async function get(site: Site, path: string) {
  const response = await fetch(site.origin + path);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test('the status page shows a server as asleep, online or under maintenance', async (t) => {
  const site = await openSite(t);
  await site.create('castle', {
    name: 'Castle',
    motd: '<gold>Build</gold> §lwith us\n<#88ffcc>here',
    version: '1.21.8',
  });
  const path = await show(site, 'castle');
  const asleep = await get(site, path);
  t.is(asleep.status, 200);
  t.regex(asleep.text, /<h1><bdi>Castle<\/bdi><\/h1>/);
  t.regex(asleep.text, /Asleep/);
  t.regex(asleep.text, /Joining wakes it/);
  t.regex(asleep.text, /<font color="#ffaa00">Build<\/font> <span class="bold">with us<\/span><br/);
  t.regex(asleep.text, /<font color="#88ffcc">here<\/font>/);
  t.false(asleep.text.includes('castle.play.example'));
  t.is(asleep.headers.get('cache-control'), 'public, max-age=10');
  t.is(asleep.headers.get('refresh'), '30');
  t.regex(asleep.headers.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/);
  t.is(asleep.headers.getSetCookie().length, 0);
  t.is((await site.servers.get('castle'))?.state, 'hibernated', 'viewing the page wakes no server');

  await show(site, 'castle', true);
  await site.command('castle', 'START');
  await site.clock.advance(3_000);
  await site.reach('castle', 'running');
  site.games.players.set('castle', 3);
  let awake = '';
  await site.until(async () => {
    await site.clock.advance(5_000);
    awake = (await get(site, path)).text;
    return awake.includes('Online · 3/20');
  });
  t.regex(awake, /castle\.play\.example/);

  await site.command('castle', 'STOP');
  await site.reach('castle', 'hibernated');
  const work = { mode: 'anyone', maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '<red>Back at 8' } as const;
  await site.wakePolicies.set('castle', work, async () => {});
  await site.clock.advance(3_000);
  t.regex((await get(site, path)).text, /Maintenance[^]*Back at 8/);
});

test('the status page explains wake policy, suspension, a lost node and a wait for room without private details', async (t) => {
  const site = await openSite(t, { world: { nodes: [{ id: 'n1', name: 'secret-node' }] } });
  await site.create('castle');
  const path = await show(site, 'castle');
  const says = async (words: RegExp) => {
    await site.clock.advance(3_000);
    const { text } = await get(site, path);
    t.regex(text, words);
    t.notRegex(text, /secret-node|too loud/);
    t.is((await get(site, `${path}/badge.svg`)).status, 200);
  };
  const policy = { maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' };
  await site.wakePolicies.set('castle', { ...policy, mode: 'nobody' }, async () => {});
  await says(/Asleep[^]*Asleep until someone joins\. Only its owner can wake it\./);
  await site.wakePolicies.set('castle', { ...policy, mode: 'anyone' }, async () => {});
  const suspension = { serverId: 'castle', reason: 'too loud', userId: 'usr_test', at: site.clock.now() };
  await site.suspensions.set(suspension, async () => {});
  await says(/Closed[^]*Closed for now\./);
  await site.suspensions.lift('castle', async () => {});
  await site.command('castle', 'START');
  await site.reach('castle', 'running');
  const nodes = site.engine.nodes!;
  nodes.cut('n1');
  await says(/Not responding[^]*Its machine is not responding\./);
  await nodes.fence('n1');
  await site.reach('castle', 'start_failed');
  await says(/Waiting for capacity[^]*It starts automatically when there is\./);
});

test('malicious names and descriptions are escaped on the status page and in the badge', async (t) => {
  const site = await openSite(t);
  await site.create('evil', { name: EVIL, motd: EVIL, version: EVIL, lastStatus: JSON.stringify({ favicon: EVIL }) });
  const path = await show(site, 'evil', true);
  for (const address of [path, `${path}/badge.svg`]) {
    const { status, text } = await get(site, address);
    t.is(status, 200);
    t.notRegex(text, /<script|<img src=x|onerror=alert\(2\)>(?!&#39;)[^&]*"|\u202e/, address);
    t.true(text.includes('&lt;script&gt;'), address);
  }
  t.is((await get(site, `${path}/icon.png`)).status, 404);
});

test('the status badge can be embedded on any site, and the icon is the server’s own', async (t) => {
  const site = await openSite(t);
  const favicon = `data:image/png;base64,${ICON.toString('base64')}`;
  await site.create('castle', { name: 'Castle', lastStatus: JSON.stringify({ favicon }) });
  const path = await show(site, 'castle');
  const badge = await get(site, `${path}/badge.svg`);
  t.is(badge.headers.get('content-type'), 'image/svg+xml');
  t.is(badge.headers.get('cross-origin-resource-policy'), 'cross-origin');
  t.is(badge.headers.get('content-security-policy'), "default-src 'none'; sandbox");
  t.regex(badge.text, /<title>Castle: Asleep<\/title>/);
  const icon = await get(site, `${path}/icon.png`);
  t.is(icon.headers.get('content-type'), 'image/png');
  t.true(icon.text.includes('PNG'));
  t.regex((await get(site, path)).text, /src="[^"]*\/icon\.png"/);
});

test('an unknown status page and a disabled one return the same 404', async (t) => {
  const site = await openSite(t);
  await site.create('castle', { name: 'Castle' });
  const path = await show(site, 'castle');
  await site.publicStatuses.set({ id: 'castle', name: '' }, { enabled: false, showAddress: true }, async () => {});
  for (const part of ['', '/badge.svg', '/icon.png']) {
    const off = await get(site, path + part);
    const unknown = await get(site, `/status/castle-aaaaaaaaaa${part}`);
    t.is(off.status, 404);
    t.deepEqual([off.status, off.text], [unknown.status, unknown.text]);
  }
});

test.runIf(isHere('chromium'))(
  'the status page fits a phone, works without scripts and causes no browser errors',
  async (t: ExecutionContext) => {
    const site = await openSite(t);
    const motd = `<rainbow>${'Wide '.repeat(25)}</rainbow>\n§k§nsecret`;
    await site.create('castle', { name: 'A castle of a rather long name '.repeat(2).trim(), motd });
    const path = await show(site, 'castle', true);
    for (const width of [320, 390, 1280]) {
      const { page, complaints } = await openTab(t, { viewport: { width, height: 800 }, javaScriptEnabled: false });
      await page.goto(site.origin + path);
      t.deepEqual(complaints, []);
      t.is(await page.locator('h1').count(), 1);
      const box = await page.locator('article').boundingBox();
      t.true(box !== null && box.x >= 0 && box.x + box.width <= width, `${width}: ${JSON.stringify(box)}`);
      await page.locator('summary').click();
      t.true(await page.locator('details img').isVisible());
    }
  },
);

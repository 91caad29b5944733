import test from 'ava';
import { insertAwakeSession, markBillable, proveAwakeSessions } from '../../src/billing/awake-session-rows.ts';
import { AwakeSessions } from '../../src/billing/awake-sessions.ts';
import { openWallet } from '../../src/billing/ledger.ts';
import { chargeNext } from '../../src/billing/tick-rows.ts';
import { addToSpent, setSpendCap } from '../../src/billing/wallet-rows.ts';
import { deleteIncident, insertIncident } from '../../src/insight/alerts/rows.ts';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { insertSample } from '../../src/insight/metric-rows.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';
import { awakeSessionRow } from '../support/store.ts';
import { KEY, STEVE } from '../support/world.ts';

test.after.always(closeBrowser);

test('the front page shows the server’s state and the next step', async (t) => {
  const it = await openPanel(t);
  await it.store.write((tx) => openWallet(tx, 'acc_test', it.clock.now(), 5_000_000));
  await it.create('castle', { coldStartsMs: [40_000, 60_000, 50_000] });
  t.regex((await it.get('/servers/castle')).text, /join its address in Minecraft[\s\S]*None in the last seven days/);
  const release = it.engine.hold('castle');
  await it.command('castle', 'JOIN', { kind: 'player', id: 'Steve', note: 'joined' });
  const starting = (await it.get('/servers/castle')).text;
  t.regex(starting, /Usually it takes <strong>50 s<\/strong> more[\s\S]*<progress[\s\S]*<bdi>Steve<\/bdi> joined/);
  release();
  await it.reach('castle', 'running');
  const running = (await it.get('/servers/castle')).text;
  t.regex(running, /Keep awake for <\/span>1 h[\s\S]*No one is online/);
  t.notRegex(running, /Wakes today/);
});

test('the front page shows its owner the time awake, the players that woke it, and the cost', async (t) => {
  const it = await openPanel(t);
  const { row, context } = await it.create('castle');
  const at = it.clock.now();
  const steady = { now: () => at, ofPast: () => at };
  const sessions = new AwakeSessions(it.clock, steady, it.services.billing.prices);
  await it.store.write(async (tx) => {
    await openWallet(tx, 'acc_test', at, 5_000_000);
    const now = { row, context: { ...context, cause: STEVE, readyAt: at }, state: 'running' as const };
    await sessions.onStep(tx, now, { at, event: 'JOIN', from: 'hibernated', to: 'starting', cause: STEVE });
    await sessions.onStep(tx, now, { at, event: 'x', from: 'starting', to: 'running', cause: STEVE });
    await markBillable(tx, 'castle');
    await proveAwakeSessions(tx, at + 120 * 60_000, []);
    while ((await chargeNext(tx, at, '2023-11')) > 0);
  });
  await it.clock.advance(60 * 60_000);
  const { text } = await it.get('/servers/castle');
  t.regex(text, /This month[\s\S]*1 h <small>0\.01 USD[\s\S]*Today<\/h2>[\s\S]*\/bill">0\.01 USD/);
  t.regex(text, /Wakes this month<\/h3>\s*<p>\s*<bdi>Steve<\/bdi> once\./);
  t.regex((await it.get('/servers')).text, /512 MB<\/span> · <span class="piece">0\.01 USD this month/);
});

test('the front page marks the wakes, failures and backups of today, each with a link to its cause, also for a limited member', async (t) => {
  const it = await openPanel(t);
  const { row } = await it.create('castle');
  for (let times = 0; times < 7; times++) {
    const [startedAt, cause] = [it.clock.now(), times < 2 ? KEY : STEVE];
    await it.command('castle', times < 2 ? 'START' : 'JOIN', cause);
    await it.reach('castle', 'running');
    await it.command('castle', 'STOP');
    await it.reach('castle', 'hibernated');
    const of = { serverId: 'castle', accountId: 'acc_test', serverCreatedAt: row.createdAt };
    await it.clock.advance(1_000);
    const session = { id: `ses_${times}`, ...of, startedAt, endedAt: startedAt + 1, cause: JSON.stringify(cause) };
    await it.store.write((tx) => insertAwakeSession(tx, awakeSessionRow(session)));
  }
  const { id: backup } = await it.ok('POST', '/v1/servers/castle/backups', {});
  await it.stranger();
  await it.share('castle', 'limited');
  const owned = (await it.get('/servers/castle')).text;
  const shared = (await it.get('/servers/castle', await it.browser('usr_other'))).text;
  for (const text of [owned, shared]) {
    t.is(text.match(/class="mark wake"/g)?.length, 7);
    t.is(text.match(/<bdi>Steve<\/bdi> joined<\/a>/g)?.length, 5);
    t.regex(text, /Awake\s+\d+ s,\s+7 wakes/);
  }
  t.regex(owned, /Wakes this month<\/h3>\s*<p>\s*<bdi>Steve<\/bdi> 5 times, API keys 2 times\./);
  t.regex(owned, new RegExp(`href="/servers/castle/backups#${String(backup)}"[^>]*>a backup<`));
  const [, cause = ''] = /<a href="([^"]*audit[^"]*)">\s*<bdi>Steve/.exec(owned) ?? [];
  const opened = (await it.get(cause.replaceAll('&amp;', '&'))).text;
  t.regex(opened.slice(opened.indexOf('<tbody>')), /^<tbody>\s*<tr[^>]*>[\s\S]*?<bdi>Steve<[\s\S]*?woke it by joining/);
  t.regex(shared, /<a href="\/servers\/castle\/machine">\s*<bdi>Steve/);
  t.notRegex(shared, /a backup<|mark bad/);
  it.engine.script('castle', { exitCode: 1 });
  await it.command('castle', 'START');
  await it.reach('castle', 'start_failed');
  t.regex((await it.get('/servers/castle')).text, /the start failed<\/a>/);
  t.notRegex(shared, /This month|this month/);
});

test('current problems stay among the alerts while they last, and only the owner sees those about money', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const at = it.clock.now();
  await it.store.write(async (tx) => {
    await openWallet(tx, 'acc_test', at, 1_000_000);
    await setSpendCap(tx, 'acc_test', 500_000, 'stop');
    await addToSpent(tx, 'acc_test', '2023-11', 600_000);
    await insertIncident(tx, { serverId: 'castle', openedAt: at - 5 * 60_000 });
  });
  const { text } = await it.get('/servers/castle');
  t.regex(text, /Too slow for players for <time[^>]*>5 min</);
  t.regex(text, /This month’s spend cap, 0\.50 USD, is reached\.\s+Servers stay asleep/);
  t.notRegex(text, /None in the last seven days|wallet is empty/);
  await it.stranger();
  await it.share('castle', 'limited');
  const seen = (await it.get('/servers/castle', await it.browser('usr_other'))).text;
  t.regex(seen, /Too slow for players/);
  t.notRegex(seen, /spend cap/);
  await it.store.write(async (tx) => {
    await deleteIncident(tx, 'castle');
    await tx.run('UPDATE "wallets" SET "spendCapMicros" = 0, "balanceMicros" = 0');
  });
  t.regex((await it.get('/servers/castle')).text, /The wallet is empty/);
  t.notRegex((await it.get('/servers/castle')).text, /too slow|spend cap of/);
});

test('a server can be kept awake, and killed after a confirmation, but not by a limited member', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  const kept = await it.submit('/servers/castle/keep-awake', { minutes: '60' });
  t.is(kept.headers.get('location'), '/servers/castle?done=kept');
  t.regex(
    (await it.get('/servers/castle?done=kept')).text,
    /Kept awake, even without players[\s\S]*kept awake until[\s\S]*Cancel keep-awake/,
  );
  t.is((await it.submit('/servers/castle/keep-awake', { minutes: '9999' })).status, 400);

  await it.stranger();
  await it.share('castle', 'limited');
  const limited = await it.browser('usr_other');
  const seen = (await it.get('/servers/castle', limited)).text;
  t.notRegex(seen, /Keep awake for|Kill…|This month/);
  t.is((await it.submit('/servers/castle/kill', {}, limited)).status, 403);

  t.regex((await it.get('/servers/castle')).text, /<details class="confirm" ?>\s*<summary>Kill…/);
  t.is((await it.submit('/servers/castle/kill')).status, 303);
  await it.reach('castle', 'hibernated');
});

test('a failed start shows its cause, the log lines behind it, and a button to retry', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  it.engine.script('castle', { print: ['java.lang.OutOfMemoryError: Java <heap> space'], exitCode: 1 });
  await it.command('castle', 'START');
  await it.reach('castle', 'start_failed');
  const { text } = await it.get('/servers/castle');
  t.regex(text, /start failed/);
  t.regex(text, /action="\/servers\/castle\/start"/);
  t.regex(text, /Out of memory[\s\S]*Java &lt;heap&gt; space/i);
  t.regex(text, /A start failed/);
  t.regex(text, /href="\/servers\/castle\/settings">Give it more RAM/);
});

test.runIf(isHere('chromium'))(
  'the front page follows a start through its phases to a failure, and links to the remedy',
  async (t) => {
    const it = await openPanel(t);
    await it.create('castle', { type: 'fabric', coldStartsMs: [50_000, 50_000, 50_000] });
    // The game reports its progress only in its log.
    it.games.silent.add('castle');
    const { page, complaints } = await it.open('/servers/castle', PHONE);
    const now = page.locator('[data-live=now]');
    const shows = async (text: string | RegExp) => {
      await now.getByText(text).waitFor();
      await accessible(t, page);
    };
    await page.getByRole('button', { name: 'Start' }).click();
    await shows('The game is starting.');
    await shows(/Usually it takes 50 s more/);
    await it.until(() => it.engine.boots.includes('castle'));
    it.engine.print('castle', '[12:00:01] [main/INFO]: Loading Minecraft 1.21.7 with Fabric Loader 0.16.14');
    await shows('Mods are being loaded.');
    const says = '[12:00:09] [Server thread/INFO]:';
    it.engine.print('castle', `${says} Preparing level "world"`, `${says} Preparing spawn area: 43%`);
    await shows('The world is being prepared.');
    await now.getByText('43 %').waitFor();
    t.is(await now.getByRole('progressbar', { name: /The world is being prepared/ }).getAttribute('value'), '43');
    it.engine.print('castle', 'java.lang.OutOfMemoryError: Java heap space');
    it.engine.crash('castle');
    await shows('Out of memory');
    await now.getByText('java.lang.OutOfMemoryError: Java heap space').waitFor();
    await now.getByRole('link', { name: 'Give it more RAM' }).click();
    await page.getByRole('heading', { name: 'Size and plan' }).waitFor();
    t.is(new URL(page.url()).pathname, '/servers/castle/settings');
    t.deepEqual(complaints, []);
  },
);

test('ticks that a game cannot report are shown as not available, without an empty chart', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { type: 'vanilla', version: '1.19.2' });
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  await it.clock.advance(61_000);
  await it.until(async () => /Memory<\/dt>/.test((await it.get('/servers/castle')).text));
  const { text } = await it.get('/servers/castle');
  t.regex(text, /Ticks<\/dt>\s*<dd>not available/);
  t.notRegex(text, /data-figure="ticks"/);
});

test('the front page has charts and a table of an hour, a day or a week, by links', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { idleTimeoutMinutes: -1 });
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  await it.clock.advance(26 * 3_600_000);
  await it.store.write(async (tx) => {
    for (const minutes of [5, 90, 25 * 60])
      await insertSample(tx, 'castle', {
        at: it.clock.now() - minutes * 60_000 - 7,
        figures: [10, 512, 1_024, 5, 20, 2],
      });
  });
  const rows = async (query: string) => {
    const { text } = await it.get(`/servers/castle${query}`);
    t.regex(text, new RegExp(`data-hours="${/\d+/.exec(query)?.[0] ?? 24}"`));
    const table = text.slice(text.indexOf('data-live="hours"'));
    return [...table.matchAll(/data-label="Awake">([^<]*)</g)].map(([, awake]) => awake);
  };
  t.true((await rows('?hours=1')).length <= 7);
  t.true((await rows('')).includes('1 h'));
  t.true((await rows('?hours=168')).length >= 2);
  const { text } = await it.get('/servers/castle?hours=168');
  t.regex(text, /href="\/servers\/castle\?hours=1#charts"[\s\S]*hours=168#charts" aria-current/);
  t.regex((await it.get('/servers/castle?hours=5')).text, /data-hours="24"/);
});

for (const colorScheme of ['light', 'dark'] as const) {
  test.runIf(isHere('chromium'))(
    `the front page with players, charts and alerts is accessible, ${colorScheme}`,
    async (t) => {
      const it = await openPanel(t);
      await it.create('castle', { name: 'The Castle' });
      await it.command('castle', 'START');
      await it.reach('castle', 'running');
      await it.clock.advance(61_000);
      await it.until(
        async () => ((await it.ok('GET', '/v1/servers/castle/metrics'))['series'] as unknown[]).length > 0,
      );
      const { page, complaints, asked } = await it.open(
        '/servers/castle',
        colorScheme === 'dark' ? { ...PHONE, colorScheme } : { colorScheme },
      );
      await page.locator('[data-figure=players] canvas').waitFor();
      t.is(await page.locator('.charts canvas').count(), 4);
      await page.getByRole('link', { name: '7 days' }).click();
      await page.locator('[data-hours="168"] canvas').first().waitFor();
      await page.getByText('Table', { exact: true }).click();
      await page.locator('td[data-label=Players]').first().waitFor();
      await accessible(t, page);
      t.deepEqual(complaints, []);
      t.deepEqual(
        asked.filter((url) => !url.startsWith(`${it.origin}/`)),
        [],
      );
    },
  );
}

test('pages show an address to type, the home address, and a hosts line for another server if needed', async (t) => {
  const meant = { id: 'castle', byAnyName: true, isAddressed: true };
  const config = { publicHost: 'localhost' };
  const entrance = { meant: () => meant, homeHost: () => '192.168.1.5' };
  const it = await openPanel(t, { config, playersPort: 25_570, entrance });
  await it.create('castle');
  const text = async (path: string) => (await it.get(path)).text.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  for (const path of ['/servers', '/servers/castle']) {
    const shown = await text(path);
    t.regex(shown, / localhost:25570 /, path);
    t.regex(shown, /From another device on your network: 192\.168\.1\.5:25570 /, path);
    t.notRegex(shown, /Unknown host/, path);
  }
  meant.byAnyName = false;
  await it.create('tower');
  t.notRegex(await text('/servers/castle'), /192\.168|Unknown host/);
  t.regex(
    await text('/servers/tower'),
    / tower\.localhost:25570 .*If Minecraft says “Unknown host”, add the line 127\.0\.0\.1 tower\.localhost /,
  );
});

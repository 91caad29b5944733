import assert from 'node:assert';
import { join } from 'node:path';
import test from 'ava';
import { insertAwakeSession } from '../../src/billing/awake-session-rows.ts';
import { post } from '../../src/billing/ledger.ts';
import { setSpendCap } from '../../src/billing/wallet-rows.ts';
import { getServer, insertServer } from '../../src/servers/rows.ts';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, type PanelUnderTest, accessible, legibleInTheDark, openPanel } from '../support/panel.ts';
import { plant } from '../support/tree.ts';

test.after.always(closeBrowser);

const MIB = 2 ** 20;
const TIGHT = { cores: 4, ramMb: 3_072, diskFreeMb: 40_000, diskTotalMb: 50_000 };
const FREE = /Joining wakes it/;

type Browser = PanelUnderTest['owner'];

/** Returns a server's card in the list, as rendered without scripts. */
async function cardOf(it: PanelUnderTest, id: string, browser?: Browser): Promise<string> {
  const { text } = await it.get('/servers', browser);
  return text.split(`id="server-${id}"`)[1]?.split('</li>')[0] ?? '';
}

/** Returns the headline and the last step of the first-join guide. */
async function tourOf(it: PanelUnderTest): Promise<string> {
  const { text } = await it.get('/servers');
  const [, tour = ''] = /data-live="tour">([^]*?)<\/section>/.exec(text) ?? [];
  return [/<h2>([^]*?)<\/h2>/.exec(tour)?.[1], /<h3>Join<\/h3>\s*<p>([^]*?)<\/p>/.exec(tour)?.[1]].join(' | ');
}

/** Returns the current state on a server's front page. */
async function frontOf(it: PanelUnderTest, id: string, browser?: Browser): Promise<string> {
  const { text } = await it.get(`/servers/${id}`, browser);
  return /data-live="now">([^]*?)<\/section>/.exec(text)?.[1] ?? '';
}

/** Credits the account, or debits it if the amount is negative. */
async function pay(it: PanelUnderTest, amountMicros: number, ref: string): Promise<void> {
  const at = it.clock.now();
  const posting = { accountId: 'acc_test', kind: 'credit', amountMicros, note: '', ref, at } as const;
  await it.store.write((tx) => post(tx, posting));
}

/** Records that a player woke the server earlier today and left. */
async function wokenByAPlayer(it: PanelUnderTest, serverId: string): Promise<void> {
  const at = it.clock.now();
  const row = {
    id: 'ses_1',
    serverId,
    accountId: 'acc_test',
    plan: 'metered',
    ramMb: 1_024,
    rateMicros: 0,
    ending: 'idle',
  };
  const times = { startedAt: at, readyAt: at, endedAt: at, provenAt: 0, serverCreatedAt: 0 };
  const counts = { billable: 1, awakeMs: 0, ticks: 0, remainder: 0, amountMicros: 0 };
  const cause = JSON.stringify({ kind: 'player', id: 'Steve', note: '' });
  await it.store.write((tx) => insertAwakeSession(tx, { ...row, ...times, ...counts, cause }));
}

/** Returns why a start is refused, and checks that the refusal has words for players, the server list and the owner. */
async function refusedStart(it: PanelUnderTest, id: string): Promise<string> {
  const { reason } = await it.call('POST', `/v1/servers/${id}:start`);
  const words = (await it.servers.refusals([id], 'START')).get(id)?.options.words;
  assert(words?.player && words.list && words.owner, `${reason} has no words`);
  return reason;
}

test('an empty wallet is shown on the card, in the first-join guide and on the front page, with a top-up link', async (t) => {
  const it = await openPanel(t, { charged: true });
  await it.create('castle');
  const says = /<strong>The wallet balance is too low to start it<\/strong>: <a href="\/bill">top up<\/a>/;
  t.is(await refusedStart(it, 'castle'), 'INSUFFICIENT_FUNDS');
  for (const text of [await cardOf(it, 'castle'), await tourOf(it), await frontOf(it, 'castle')]) {
    t.regex(text, says);
    t.notRegex(text, /oining wakes it|To wake it/);
  }
  t.regex(await tourOf(it), /^Your server is ready, but players can’t join now \| /);
  await pay(it, 5_000_000, 'first');
  t.regex(await cardOf(it, 'castle'), FREE);
  t.regex(await tourOf(it), /^Your server is ready. Join it now \| Joining wakes it\. You wait/);
  t.regex(await frontOf(it, 'castle'), /To wake it, join its address/);
});

test('a limited member sees advice to ask the owner instead of a top-up link', async (t) => {
  const it = await openPanel(t, { charged: true });
  await it.create('castle');
  await it.stranger();
  await it.share('castle', 'limited');
  const guest = await it.browser('usr_other');
  const says = /<strong>The wallet balance is too low to start it<\/strong>: ask its owner to top up/;
  t.regex(await cardOf(it, 'castle', guest), says);
  t.regex(await frontOf(it, 'castle', guest), says);
});

test('a reached spend cap is shown and refuses a start, even if players may not wake the server', async (t) => {
  const it = await openPanel(t, { charged: true });
  await it.create('castle');
  await pay(it, 5_000_000, 'first');
  await it.store.write((tx) => setSpendCap(tx, 'acc_test', 1, 'stop'));
  const says = /<strong>The monthly spend cap leaves too little to start it<\/strong>: <a href="\/bill">raise it<\/a>/;
  t.regex(await cardOf(it, 'castle'), says);
  const nobody = { mode: 'nobody', maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' } as const;
  await it.services.wakePolicies.set('castle', nobody, async () => {});
  t.is(await refusedStart(it, 'castle'), 'SPEND_CAP_REACHED');
  t.regex(await cardOf(it, 'castle'), says);
  t.regex(await frontOf(it, 'castle'), says);
  // With `notify` the cap only sends an alert.
  await it.store.write((tx) => setSpendCap(tx, 'acc_test', 1, 'notify'));
  t.regex(await cardOf(it, 'castle'), /Only Start wakes it/);
});

test('a flat server with a paid period can wake from an empty wallet; one without cannot', async (t) => {
  const it = await openPanel(t, { charged: true });
  const at = it.clock.now();
  for (const id of ['paid', 'unpaid', 'reborn']) await it.create(id, { plan: 'flat', ramMb: 1_024 });
  const flat = { accountId: 'acc_test', kind: 'flat', amountMicros: 0, note: '', at } as const;
  await it.store.write(async (tx) => {
    await post(tx, { ...flat, serverId: 'paid', ref: `paid/${at}/${at}/1024` });
    // An earlier server had the same name.
    await post(tx, { ...flat, serverId: 'reborn', ref: `reborn/${at - 1}/${at}/1024` });
  });
  t.regex(await cardOf(it, 'paid'), FREE);
  t.regex(await cardOf(it, 'unpaid'), /The wallet balance is too low/);
  t.regex(await cardOf(it, 'reborn'), /The wallet balance is too low/);
});

test('an EULA not yet accepted links the owner to the form, and joining wakes the server afterwards', async (t) => {
  const it = await openPanel(t, { config: { minecraftEula: 'ask' } });
  await it.create('castle', { type: 'paper' });
  const says = /<strong>Minecraft’s EULA is not accepted yet<\/strong>: <a href="\/servers\/castle#eula">read it/;
  t.is(await refusedStart(it, 'castle'), 'EULA_NOT_ACCEPTED');
  t.regex(await cardOf(it, 'castle'), says);
  t.regex(await tourOf(it), says);
  t.regex((await it.get('/servers/castle')).text, /<section class="card" id="eula">[^]*I agree/);
  await it.submit('/servers/castle/agree');
  t.regex(await cardOf(it, 'castle'), FREE);
  t.regex(await frontOf(it, 'castle'), /To wake it, join its address/);
});

test('a full disk of a server or an account is shown from earlier measurements, not measured by the page', async (t) => {
  const it = await openPanel(t, { diskQuota: [{ ramMb: Infinity, quotaMb: 2 }] });
  await it.create('castle');
  const root = join(it.dataDir, 'servers/castle');
  await plant(root, { world: Buffer.alloc(3 * MIB, 1) });
  t.regex(await cardOf(it, 'castle'), FREE);
  await it.services.disk.refresh('castle');
  const says = /<strong>Its disk is full<\/strong>: <a href="\/servers\/castle\/files">delete something<\/a>/;
  t.regex(await cardOf(it, 'castle'), says);
  t.regex(await frontOf(it, 'castle'), says);
  t.is(await refusedStart(it, 'castle'), 'QUOTA_EXCEEDED');
  const shared = await openPanel(t, { accountDiskMb: 2 });
  await shared.create('tower');
  await plant(join(shared.dataDir, 'servers/tower'), { world: Buffer.alloc(3 * MIB, 1) });
  t.regex(await cardOf(shared, 'tower'), FREE);
  // A start measures the disk usage that the page does not.
  t.is(await refusedStart(shared, 'tower'), 'ACCOUNT_DISK_EXCEEDED');
  t.regex(await cardOf(shared, 'tower'), /The account’s disk space is used up<\/strong>: <a href/);
});

test('cards show the awake limit, a server too large for the host, and a wait for capacity', async (t) => {
  const it = await openPanel(t, { charged: true, machine: TIGHT, config: { maxRamMb: 8_192 } });
  await pay(it, 5_000_000, 'first');
  await it.create('castle', { ramMb: 1_024 });
  await it.create('tower', { ramMb: 1_024 });
  await it.create('giant', { ramMb: 6_144 });
  t.regex(await cardOf(it, 'tower'), FREE);
  t.regex(
    await cardOf(it, 'giant'),
    /<strong>Its RAM exceeds the available RAM<\/strong>: <a href="\/servers\/giant\/settings">/,
  );
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  const { ramUsableMb, used } = it.services.capacity.now();
  await it.create('large', { ramMb: ramUsableMb - used.ramMb + 1 });
  t.regex(await cardOf(it, 'large'), /<strong>No capacity right now<\/strong>: players who join wait in a queue/);
  await it.services.accountLimits.set('acc_test', { maxRamMb: null, maxServers: 1 }, async () => {});
  t.regex(
    await cardOf(it, 'tower'),
    /limit of awake servers is reached<\/strong>: <a href="\/servers">stop another one first<\/a>/,
  );
  t.is(await refusedStart(it, 'tower'), 'MAX_SERVERS');
  t.notRegex(await cardOf(it, 'castle'), /stop another/);
});

test('a card at its daily wake limit offers Start instead of joining', async (t) => {
  const it = await openPanel(t, { charged: true });
  await pay(it, 5_000_000, 'first');
  await it.create('castle');
  const { wakePolicies: policies } = it.services;
  await policies.set(
    'castle',
    { mode: 'anyone', maxWakesPerDay: 1, asleepMotd: '', maintenanceText: '' },
    async () => {},
  );
  t.regex(await cardOf(it, 'castle'), FREE);
  await wokenByAPlayer(it, 'castle');
  const says =
    /<strong>Daily wake limit reached. Press Start to wake it<\/strong>: <a href="\/servers\/castle\/settings\/joining">/;
  t.regex(await cardOf(it, 'castle'), says);
  t.regex(await tourOf(it), /^Your server is ready. Start it now \| <strong>Daily wake limit reached/);
  await pay(it, -5_000_000, 'last');
  t.regex(await cardOf(it, 'castle'), /The wallet balance is too low/, 'a start is refused too');
});

test('paused starts are shown on sleeping servers, but not on awake ones', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.services.drain.set(undefined, { reason: 'New disks', at: 0 }, async () => {});
  t.regex(await cardOf(it, 'castle'), /<strong>Starts are paused here<\/strong>: ask your administrator/);
  await it.services.drain.set(undefined, undefined, async () => {});
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  await it.services.drain.set(undefined, { reason: 'New disks', at: 0 }, async () => {});
  t.notRegex(await cardOf(it, 'castle'), /Starts are paused/);
});

test('a list of 50 sleeping servers takes as many database reads as a list of 2', async (t) => {
  const it = await openPanel(t, { charged: true, accountDiskMb: 5_000, config: { minecraftEula: 'ask' } });
  await pay(it, 5_000_000, 'first');
  const { wakePolicies: policies } = it.services;
  await it.create('s00', { type: 'paper', plan: 'flat' });
  const model = (await getServer(it.store, 's00'))!;
  const add = async (from: number, to: number) => {
    for (let n = from; n < to; n++) {
      const id = `s${String(n).padStart(2, '0')}`;
      await it.store.write((tx) => insertServer(tx, { ...model, id, name: id, hostname: id, container: id }));
      const policy = { mode: 'anyone', maxWakesPerDay: 3, asleepMotd: '', maintenanceText: '' } as const;
      await policies.set(id, policy, async () => {});
    }
  };
  const { store } = it;
  const query = store.query.bind(store);
  let reads = 0;
  store.query = <Row>(...given: Parameters<typeof query>) => {
    reads++;
    return query<Row>(...given);
  };
  const readsOfAList = async () => {
    reads = 0;
    t.is((await it.get('/servers')).status, 200);
    return reads;
  };
  await add(1, 2);
  const few = await readsOfAList();
  await add(2, 50);
  t.is(await readsOfAList(), few);
  t.regex(await cardOf(it, 's20'), /EULA/);
});

test.runIf(isHere('chromium'))(
  'the card and front page show an empty wallet on a phone, in dark mode too, and the card updates in place',
  async (t) => {
    const it = await openPanel(t, { charged: true });
    await it.create('castle');
    const { page, complaints } = await it.open('/servers', PHONE);
    const front = await it.open('/servers/castle', { ...PHONE, colorScheme: 'dark' });
    for (const each of [page, front.page]) {
      await each.getByText('The wallet balance is too low to start it').first().waitFor();
      await accessible(t, each);
    }
    await page.emulateMedia({ colorScheme: 'dark' });
    await legibleInTheDark(t, page);
    await page.evaluate('window.stays = true');
    await pay(it, 5_000_000, 'first');
    await it.servers.patch('castle', { name: 'Keep' });
    await page.getByRole('link', { name: 'Keep', exact: true }).waitFor();
    await page.getByText('Joining wakes it', { exact: false }).first().waitFor();
    t.true(await page.evaluate('window.stays'), 'the page was not reloaded');
    t.deepEqual([...complaints, ...front.complaints], []);
  },
);

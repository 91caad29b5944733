import test, { type ExecutionContext } from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, type PanelUnderTest, accessible, legibleInTheDark, openPanel } from '../support/panel.ts';
import { until } from '../support/until.ts';

test.after.always(closeBrowser);

const NODES = [
  { id: 'n1', name: 'one' },
  { id: 'n2', name: 'two', ramMb: 768 },
];

/** Returns a server's card in the list, as rendered without scripts. */
async function cardOf(it: PanelUnderTest, id: string): Promise<string> {
  const { text } = await it.get('/servers');
  return text.split(`id="server-${id}"`)[1]?.split('</li>')[0] ?? '';
}

/** Returns the headline and the last step of the first-join guide. */
async function tourOf(it: PanelUnderTest): Promise<string> {
  const { text } = await it.get('/servers');
  const [, tour = ''] = /data-live="tour">([^]*?)<\/section>/.exec(text) ?? [];
  return [/<h2>([^]*?)<\/h2>/.exec(tour)?.[1], /<h3>Join<\/h3>\s*<p>([^]*?)<\/p>/.exec(tour)?.[1]].join(' | ');
}

/** Makes `usr_test` an operator. */
async function operates(it: PanelUnderTest): Promise<void> {
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
}

/** The pages of a service with two nodes. `castle` runs on the first. */
async function loses(t: ExecutionContext): Promise<PanelUnderTest> {
  const it = await openPanel(t, { world: { nodes: NODES } });
  await it.create('castle', { ramMb: 1_024 });
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  return it;
}

test('a suspended server shows its suspension instead of how to wake it, and has no start button', async (t) => {
  const it = await openPanel(t);
  await operates(it);
  await it.create('castle');
  const start = /action="\/servers\/castle\/start"/;
  t.regex((await it.get('/servers/castle')).text, start);
  t.regex(await cardOf(it, 'castle'), /Joining wakes it[^]*action="\/servers\/start"/);
  await it.submit('/operator/accounts/acc_test/suspend', { server: 'castle', reason: 'Report 4711: too loud: twice' });
  const { text } = await it.get('/servers/castle');
  t.regex(text, /<span class="tag bad">suspended<\/span>/);
  t.regex(text, /<strong>Suspended<\/strong>: Report 4711: too loud: twice<[^]*Ask the operator/);
  t.notRegex(text, /press Start/);
  t.notRegex(text, start);
  const card = await cardOf(it, 'castle');
  t.regex(
    card,
    /<span class="tag bad">suspended<\/span>[^]*<strong>Suspended<\/strong>: Report 4711: too loud: twice\s*</,
  );
  t.notRegex(card, /asleep|wakes|action="\/servers\/start"/);
  await it.submit('/operator/accounts/acc_test/unsuspend', { server: 'castle', reason: 'Quiet again' });
  t.regex(await cardOf(it, 'castle'), /Joining wakes it/);
});

test('a server that stops soon shows when in the list, with the buttons to cancel it or not to wait', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  it.games.players.set('castle', 1);
  await it.passUntil(async () => (await it.servers.get('castle'))?.context.live.players === 1, 5_000);
  t.regex(await cardOf(it, 'castle'), />awake<[^]*action="\/servers\/restart"/);
  await it.ok('POST', '/v1/servers/castle:restart', { warnSeconds: 30 });
  for (const view of ['', '?view=table']) {
    const { text } = await it.get(`/servers${view}`);
    t.regex(text, /<span class="tag warn">restarts in <time [^>]*>30 s</);
    t.regex(text, /action="\/servers\/start[^]*Cancel the restart[^]*action="\/servers\/restart[^]*Restart now/);
    t.notRegex(text, /1 player is online/);
  }
  const { my } = await it.ok('GET', '/v1/me/servers');
  t.like((my as object[])[0], { stopsAt: new Date(it.clock.now() + 30_000).toISOString(), stopIsRestart: true });
});

test('a server whose machine does not answer shows that in the list and on its own page', async (t) => {
  const it = await loses(t);
  it.engine.nodes!.cut('n1');
  await it.clock.advance(2_000);
  const says = /<span class="tag bad">waiting<\/span>[^]*Its machine is not responding<\/strong>: one may still run it/;
  t.regex(await cardOf(it, 'castle'), says);
  t.regex((await it.get('/servers/castle')).text, says);
  t.notRegex(await cardOf(it, 'castle'), /playing|awake for/);
  it.engine.nodes!.back('n1');
  await it.clock.advance(2_000);
  t.regex(await cardOf(it, 'castle'), />awake<[^]*no one playing/);
});

test('a server waiting for capacity shows that it starts automatically, and can be removed from the queue', async (t) => {
  const it = await loses(t);
  it.engine.nodes!.cut('n1');
  await it.engine.nodes!.fence('n1');
  await it.reach('castle', 'start_failed');
  const waits = /<span class="tag warn">queued<\/span>/;
  t.regex(await cardOf(it, 'castle'), waits);
  t.regex(
    await cardOf(it, 'castle'),
    /<strong>Waiting for capacity<\/strong>: starts automatically[^]*action="\/servers\/stop"/,
  );
  const { text } = await it.get('/servers/castle');
  t.regex(text, waits);
  t.regex(text, /<strong>No room<\/strong>: No node[^]*It is queued and starts automatically/);
  t.regex((await it.get('/servers/castle/machine')).text, /Times out/);
  await it.submit('/servers/castle/stop');
  t.notRegex(await cardOf(it, 'castle'), waits);
  t.regex(await cardOf(it, 'castle'), /start failed[^]*The last start failed/);
});

test('the pages of a server that players may not wake do not claim that joining wakes it', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  t.regex((await it.get('/servers/castle')).text, /To wake it, join its address/);
  const policy = { mode: 'nobody', maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' } as const;
  for (const closed of [policy, { ...policy, mode: 'anyone', maintenanceText: 'Back at 8' } as const]) {
    await it.services.wakePolicies.set('castle', closed, async () => {});
    t.regex(await cardOf(it, 'castle'), /Only Start wakes it/);
    t.regex((await it.get('/servers/castle')).text, /To wake it, press Start\. Its settings don’t/);
  }
  t.notRegex((await it.get('/servers/castle/players')).text, /wakes it/);
});

test('the first-join tour shows that joining wakes the server, or why it does not', async (t) => {
  const it = await openPanel(t);
  await operates(it);
  await it.create('castle');
  t.regex(await tourOf(it), /^Your server is ready. Join it now \| Joining wakes it\. You wait in the game/);
  await it.submit('/operator/accounts/acc_test/suspend', { server: 'castle', reason: 'Too loud: twice' });
  const barred = 'Your server is ready, but players can’t join now | ';
  t.is(await tourOf(it), `${barred}<strong>Suspended</strong>: Too loud: twice`);
  await it.submit('/operator/accounts/acc_test/unsuspend', { server: 'castle', reason: 'Quiet again' });
  t.regex(await tourOf(it), /\| Joining wakes it/);
  const policy = { mode: 'nobody', maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' } as const;
  for (const closed of [policy, { ...policy, mode: 'anyone', maintenanceText: 'Back at 8' } as const]) {
    await it.services.wakePolicies.set('castle', closed, async () => {});
    t.regex(await tourOf(it), /^Your server is ready. Start it now \| Only Start wakes it\./);
  }
});

test('the first-join tour shows a failed install, and a suspended server offers no retry', async (t) => {
  const it = await openPanel(t);
  await operates(it);
  it.engine.script('pack', { exitCode: 1 });
  await it.create('pack', { modpackPlatform: 'modrinth', modpackRef: 'cobblemon', type: 'fabric' });
  await it.reach('pack', 'install_failed');
  t.is(await tourOf(it), 'Your server is ready, but players can’t join now | Install failed');
  await it.submit('/operator/accounts/acc_test/suspend', { server: 'pack', reason: 'Too loud' });
  const { text } = await it.get('/servers/pack');
  t.regex(text, /<strong>Suspended<\/strong>: Too loud/);
  t.notRegex(text, /retry-install/);
  t.notRegex(await cardOf(it, 'pack'), /retry-install/);
});

test('the first-join tour shows that a server is queued, or that its machine does not answer', async (t) => {
  const it = await loses(t);
  const barred = 'Your server is ready, but players can’t join now | ';
  it.engine.nodes!.cut('n1');
  await it.clock.advance(2_000);
  const lost = 'one may still run it, and two games on one world would corrupt it.';
  t.is(await tourOf(it), `${barred}<strong>Its machine is not responding</strong>: ${lost}`);
  await it.engine.nodes!.fence('n1');
  await it.reach('castle', 'start_failed');
  await it.clock.advance(2_000);
  t.is(await tourOf(it), `${barred}<strong>Waiting for capacity</strong>: starts automatically`);
  await it.submit('/servers/castle/stop');
  t.is(await tourOf(it), `${barred}The last start failed`);
});

test.runIf(isHere('chromium'))('an open server page follows a suspension and its end without a reload', async (t) => {
  const it = await openPanel(t);
  await operates(it);
  await it.create('castle');
  const { page, complaints } = await it.open('/servers/castle', PHONE);
  // Disable the periodic refresh, so that only the stream updates the page.
  await page.addInitScript({
    content: `
      const every = window.setInterval;
      window.setInterval = (act, ms) => (ms < 10_000 ? every(act, ms) : 0);
      document.addEventListener('dormouse:renewed', () => { window.renewed = true; });`,
  });
  await page.reload();
  await until(() => page.evaluate(() => 'renewed' in globalThis));
  await page.evaluate('window.stays = true');
  await it.submit('/operator/accounts/acc_test/suspend', { server: 'castle', reason: 'Too loud' });
  await page.getByText('suspended', { exact: true }).waitFor();
  await page.getByText('Ask the operator of this installation').waitFor();
  t.is(await page.getByRole('button', { name: 'Start' }).count(), 0);
  await accessible(t, page);
  await page.emulateMedia({ colorScheme: 'dark' });
  await legibleInTheDark(t, page);
  await it.submit('/operator/accounts/acc_test/unsuspend', { server: 'castle', reason: 'Quiet again' });
  await page.getByRole('heading', { level: 1 }).getByText('asleep').waitFor();
  await page.getByRole('button', { name: 'Start' }).waitFor();
  t.true(await page.evaluate('window.stays'), 'the page was not reloaded');
  t.deepEqual(complaints, []);
});

test.runIf(isHere('chromium'))(
  'the server list updates live when a machine stops answering and when a server is suspended',
  async (t) => {
    const it = await loses(t);
    await it.create('asleep');
    await operates(it);
    const { page, complaints } = await it.open('/servers', PHONE);
    const open = await it.open('/servers', { colorScheme: 'dark' });
    await page.getByText('awake', { exact: true }).waitFor();
    await page.evaluate('window.stays = true');
    it.engine.nodes!.cut('n1');
    await it.clock.advance(2_000);
    await page.getByText('waiting', { exact: true }).waitFor();
    await it.submit('/operator/accounts/acc_test/suspend', { server: 'asleep', reason: 'Too loud' });
    await page.getByText('suspended', { exact: true }).waitFor();
    await open.page.getByText('suspended', { exact: true }).waitFor();
    t.true(await page.evaluate('window.stays'), 'the page was not reloaded');
    await accessible(t, page);
    await accessible(t, open.page);
    it.engine.nodes!.back('n1');
    t.deepEqual(complaints, []);
  },
);

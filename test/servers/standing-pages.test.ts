import test, { type ExecutionContext } from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { needs } from '../support/needs.ts';
import { PHONE, type PanelUnderTest, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const NODES = [
  { id: 'n1', name: 'one' },
  { id: 'n2', name: 'two', ramMb: 768 },
];

/** A card of the list, as it is without a script. */
async function cardOf(it: PanelUnderTest, id: string): Promise<string> {
  const { text } = await it.get('/servers');
  return text.split(`id="server-${id}"`)[1]?.split('</li>')[0] ?? '';
}

/** `castle` runs on a node that does not answer any more, for longer than it takes to find that out. */
async function loses(t: ExecutionContext): Promise<PanelUnderTest> {
  const it = await openPanel(t, { world: { nodes: NODES } });
  await it.create('castle', { ramMb: 1_024 });
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  return it;
}

test('a suspended server says so where it would say how to wake it, and has no button to start it', async (t) => {
  const it = await openPanel(t);
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  await it.create('castle');
  const start = /action="\/servers\/castle\/start"/;
  t.regex((await it.get('/servers/castle')).text, start);
  t.regex(await cardOf(it, 'castle'), /Joining wakes it[^]*action="\/servers\/start"/);
  await it.submit('/operator/accounts/acc_test/suspend', { server: 'castle', reason: 'Too loud' });
  const { text } = await it.get('/servers/castle');
  t.regex(text, /<span class="tag bad">suspended<\/span>/);
  t.regex(text, /<strong>Suspended<\/strong>: Too loud[^]*Ask the operator/);
  t.notRegex(text, /press Start/);
  t.notRegex(text, start);
  const card = await cardOf(it, 'castle');
  t.regex(card, /<span class="tag bad">suspended<\/span>[^]*<strong>Suspended<\/strong>: Too loud/);
  t.notRegex(card, /asleep|wakes|action="\/servers\/start"/);
  await it.submit('/operator/accounts/acc_test/unsuspend', { server: 'castle', reason: 'Quiet again' });
  t.regex(await cardOf(it, 'castle'), /Joining wakes it/);
});

test('a server whose machine does not answer says so in the list as on its own page', async (t) => {
  const it = await loses(t);
  it.engine.nodes!.cut('n1');
  await it.clock.advance(2_000);
  const says = /<span class="tag bad">waits<\/span>[^]*Its machine does not answer<\/strong>: one may still run it/;
  t.regex(await cardOf(it, 'castle'), says);
  t.regex((await it.get('/servers/castle')).text, says);
  t.notRegex(await cardOf(it, 'castle'), /playing|awake/);
  it.engine.nodes!.back('n1');
  await it.clock.advance(2_000);
  t.regex(await cardOf(it, 'castle'), />awake<[^]*nobody playing/);
});

test('one that waits for room says that it starts by itself, and can be taken out of the line', async (t) => {
  const it = await loses(t);
  it.engine.nodes!.cut('n1');
  await it.engine.nodes!.fence('n1');
  await it.reach('castle', 'start_failed');
  const waits = /<span class="tag warn">in line<\/span>/;
  t.regex(await cardOf(it, 'castle'), waits);
  t.regex(await cardOf(it, 'castle'), /<strong>No room<\/strong>: it starts by itself[^]*action="\/servers\/stop"/);
  const { text } = await it.get('/servers/castle');
  t.regex(text, waits);
  t.regex(text, /<strong>No room<\/strong>: No node[^]*It stands in line, and starts by itself/);
  t.regex((await it.get('/servers/castle/machine')).text, /Given up/);
  await it.submit('/servers/castle/stop');
  t.notRegex(await cardOf(it, 'castle'), waits);
  t.regex(await cardOf(it, 'castle'), /start failed[^]*Its last start failed/);
});

test('where players may not wake it, nothing says that joining does', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  t.regex((await it.get('/servers/castle')).text, /To wake it, join its address/);
  const policy = { mode: 'nobody', maxWakesPerDay: 0, asleepMotd: '', maintenanceText: '' } as const;
  for (const closed of [policy, { ...policy, mode: 'anyone', maintenanceText: 'Back at 8' } as const]) {
    await it.services.wakePolicies.set('castle', closed, async () => {});
    t.regex(await cardOf(it, 'castle'), /Start wakes it, joining does not/);
    t.regex((await it.get('/servers/castle')).text, /To wake it, press Start: players do not/);
  }
  t.notRegex((await it.get('/servers/castle/players')).text, /wakes it/);
});

test('the list says so live: what waits for its machine, and what is suspended', async (t) => {
  if (!(await needs(t, 'chromium'))) return;
  const it = await loses(t);
  await it.create('asleep');
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  const { page, complaints } = await it.open('/servers', PHONE);
  const open = await it.open('/servers', { colorScheme: 'dark' });
  await page.getByText('awake', { exact: true }).waitFor();
  await page.evaluate('window.stays = true');
  it.engine.nodes!.cut('n1');
  await it.clock.advance(2_000);
  await page.getByText('waits', { exact: true }).waitFor();
  await it.submit('/operator/accounts/acc_test/suspend', { server: 'asleep', reason: 'Too loud' });
  await page.getByText('suspended', { exact: true }).waitFor();
  await open.page.getByText('suspended', { exact: true }).waitFor();
  t.true(await page.evaluate('window.stays'), 'it is still the same page');
  await accessible(t, page);
  await accessible(t, open.page);
  it.engine.nodes!.back('n1');
  t.deepEqual(complaints, []);
});

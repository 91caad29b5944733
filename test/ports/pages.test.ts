import test from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const PAGE = '/servers/castle/ports';

test('a port can be opened and closed without a script, and a refused one keeps the typed values', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const ports = async () => (await it.ok('GET', '/v1/servers/castle'))['ports'] as { hostPort: number }[];
  const fields = { containerPort: '24454', proto: 'udp', label: 'Voice <chat>' };
  t.is((await it.submit(`${PAGE}/open`, fields)).status, 303);
  const [port] = await ports();
  t.like(port, { containerPort: 24_454, proto: 'udp', label: 'Voice <chat>' });
  const page = (await it.get(PAGE)).text;
  t.regex(page, /Voice &lt;chat&gt;/);
  t.true(page.includes(`castle.play.example:${port?.hostPort}`), page);
  const refused = await it.submit(`${PAGE}/open`, { containerPort: '25565', proto: 'tcp', label: 'Game' });
  t.is(refused.status, 400);
  t.regex(await refused.text(), /id="open-containerPort"[^>]*aria-invalid="true"[^>]*value="25565"/);

  await it.stranger();
  await it.share('castle', 'limited');
  const guest = await it.browser('usr_other');
  t.notRegex((await it.get(PAGE, guest)).text, /ports\/(?:open|close)/);
  t.is((await it.submit(`${PAGE}/close`, { slot: '0' }, guest)).status, 403);
  t.is((await it.submit(`${PAGE}/close`, { slot: '0', csrf: 'forged' })).status, 403);
  t.is((await it.submit(`${PAGE}/close`, { slot: '0' })).status, 303);
  t.deepEqual(await ports(), []);
});

test('a port for Bedrock players is opened with a tick, and needs UDP', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const fields = { containerPort: '19132', proto: 'tcp', label: 'Bedrock', wakes: 'true' };
  const refused = await it.submit(`${PAGE}/open`, fields);
  t.is(refused.status, 400);
  t.regex(await refused.text(), /needs the protocol udp/);
  t.is((await it.submit(`${PAGE}/open`, { ...fields, proto: 'udp' })).status, 303);
  t.regex((await it.get(PAGE)).text, /Bedrock players wake the server here\./);
});

test('with several machines, the ports page shows the machine’s address only while the server runs', async (t) => {
  const it = await openPanel(t, { world: { nodes: [{ id: 'n1', publicHost: '2001:db8::1' }] } });
  await it.create('castle');
  await it.submit(`${PAGE}/open`, { containerPort: '24454', proto: 'udp', label: 'Voice chat' });
  const asleep = (await it.get(PAGE)).text;
  t.regex(asleep, /port <b><code>40000<\/code><\/b> of the machine that runs it/);
  t.regex(asleep, /Each start\s+can\s+choose/);
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  const awake = (await it.get(PAGE)).text;
  t.regex(awake, /<code>\[2001:db8::1\]:40000<\/code>/);
  t.regex(awake, /choose another\s+machine/);
});

test.runIf(isHere('chromium'))(
  `the ports page opens and closes a port and is accessible in dark mode on a phone`,
  async (t) => {
    const it = await openPanel(t);
    await it.create('castle');
    const { page, complaints } = await it.open(PAGE, { ...PHONE, colorScheme: 'dark' });
    await page.getByLabel('Port in the game').fill('24454');
    await page.getByLabel('What it is for').fill('Voice chat');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Voice chat' }).waitFor();
    await accessible(t, page);
    await page.locator('summary', { hasText: 'Close' }).click();
    await page.getByRole('button', { name: 'Close the port' }).click();
    await page.getByText('No open ports.').waitFor();
    t.deepEqual(complaints, []);
  },
);

import test, { type ExecutionContext } from 'ava';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { PHONE, accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

/** An operator's pages with three nodes: the first has lost a game, the second is drained. */
async function office(t: ExecutionContext) {
  const nodes = [
    { id: 'n1', name: 'attic' },
    { id: 'n2', name: 'cellar', drained: true },
    {
      id: 'n3',
      name: 'shed',
      region: 'eu',
      trouble: 'It does not share the servers’ folder: it is not mounted there.',
    },
  ];
  const it = await openPanel(t, { world: { nodes } });
  await it.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  await it.create('castle', { name: 'Castle', ramMb: 1_024 });
  await it.command('castle', 'START');
  await it.until(() => it.engine.boots.includes('castle'));
  await it.reach('castle', 'running');
  it.engine.nodes!.cut('n1');
  await it.clock.advance(2_000);
  return {
    ...it,
    async sent(path: string, fields: Record<string, string>) {
      const answer = await it.submit(path, fields);
      return answer.status === 303 ? (await it.get(answer.headers.get('location') ?? '')).text : answer.text();
    },
  };
}

test('an operator can resume, move and mark nodes as off without scripts, and a missing reason shows an error', async (t) => {
  const it = await office(t);
  const { text } = await it.get('/operator/nodes');
  t.regex(text, /attic[^]*not responding[^]*One of its games waits[^]*Mark as off…[^]*cellar[^]*shed[^]*unavailable/);
  t.is(
    text.match(/action="\/operator\/nodes\/fence"/g)?.length,
    1,
    'only a node with waiting games can be marked as off',
  );
  const unsaid = await it.sent('/operator/nodes/fence', { node: 'n1', reason: '' });
  t.regex(unsaid, /<details class="confirm" open>[^]*id="fence-n1-reason-wrong">is required/);
  t.regex(await it.sent('/operator/nodes/fence', { node: 'n2', reason: 'off' }), /cellar responds, so it is not off/);
  t.regex(await it.sent('/operator/nodes/resume', { node: 'n2', reason: 'done' }), /Node resumed/);
  const moved = { node: 'n3', region: 'us', reason: 'a new rack' };
  t.regex(await it.sent('/operator/nodes/region', moved), /Region saved[^]*value="us"/);
  t.regex(await it.sent('/operator/nodes/fence', { node: 'n1', reason: 'power pulled' }), /Node marked as off/);
  await it.until(() => it.engine.nodes!.whereIs('castle')?.id === 'n2');
  t.notRegex((await it.get('/operator/nodes')).text, /action="\/operator\/nodes\/fence"/);
});

test.runIf(isHere('chromium'))(
  `the nodes page and the page of a server on a lost node are accessible in dark mode`,
  async (t) => {
    const it = await office(t);
    const { page } = await it.open('/servers/castle', { ...PHONE, colorScheme: 'dark' });
    await page.getByText('Its machine is not responding').waitFor();
    await accessible(t, page);
    await page.goto(`${it.origin}/operator/nodes`);
    await page.getByText('Mark as off…').click();
    await accessible(t, page);
  },
);

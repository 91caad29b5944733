import test from 'ava';
import { webhookBody } from '../../src/insight/alerts/body.ts';
import { closeBrowser } from '../support/browser.ts';
import { isHere } from '../support/needs.ts';
import { accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const PAGE = '/servers/castle/settings/alerts';
const HOOK = 'https://discord.com/api/webhooks/1/secret';

test('the alerts page saves, tests and removes a webhook, and refuses a bad URL with the typed value kept', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  const hook = async () => (await it.ok('GET', '/v1/servers/castle'))['alertWebhookUrl'];
  t.notRegex((await it.get(PAGE)).text, /Send a test alert/);
  const refused = await it.submit(`${PAGE}/save`, { url: 'http://localhost/hook' });
  t.is(refused.status, 400);
  t.regex(await refused.text(), /aria-invalid="true"[^>]*value="http:\/\/localhost\/hook"/);
  t.is((await it.submit(`${PAGE}/save`, { url: ` ${HOOK} ` })).status, 303);
  t.is(await hook(), HOOK);
  t.is((await it.submit(`${PAGE}/test`)).status, 303);
  t.deepEqual(it.notices, [['castle', { event: 'test', at: it.clock.now() }]]);
  t.is((await it.submit(`${PAGE}/save`, { url: '' })).status, 303);
  t.is(await hook(), '');
  const { status, reason } = await it.call('POST', '/v1/servers/castle:setAlertWebhook', { body: { test: true } });
  t.deepEqual([status, reason], [400, 'INVALID_FIELD']);
  const { entries } = (await it.ok('GET', '/v1/servers/castle/audit')) as { entries: { detail: string }[] };
  t.is(entries.filter(({ detail }) => detail.endsWith('set, test alert')).length, 1);
});

test('the alerts page warns when the server version does not report its tick rate', async (t) => {
  const it = await openPanel(t);
  await it.create('castle', { type: 'fabric', version: '1.19.2' });
  t.regex((await it.get(PAGE)).text, /can’t be detected on this server: Fabric 1\.19\.2 doesn’t report its tick rate/);
  await it.servers.patch('castle', { version: '1.20.4' });
  t.notRegex((await it.get(PAGE)).text, /doesn’t report its tick rate/);
});

test('a test alert names its server and is marked as a test', (t) => {
  const message = { id: 'dlv_1', serverId: 'castle', serverName: 'Castle', notice: { event: 'test', at: 0 } } as const;
  t.like(webhookBody(HOOK, message), {
    content: 'Test alert for Castle',
    dormouse: { event: 'test', serverId: 'castle' },
  });
  t.like(webhookBody('https://hooks.slack.com/services/1', message), {
    text: 'Test alert for Castle\nThis webhook works. It receives the alerts of this server.',
  });
});

test.runIf(isHere('chromium'))('the alerts page is accessible, and its button sends a test alert', async (t) => {
  const it = await openPanel(t);
  await it.create('castle');
  await it.ok('POST', '/v1/servers/castle:setAlertWebhook', { url: HOOK });
  const { page, complaints } = await it.open(PAGE);
  await accessible(t, page);
  await page.getByRole('button', { name: 'Send a test alert' }).click();
  await page.getByText('Test alert sent.').waitFor();
  t.deepEqual(complaints, []);
});

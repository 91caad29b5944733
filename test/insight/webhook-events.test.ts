import test, { type ExecutionContext } from 'ava';
import { noticeBody } from '../../src/insight/alerts/body.ts';
import { noticePlayers } from '../../src/joining/player-notices.ts';
import { createPresence } from '../../src/servers/presence.ts';
import { createLog } from '../../src/kernel/log.ts';
import { EVENTS, NOTICE_KINDS } from '../../src/notices/events.ts';
import { listDeliveries } from '../../src/notices/rows.ts';
import { isHere } from '../support/needs.ts';
import { closeBrowser } from '../support/browser.ts';
import { accessible, openPanel } from '../support/panel.ts';

test.after.always(closeBrowser);

const WEBHOOKS = '/v1/accounts/acc_test/webhooks';
const HOOK = 'https://discord.com/api/webhooks/1/s3cr3t';
const PAGE = '/profile/webhooks';

/** A panel and API with one server. */
async function opened(t: ExecutionContext) {
  const it = await openPanel(t);
  await it.create('castle', { name: 'Castle' });
  const make = async (fields: object = {}) => {
    const body = { url: HOOK, kinds: [...NOTICE_KINDS], ...fields };
    const { webhook, secret } = await it.ok('POST', WEBHOOKS, body);
    return { id: (webhook as { webhookId: string }).webhookId, secret: String(secret) };
  };
  const events = async (id: string) =>
    (await listDeliveries(it.store, id))
      .map(({ notice }) => (JSON.parse(notice) as { event: string }).event)
      .toReversed();
  return { ...it, make, events };
}

test('the API creates, lists, changes, rotates and deletes webhooks, and shows each secret once', async (t) => {
  const it = await opened(t);
  const { id, secret } = await it.make({ serverId: 'castle', kinds: ['crashed', 'crashed'], format: 'json' });
  t.regex(id, /^whk_\w{16}$/);
  t.regex(secret, /^whsec_[\w-]{43}$/);
  const listed = await it.ok('GET', WEBHOOKS);
  t.like(listed, {
    webhooks: [{ webhookId: id, serverId: 'castle', url: HOOK, format: 'json', kinds: ['crashed'], enabled: true }],
  });
  t.false(JSON.stringify(listed).includes('whsec_'));
  const rotated = await it.ok('POST', `${WEBHOOKS}:rotateSecret`, { webhookId: id });
  t.not(rotated['secret'], secret);
  t.like(await it.ok('POST', `${WEBHOOKS}:update`, { webhookId: id, kinds: ['money'] }), {
    kinds: ['money'],
    format: 'json',
  });
  await it.ok('POST', `${WEBHOOKS}:test`, { webhookId: id });
  t.like(await it.ok('GET', `${WEBHOOKS}/${id}/deliveries`), {
    deliveries: {
      0: { event: 'test', serverId: 'castle', state: 'waiting', status: 0, attempts: 0, doneAt: null },
      length: 1,
    },
  });
  t.is(
    (await it.call('POST', `${WEBHOOKS}:resend`, { body: { webhookId: id, deliveryId: 'dlv_1' } })).reason,
    'DELIVERY_NOT_FINISHED',
  );
  t.like(await it.ok('POST', `${WEBHOOKS}:update`, { webhookId: id, enabled: false }), { enabled: false });
  t.like(await it.ok('GET', `${WEBHOOKS}/${id}/deliveries`), { deliveries: { 0: { state: 'failed', nextAt: null } } });
  t.is((await it.call('POST', `${WEBHOOKS}:test`, { body: { webhookId: id } })).reason, 'WEBHOOK_OFF');
  await it.ok('POST', `${WEBHOOKS}:update`, { webhookId: id, enabled: true });
  const { deliveries } = (await it.ok('GET', `${WEBHOOKS}/${id}/deliveries`)) as {
    deliveries: { deliveryId: string }[];
  };
  await it.ok('POST', `${WEBHOOKS}:resend`, { webhookId: id, deliveryId: deliveries[0]?.deliveryId });
  t.like(await it.ok('GET', `${WEBHOOKS}/${id}/deliveries`), { deliveries: { 0: { state: 'waiting' }, length: 1 } });
  await it.ok('POST', `${WEBHOOKS}:delete`, { webhookId: id });
  t.deepEqual(await it.ok('GET', WEBHOOKS), { webhooks: [] });
  t.is((await it.call('GET', `${WEBHOOKS}/${id}/deliveries`)).reason, 'WEBHOOK_NOT_FOUND');
  const audit = JSON.stringify(await it.ok('GET', '/v1/accounts/acc_test/audit'));
  t.regex(audit, /webhook\.create[^}]*discord\.com|discord\.com[^}]*webhook\.create/);
  t.false(audit.includes('s3cr3t'));
});

test('the API refuses bad webhooks, those of other accounts, keys of some servers, and more than 20', async (t) => {
  const it = await opened(t);
  const refuses = async (fields: object) => {
    const { status, reason } = await it.call('POST', WEBHOOKS, { body: { url: HOOK, kinds: ['money'], ...fields } });
    t.deepEqual([status, reason], [400, 'INVALID_FIELD'], JSON.stringify(fields));
  };
  for (const url of ['http://example.com/', 'https://10.0.0.1/', 'https://localhost/', '']) await refuses({ url });
  await refuses({ kinds: [] });
  await refuses({ kinds: ['weather'] });
  await refuses({ format: 'xml' });
  await refuses({ serverId: 'nowhere' });
  const { id } = await it.make();
  const key = await it.stranger();
  t.is((await it.call('GET', WEBHOOKS, { key })).status, 403);
  const theirs = '/v1/accounts/acc_other/webhooks';
  t.is((await it.call('POST', `${theirs}:delete`, { key, body: { webhookId: id } })).status, 404);
  t.is((await it.call('POST', theirs, { key, body: { url: HOOK, kinds: ['money'], serverId: 'castle' } })).status, 400);
  const limited = await it.mint(['servers:write'], { serverIds: ['castle'] });
  t.is((await it.call('GET', WEBHOOKS, { key: limited.key })).reason, 'KEY_LIMITED');
  for (let n = 1; n < 20; n++) await it.make();
  t.is((await it.call('POST', WEBHOOKS, { body: { url: HOOK, kinds: ['money'] } })).reason, 'WEBHOOK_LIMIT');
});

test('events about money and members need the scope that reads them', async (t) => {
  const it = await opened(t);
  const { key } = await it.mint(['servers:write']);
  for (const kind of ['money', 'members']) {
    const refused = await it.call('POST', WEBHOOKS, { key, body: { url: HOOK, kinds: ['started', kind] } });
    t.deepEqual([refused.status, refused.reason], [403, 'SCOPE_MISSING'], kind);
  }
  const made = await it.call('POST', WEBHOOKS, { key, body: { url: HOOK, kinds: ['started'] } });
  t.is(made.status, 200);
});

test('a webhook is notified of starts, sleep, members, money, backups and a new version, each in the write of the event', async (t) => {
  const it = await opened(t);
  const { id } = await it.make();
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  await it.ok('POST', '/v1/servers/castle/members', { email: 'friend@example.com', role: 'limited' });
  await it.command('castle', 'STOP');
  await it.reach('castle', 'hibernated');
  t.deepEqual(await it.events(id), ['server.started', 'member.invite', 'server.asleep']);
  await it.ok('POST', '/v1/servers/castle/backups');
  await it.until(async () => (await it.events(id)).includes('backup.finish'));
  await it.ok('POST', '/v1/servers/castle:updateVersion', { version: '1.21.7' });
  t.true((await it.events(id)).includes('server.version'));
  const { checkoutUrl } = await it.ok('POST', '/v1/accounts/acc_test/checkout-link', { amountUsd: 5 });
  const path = new URL(String(checkoutUrl)).pathname;
  await it.submit(path, { decision: 'pay' });
  t.is((await it.events(id)).at(-1), 'wallet.topup');
});

test('a webhook is notified of players who join and leave, but not of those who are online when the service starts', async (t) => {
  const it = await opened(t);
  const { id } = await it.make({ kinds: ['players'] });
  const log = createLog({ level: 'info', pretty: false, destination: { write() {} } });
  const presence = createPresence(it.clock);
  let players: string[] = [];
  const see = (names: string[], inside = names.length) => {
    players = names;
    presence.changed('castle', { inside, knocking: names.length - inside });
  };
  const announced = async () =>
    (await listDeliveries(it.store, id)).toReversed().map(({ notice }) => {
      const { event, detail } = JSON.parse(notice) as { event: string; detail: string };
      return `${event} ${detail}`;
    });
  const expected: string[] = [];
  const follows = async (...events: string[]) => {
    expected.push(...events);
    await it.until(async () => (await announced()).length >= expected.length);
    t.deepEqual(await announced(), expected);
  };
  noticePlayers({ ...it, log }, presence, () => players.map((name) => ({ name })));
  const reported = Promise.withResolvers<void>();
  presence.expect(reported.promise);
  see(['Alex']);
  reported.resolve();
  await it.until(() => presence.isKnown());
  see(['Alex', 'Steve']);
  await follows('player.join Steve');
  see(['Steve']);
  await follows('player.leave Alex');
  // A stop ends the run before the last connection closes.
  presence.forget('castle');
  see([]);
  await follows('player.leave Steve');
  see(['Steve']);
  await follows('player.join Steve');
  // The game refuses a player who was logging in while another one joined.
  see(['Steve', 'Stranger'], 1);
  see(['Steve', 'Stranger', 'Alex'], 2);
  see(['Steve', 'Alex']);
  await follows('player.join Alex');
});

test('messages of all events stay within Discord’s limit, escape texts from outside, and mention no one', (t) => {
  const about = { id: 'dlv_1', accountId: 'acc_1', serverId: 'castle', serverName: '*'.repeat(500) };
  for (const event of [...Object.keys(EVENTS), 'event.of.tomorrow']) {
    const notice = { event, detail: '@everyone *'.repeat(500), at: 0 };
    const body = noticeBody({ url: HOOK, format: 'discord' }, { ...about, notice }) as {
      content: string;
      embeds: { description: string }[];
      allowed_mentions: object;
    };
    t.true(body.content.length > 0 && body.content.length <= 2_000, event);
    t.true((body.embeds[0]?.description.length ?? 0) <= 4_096, event);
    t.deepEqual(body.allowed_mentions, { parse: [] });
    t.notRegex(JSON.stringify([body.content, body.embeds]), /@everyone/);
    t.like(noticeBody({ url: HOOK, format: 'json' }, { ...about, notice }), { event, serverId: 'castle' });
    t.like(noticeBody({ url: 'https://hooks.slack.com/x', format: 'discord' }, { ...about, notice }), {
      mrkdwn: false,
    });
  }
});

test('the webhook pages create a webhook with its secret, list messages, resend one and delete the webhook', async (t) => {
  const it = await opened(t);
  t.regex((await it.get('/servers/castle/settings/alerts')).text, /href="\/profile\/webhooks\?server=castle"/);
  t.regex((await it.get(`${PAGE}?server=castle`)).text, /No webhooks yet[^]*value="castle" selected/);
  const refused = await it.submit(`${PAGE}/create`, { url: 'http://nowhere', serverId: '', 'kind-money': 'true' });
  t.is(refused.status, 400);
  t.regex(await refused.text(), /must begin with https[^]*value="http:\/\/nowhere"/);
  const made = await (
    await it.submit(`${PAGE}/create`, { url: HOOK, serverId: 'castle', 'kind-money': 'true' })
  ).text();
  t.regex(made, /whsec_[\w-]{43}[^]*never shown again|never shown again[^]*whsec_[\w-]{43}/);
  const page = /\/profile\/webhooks\/whk_\w{16}/.exec(made)?.[0] ?? '';
  const list = (await it.get(PAGE)).text;
  t.regex(list, /discord\.com[^]*Castle[^]*Money/);
  t.false(list.includes('s3cr3t'));
  t.is((await it.submit(`${page}/test`)).headers.get('location'), `${page}?done=test`);
  t.regex((await it.get(page)).text, /<code>test<\/code>[^]*waiting/);
  await it.store.write((tx) =>
    tx.run(`UPDATE "webhook_messages" SET "state" = 'failed', "status" = $1, "answer" = $2`, [500, '<oops>']),
  );
  const failed = (await it.get(page)).text;
  t.regex(failed, /given up[^]*500[^]*&lt;oops&gt;[^]*Resend/);
  const deliveryId = /name="deliveryId" value="(dlv_\w+)"/.exec(failed)?.[1] ?? '';
  t.is((await it.submit(`${page}/resend`, { deliveryId })).headers.get('location'), `${page}?done=resent`);
  t.is((await it.submit(`${page}/save`, { url: HOOK, format: 'json', 'kind-disk': 'true' })).status, 303);
  t.like(await it.ok('GET', WEBHOOKS), { webhooks: { 0: { format: 'json', kinds: ['disk'] } } });
  t.is((await it.submit(`${page}/switch`, { enabled: 'false' })).headers.get('location'), `${page}?done=off`);
  await it.store.write((tx) => tx.run('UPDATE "webhooks" SET "failingSince" = $1', [1]));
  t.regex((await it.get(page)).text, /Switched off: no message was accepted/);
  t.regex(await (await it.submit(`${page}/rotate`)).text(), /whsec_/);
  t.is((await it.submit(`${page}/delete`)).headers.get('location'), `${PAGE}?done=deleted`);
  t.is((await it.get(page)).status, 404);
});

test.runIf(isHere('chromium'))('the webhook pages are accessible', async (t) => {
  const it = await opened(t);
  const { id } = await it.make();
  await it.ok('POST', `${WEBHOOKS}:test`, { webhookId: id });
  const { page, complaints } = await it.open(PAGE);
  await accessible(t, page);
  await page.goto(`${it.origin}${PAGE}/${id}`);
  await accessible(t, page);
  t.deepEqual(complaints, []);
});

import test, { type ExecutionContext } from 'ava';
import { gameConsoles } from '../../src/engines/console/console.ts';
import * as fc from '../support/property.ts';
import { createAlerts, incidentStep } from '../../src/insight/alerts/alerts.ts';
import { type Notice, webhookBody } from '../../src/insight/alerts/body.ts';
import { createWebhookOutbox } from '../../src/insight/alerts/outbox.ts';
import { type Webhook, type WebhookAnswer, type WebhookCall, WebhookError } from '../../src/insight/alerts/webhook.ts';
import { ServerEvents, type TypedEvent } from '../../src/insight/events.ts';
import { Metrics } from '../../src/insight/metrics.ts';
import { atMost, createSlidingLog } from '../../src/kernel/limits/sliding-log.ts';
import { createLog } from '../../src/kernel/log.ts';
import { fakeClock } from '../fakes/clock.ts';
import { passOutbox } from '../support/outbox-time.ts';
import { world } from '../support/world.ts';

const HOOK = 'https://discord.com/api/webhooks/1/s3cr3t';
const LOW: Notice = { event: 'tps.low', at: 1_700_000_000_000, tps: 9.5, mspt: 105.26, players: 3 };
const MINUTE = 60_000;

const pace = (...values: (number | [tps: number, players: number])[]) =>
  values.map((value, n) => {
    const [tps, players] = typeof value === 'number' ? [value, 1] : value;
    return { at: n * MINUTE, tps, players };
  });

test('an incident opens after three slow minutes with players online and closes after two good minutes', (t) => {
  const step = (openedAt: number | null, ...values: Parameters<typeof pace>) =>
    incidentStep(pace(...values), { openedAt, readyAt: 0 });
  t.is(step(null, 14.9, 10, 2), 'open');
  t.is(step(null, 14, 14), undefined, 'two minutes are not enough');
  t.is(step(null, 14, 15, 14), undefined);
  t.is(step(null, 20, 14, 14, 14), 'open');
  t.is(step(null, 14, 0, 14), undefined, 'a minute without a reading');
  t.is(step(null, 14, [14, 0], 14), undefined, 'a minute without players');
  t.is(step(5, 14, 18, 20), 'close');
  t.is(step(5, 18, 17.9, 18), undefined);
  t.is(step(5, 18, 0), undefined);
  t.is(step(5, [20, 0], [20, 0]), 'close');
  t.is(incidentStep(pace(20, 20), { openedAt: 5, readyAt: 6 }), 'forget');
});

test('incidents open and close in turn for any series of tick rates', (t) => {
  const tps = fc.oneof(fc.constantFrom(0, 14.9, 15, 17.9, 18, 20), fc.double({ min: 0, max: 20, noNaN: true }));
  fc.assert(
    fc.property(fc.array(tps, { maxLength: 60 }), (values) => {
      let openedAt: number | null = null;
      const readings = pace(...values);
      for (let n = 1; n <= readings.length; n++) {
        const step = incidentStep(readings.slice(0, n).slice(-3), { openedAt, readyAt: 0 });
        if (step === 'open') {
          t.is(openedAt, null);
          t.true(values.slice(n - 3, n).every((value) => value < 15));
          openedAt = n;
        } else if (step === 'close') {
          t.not(openedAt, null);
          t.true(values.slice(n - 2, n).every((value) => value >= 18));
          openedAt = null;
        }
      }
    }),
  );
});

const message = (serverName: string, notice: Notice = LOW) => ({ id: 'dlv_1', serverId: 'abc', serverName, notice });

test('a webhook body for Discord also carries the fields for custom receivers', (t) => {
  t.deepEqual(webhookBody(HOOK, message('Castle')), {
    username: 'Dormouse',
    content: 'Castle is slow: 9.5 of 20 ticks per second',
    embeds: [
      {
        description: 'A tick takes 105.3 ms, with 3 players online. You will be notified when it recovers.',
        color: 0xd64541,
        timestamp: '2023-11-14T22:13:20.000Z',
      },
    ],
    allowed_mentions: { parse: [] },
    dormouse: {
      id: 'dlv_1',
      event: 'tps.low',
      serverId: 'abc',
      at: '2023-11-14T22:13:20.000Z',
      tps: 9.5,
      mspt: 105.26,
      players: 3,
    },
  });
});

test('a Slack webhook body describes a recovery, an ended incident and a reached spend cap', (t) => {
  const slack = 'https://hooks.slack.com/services/T/B/x';
  const good: Notice = {
    event: 'tps.recovered',
    at: LOW.at,
    tps: 19.96,
    mspt: 4,
    players: 1,
    openedAt: LOW.at - 720_000,
  };
  t.deepEqual(webhookBody(slack, message('Castle', good)), {
    text: 'Castle has recovered: 20 ticks per second\nIt was slow for 12 minutes. Now it has 1 player online.',
    mrkdwn: false,
    link_names: false,
  });
  t.like(
    (webhookBody('https://discord.com/api/webhooks/1/x', message('Castle', good)) as { dormouse: object }).dormouse,
    {
      at: '2023-11-14T22:13:20.000Z',
      openedAt: '2023-11-14T22:01:20.000Z',
    },
  );
  const ended: Notice = { event: 'tps.ended', at: LOW.at, openedAt: LOW.at - 60_000 };
  t.like(webhookBody(slack, message('Castle', ended)), {
    text: 'Castle was stopped while it was slow\nIt was slow for a minute.',
  });
  const cap: Notice = { event: 'spendCap.reached', at: LOW.at, capMicros: 5_500_000, action: 'stop' };
  const { text } = webhookBody(slack, message('A & <B>', cap)) as { text: string };
  t.is(
    text,
    'This month’s spend cap is reached: 5.50 USD\n' +
      'The cap applies to the account of A &amp; &lt;B&gt;. Servers are being put to sleep.',
  );
});

test('user text in an alert is escaped against mentions, formatting and template injection', (t) => {
  const content = (name: string, url = HOOK) => {
    const body = webhookBody(url, message(name)) as { content?: string; text?: string };
    return (body.content ?? body.text ?? '').split(' is slow')[0];
  };
  t.is(content('@everyone'), '\\@\u200Beveryone');
  t.is(content('<@123> <#4> <@&5>'), '\\<\\@\u200B123\\> \\<\\#4\\> \\<\\@\u200B\\&5\\>');
  t.is(content('**b** [x](https://e.vil)'), '\\*\\*b\\*\\* \\[x\\]\\(https\\:\\/\\/e\\.vil\\)');
  t.is(content('{{7*7}} ${7} $& $1 %s'), '\\{\\{7\\*7\\}\\} \\$\\{7\\} \\$\\& \\$1 \\%s');
  t.is(content('a\n# b\u202Egnp'), 'a \\# b gnp');
  t.is(content('<!channel> & @here', 'https://hooks.slack.com/x'), '&lt;!channel&gt; &amp; @\u200Bhere');
  t.is(content('\n\u200B'), 'A server');
  t.is(content('x'.repeat(500))?.length, 80);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      const said = content(name) ?? '';
      t.notRegex(said, /@(?!\u200B)|[\n\r]/);
      t.true(said.isWellFormed());
    }),
  );
});

test('a sliding log limits calls per key and forgets calls older than its window', async (t) => {
  const clock = fakeClock();
  const limiter = createSlidingLog(atMost(2, 1_000), clock);
  const take = (key: string) => limiter.take(key).waitMs === 0;
  t.deepEqual([take('a'), take('a'), take('a'), take('b')], [true, true, false, true]);
  await clock.advance(600);
  t.false(take('a'));
  t.true(take('b'));
  await clock.advance(401);
  t.true(take('a'));
});

/** Servers, and an outbox whose receiver returns `answer`. */
async function sending(t: ExecutionContext) {
  const base = await world(t);
  const { store, clock } = base;
  const calls: (WebhookCall & { at: number })[] = [];
  const entries: { action: string; serverId: string; detail: string }[] = [];
  const logged: string[] = [];
  const log = createLog({ level: 'debug', pretty: false, destination: { write: (line) => void logged.push(line) } });
  const it = {
    ...base,
    calls,
    entries,
    logged,
    log,
    answer: async (): Promise<WebhookAnswer> => ({ status: 204, retryAfterSeconds: null, text: '' }),
    outbox: undefined as unknown as ReturnType<typeof open>,
    /** Replaces the outbox, like the next process. */
    async restart() {
      await it.outbox.close();
      it.outbox = open();
    },
    add: (serverId: string, notice: Notice = { ...LOW, at: clock.now() }) =>
      store.write((tx) => it.outbox.add(tx, serverId, notice)),
    pass: (ms: number) => passOutbox(base, ms),
  };
  function open() {
    const webhook: Pick<Webhook, 'post'> = {
      async post(call) {
        calls.push({ ...call, at: clock.now() });
        return it.answer();
      },
    };
    const record = async (_: unknown, entry: { action: string; serverId: string; detail: string }) =>
      void entries.push(entry);
    return createWebhookOutbox({ store, clock, log }, webhook, record, { secretOf: () => 'whsec_test', onOff() {} });
  }
  it.outbox = open();
  t.teardown(() => it.outbox.close());
  return it;
}

test('the outbox sends a message once and deletes it, and queues no message without a webhook', async (t) => {
  const it = await sending(t);
  await it.create('abc', { alertWebhookUrl: HOOK });
  await it.create('off');
  await it.add('abc');
  await it.add('off');
  await it.add('gone');
  t.is(await it.outbox.waiting(it.store), 1);
  await it.pass(4_000);
  t.is(it.calls.length, 1);
  t.is(it.calls[0]?.url, HOOK);
  t.regex(it.calls[0]?.id ?? '', /^dlv_\w{26}$/);
  t.is(await it.outbox.waiting(it.store), 0);
  await it.pass(MINUTE);
  t.is(it.calls.length, 1);
});

test('the outbox sends no message if its transaction fails', async (t) => {
  const it = await sending(t);
  await it.create('abc', { alertWebhookUrl: HOOK });
  const failing = it.store.write(async (tx) => {
    await it.outbox.add(tx, 'abc', LOW);
    throw new Error('not this time');
  });
  await t.throwsAsync(failing);
  await it.pass(10_000);
  t.is(it.calls.length, 0);
});

test('the outbox retries with the same id and growing delays across a restart, then gives up and records it', async (t) => {
  const it = await sending(t);
  await it.create('abc', { alertWebhookUrl: HOOK });
  it.answer = async () => ({ status: 503, retryAfterSeconds: null, text: '' });
  await it.add('abc');
  await it.pass(MINUTE);
  t.is(it.calls.length, 2);
  await it.restart();
  it.answer = () => Promise.reject(new WebhookError('unreachable', 'no'));
  await it.pass(100 * MINUTE);
  t.is(new Set(it.calls.map(({ id }) => id)).size, 1);
  const gaps = it.calls.slice(1).map(({ at }, n) => Math.round((at - (it.calls[n]?.at ?? 0)) / 1_000 / 5) * 5);
  t.deepEqual(gaps, [15, 60, 240, 900, 3_600]);
  t.is(await it.outbox.waiting(it.store), 0);
  t.like(it.entries, {
    0: { action: 'server.alertGivenUp', serverId: 'abc', detail: 'tps.low: unreachable' },
    length: 1,
  });
  t.false(it.logged.join('').includes('s3cr3t'), 'the secret URL is not logged');
});

test('the outbox drops a message after a 404 and waits for the Retry-After of a 429', async (t) => {
  const it = await sending(t);
  await it.create('abc', { alertWebhookUrl: HOOK });
  it.answer = async () => ({ status: 404, retryAfterSeconds: null, text: '' });
  await it.add('abc');
  await it.pass(10_000);
  t.is(it.calls.length, 1);
  t.is(it.entries[0]?.detail, 'tps.low: answered 404');
  it.answer = async () => ({ status: 429, retryAfterSeconds: 300, text: '' });
  await it.add('abc');
  await it.pass(4 * MINUTE);
  t.is(it.calls.length, 2);
  it.answer = async () => ({ status: 200, retryAfterSeconds: null, text: '' });
  await it.pass(2 * MINUTE);
  t.is(it.calls.length, 3);
  t.is(await it.outbox.waiting(it.store), 0);
});

test('the outbox sends a server’s messages in order, a few per minute, keeps the newest 20, and does not delay other servers', async (t) => {
  const it = await sending(t);
  await it.create('abc', { alertWebhookUrl: HOOK });
  await it.create('other', { alertWebhookUrl: `${HOOK}2` });
  const notice = (tps: number): Notice => ({ ...LOW, at: it.clock.now(), tps });
  for (let n = 0; n < 25; n++) await it.add('abc', notice(n));
  t.is(await it.outbox.waiting(it.store), 20);
  await it.add('other');
  await it.pass(MINUTE);
  const told = () =>
    it.calls.filter(({ url }) => url === HOOK).map(({ body }) => (body as { dormouse: { tps: number } }).dormouse.tps);
  t.deepEqual(told(), [5, 6, 7, 8, 9, 10]);
  t.is(it.calls.length, 7);
  await it.pass(5 * MINUTE);
  t.deepEqual(
    told(),
    Array.from({ length: 20 }, (_, n) => n + 5),
  );
});

test('the outbox sends to the current webhook URL, and not to a removed or refused one', async (t) => {
  const it = await sending(t);
  await it.create('abc', { alertWebhookUrl: HOOK });
  it.answer = async () => ({ status: 500, retryAfterSeconds: null, text: '' });
  await it.add('abc');
  await it.pass(4_000);
  await it.servers.patch('abc', { alertWebhookUrl: 'https://hooks.slack.com/services/new' });
  await it.pass(30_000);
  t.deepEqual(Object.keys(it.calls.at(-1)?.body ?? {}), ['text', 'mrkdwn', 'link_names']);
  await it.servers.patch('abc', { alertWebhookUrl: '' });
  await it.pass(10 * MINUTE);
  t.is(it.calls.length, 2);
  t.is(await it.outbox.waiting(it.store), 0);
  t.is(it.entries.length, 0);
  await it.create('old', { alertWebhookUrl: 'http://10.0.0.1/' });
  await it.add('old');
  await it.pass(4_000);
  t.is(it.calls.length, 2);
  t.is(it.entries[0]?.detail, 'tps.low: the URL is not allowed');
});

test('a slow spell sends one alert and one recovery or end message, even across a metrics restart', async (t) => {
  const it = await sending(t);
  const { engine, games, store, clock, log } = it;
  let tps = 20;
  const run = games.run.bind(games);
  games.run = async (address, password, command) =>
    !['tps', 'mspt'].includes(command)
      ? run(address, password, command)
      : `TPS from last 1m, 5m, 15m: ${tps}, 20, 20\nServer tick times (avg/min/max) from last 5s, 10s, 1m:\n◴ 50/2/3, 4/5/6`;
  games.players.set('abc', 2);
  const serverEvents = new ServerEvents(it.servers, clock);
  const alerts = createAlerts(it.outbox, serverEvents, log);
  const measure = () =>
    new Metrics({
      servers: it.servers,
      engine,
      consoles: gameConsoles(games, () => ''),
      clock,
      store,
      log,
      serverEvents,
      onMinute: alerts.minute,
    });
  let metrics = measure();
  t.teardown(() => metrics.close());
  await it.create('abc', { type: 'paper', alertWebhookUrl: HOOK });
  await it.command('abc', 'START');
  const running = await it.reach('abc', 'running');
  const told: TypedEvent[] = [];
  serverEvents.follow(running!, { quota: {}, alert: null }, '', (event) => event?.type === 'alert' && told.push(event));
  const events = () => it.calls.map(({ body }) => (body as { dormouse: { event: string } }).dormouse.event);

  await it.pass(3 * MINUTE);
  tps = 9;
  await it.pass(2 * MINUTE + 5_000);
  t.deepEqual(events(), []);
  await it.pass(2 * MINUTE);
  t.deepEqual(events(), ['tps.low']);
  tps = 16;
  await it.pass(3 * MINUTE);
  metrics.close();
  metrics = measure();
  tps = 9;
  await it.pass(6 * MINUTE);
  t.deepEqual(events(), ['tps.low'], 'a restart of the service continues the incident');
  tps = 20;
  await it.pass(4 * MINUTE);
  t.deepEqual(events(), ['tps.low', 'tps.recovered']);
  t.deepEqual(
    told.map(({ data }) => (data as { alert: string }).alert),
    ['tps.low', 'tps.recovered'],
  );
  t.deepEqual(await store.query('SELECT * FROM "tps_incidents"'), []);

  tps = 9;
  await it.pass(5 * MINUTE);
  t.deepEqual(events().slice(2), ['tps.low']);
  const restart = async () => {
    await it.command('abc', 'STOP');
    await it.reach('abc', 'hibernated');
    await it.command('abc', 'START');
    await it.reach('abc', 'running');
  };
  await restart();
  tps = 20;
  await it.pass(4 * MINUTE);
  t.deepEqual(events().slice(3), ['tps.ended'], 'a new run does not count as a recovery');
  t.deepEqual(await store.query('SELECT * FROM "tps_incidents"'), []);

  tps = 9;
  await it.pass(5 * MINUTE);
  t.deepEqual(events().slice(4), ['tps.low']);
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  await it.pass(2 * MINUTE);
  t.deepEqual(events().slice(5), ['tps.ended'], 'a stop ends the incident at once');
  await it.pass(5 * MINUTE);
  t.is(events().length, 6);
  t.like(told.at(-1)?.data, { alert: 'tps.ended' });
});

test('a reached spend cap is sent once to each distinct webhook of the account', async (t) => {
  const it = await sending(t);
  const { outbox, log, store } = it;
  const alerts = createAlerts(outbox, { publish: () => {} }, log);
  await it.create('one', { alertWebhookUrl: HOOK });
  await it.create('two', { alertWebhookUrl: HOOK });
  await it.create('three', { alertWebhookUrl: 'https://hooks.slack.com/services/x' });
  await it.create('four');
  const cap = { accountId: 'acc_test', capMicros: 1_000_000, action: 'notify', at: it.clock.now() } as const;
  await store.write((tx) => alerts.spendCapReached(tx, cap));
  await it.pass(6_000);
  t.deepEqual(it.calls.map(({ url }) => url).sort(), [HOOK, 'https://hooks.slack.com/services/x']);
});

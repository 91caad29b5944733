import test, { type ExecutionContext } from 'ava';
import { Stripe } from 'stripe';
import { createWebhookOutbox } from '../../src/insight/alerts/outbox.ts';
import { createSecretOf } from '../../src/insight/alerts/signature.ts';
import { type Webhook, type WebhookAnswer, WebhookError, createWebhook } from '../../src/insight/alerts/webhook.ts';
import {
  type WebhookRow,
  addNotice,
  findWebhook,
  insertNotice,
  insertWebhook,
  listDeliveries,
  resendMessage,
  updateWebhook,
} from '../../src/notices/rows.ts';
import { createLog } from '../../src/kernel/log.ts';
import type { Store } from '../../src/store/store.ts';
import * as fc from '../support/property.ts';
import { passOutbox } from '../support/outbox-time.ts';
import { receiver } from '../support/receiver.ts';
import { world } from '../support/world.ts';

const URL_HERE = 'https://hooks.example/hook';
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const SECRET_OF = createSecretOf({ derive: (purpose, id) => `${purpose}:${id}` });
const OK: WebhookAnswer = { status: 204, retryAfterSeconds: null, text: '' };
const busy = (retryAfterSeconds: number | null = null): WebhookAnswer => ({
  status: 503,
  retryAfterSeconds,
  text: 'no',
});
const stripe = new Stripe('sk_test');

/** A webhook of a server, and an outbox whose receiver returns `answer`. */
async function sending(t: ExecutionContext, fields: Partial<WebhookRow> = {}) {
  const base = await world(t);
  const { store, clock } = base;
  const log = createLog({ level: 'debug', pretty: false, destination: { write() {} } });
  const calls: { id: string; at: number }[] = [];
  const off: { accountId: string; host: string }[] = [];
  const entries: { action: string; detail: string }[] = [];
  await base.create('castle', { name: 'Castle' });
  const it = {
    ...base,
    log,
    calls,
    off,
    entries,
    answer: async (): Promise<WebhookAnswer> => OK,
    outbox: undefined as unknown as ReturnType<typeof open>,
    async restart(changed: Store = store) {
      await it.outbox.close();
      it.outbox = open(changed);
    },
    add: (event = 'server.started', serverId = 'castle', detail = '') =>
      store.write((tx) => addNotice(tx, { event, accountId: 'acc_test', serverId, detail, at: clock.now() })),
    deliveries: () => listDeliveries(store, 'whk_1'),
    hook: async () => (await findWebhook(store, 'acc_test', 'whk_1'))!,
    /** Passes the time until no message waits. */
    async finish() {
      for (;;) {
        const waiting = (await it.deliveries()).filter(({ state }) => state === 'waiting');
        if (waiting.length === 0) return;
        await it.pass(Math.max(2_000, (waiting.at(-1)?.dueAt ?? 0) - clock.now()), true);
      }
    },
    async pass(ms: number, atOnce = false) {
      if (atOnce) await clock.advance(ms);
      await passOutbox(base, atOnce ? 2_000 : ms);
    },
  };
  await store.write((tx) => insertWebhook(tx, hookRow({ createdAt: clock.now(), ...fields })));
  function open(on: Store = store) {
    const webhook: Pick<Webhook, 'post'> = {
      async post({ id }) {
        calls.push({ id, at: clock.now() });
        return it.answer();
      },
    };
    const record = async (_: unknown, entry: { action: string; detail: string }) => void entries.push(entry);
    const parts = { secretOf: SECRET_OF, onOff: (webhookOff: (typeof off)[number]) => void off.push(webhookOff) };
    return createWebhookOutbox({ store: on, clock, log }, webhook, record, parts);
  }
  it.outbox = open();
  t.teardown(() => it.outbox.close());
  return it;
}

function hookRow(fields: Partial<WebhookRow>): WebhookRow {
  return {
    id: 'whk_1',
    accountId: 'acc_test',
    serverId: null,
    url: URL_HERE,
    format: 'json',
    kinds: JSON.stringify(['started', 'players']),
    secretNth: 1,
    rotatedAt: null,
    failingSince: null,
    offAt: null,
    createdAt: 0,
    ...fields,
  };
}

test('a webhook gets the events of its kinds, servers and account only, and none while it is off', async (t) => {
  const it = await sending(t, { serverId: 'castle' });
  await it.create('other');
  await it.add();
  await it.add('server.crash');
  await it.add('server.started', 'other');
  await it.add('server.started', '');
  await it.add('no.such.event');
  t.is((await it.deliveries()).length, 1);
  await it.store.write((tx) => updateWebhook(tx, 'whk_1', { serverId: null }));
  await it.add('server.started', 'other');
  await it.add('server.started', '');
  t.is((await it.deliveries()).length, 3);
  await it.store.write((tx) => updateWebhook(tx, 'whk_1', { offAt: 1 }));
  await it.add();
  t.is((await it.deliveries()).length, 3);
});

test('each message is signed so that Stripe’s library verifies it, for a day with both secrets after a rotation', async (t) => {
  const { port, ca, calls } = await receiver(t);
  const it = await sending(t);
  const here = { address: '127.0.0.1', family: 4 };
  const post = createWebhook({ isAllowed: () => true, port, ca, resolve: (_, found) => found(null, [here]) });
  await it.outbox.close();
  const outbox = createWebhookOutbox(it, post, async () => {}, { secretOf: SECRET_OF, onOff() {} });
  t.teardown(() => outbox.close());
  const verifies = (nth: number) => {
    const { body, headers } = calls.at(-1)!;
    const signature = String(headers['dormouse-signature']);
    const secret = SECRET_OF('whk_1', nth);
    return stripe.webhooks.signature!.verifyHeader(body, signature, secret, 300, undefined, it.clock.now());
  };
  const received = async (count: number) => {
    await it.add('player.join', 'castle', 'Steve');
    for (let tries = 0; calls.length < count && tries < 50; tries++) {
      await it.clock.advance(2_000);
      await new Promise((resolve) => void setTimeout(resolve, 20));
    }
    t.is(calls.length, count);
  };
  await received(1);
  t.true(verifies(1));
  t.throws(() => verifies(2), { instanceOf: Stripe.errors.StripeSignatureVerificationError });
  t.like(
    stripe.webhooks.constructEvent(
      calls[0]!.body,
      String(calls[0]!.headers['dormouse-signature']),
      SECRET_OF('whk_1', 1),
      1e9,
    ),
    {
      event: 'player.join',
      kind: 'players',
      serverId: 'castle',
      serverName: 'Castle',
      text: 'Steve joined Castle',
    },
  );
  await it.store.write((tx) => updateWebhook(tx, 'whk_1', { secretNth: 2, rotatedAt: it.clock.now() }));
  await received(2);
  t.true(verifies(1) && verifies(2));
  await it.clock.advance(DAY);
  await received(3);
  t.true(verifies(2));
  t.throws(() => verifies(1), { instanceOf: Stripe.errors.StripeSignatureVerificationError });
});

test('retries follow a simple model for any answers: growing delays, in order, one id each, and an outcome for each message', async (t) => {
  const delays = [15, 60, 240, 900, 3_600].map((seconds) => seconds * 1_000);
  const answer = fc.constantFrom<WebhookAnswer | 'unreachable'>(
    OK,
    busy(),
    busy(120),
    { status: 429, retryAfterSeconds: 40, text: '' },
    { status: 404, retryAfterSeconds: null, text: 'gone' },
    'unreachable',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 24 }), async (answers) => {
      const it = await sending(t);
      let nth = 0;
      it.answer = async () => {
        const given = answers[nth++ % answers.length]!;
        if (given === 'unreachable') throw new WebhookError('unreachable', 'no');
        return given;
      };
      for (let n = 0; n < 3; n++) await it.add();
      const ids = (await it.deliveries()).map(({ id }) => id).toReversed();
      await it.finish();
      // The model: each message in turn, until an answer is final.
      let at = 0;
      for (const id of ids) {
        let tries = 0;
        let outcome: string | undefined;
        let before: number | undefined;
        let least = 0;
        while (outcome === undefined) {
          const call = it.calls[at]!;
          t.is(call.id, id);
          if (before !== undefined) {
            t.true(call.at - before >= least);
            t.true(call.at - before <= least + 8_000, `${call.at - before} after ${least}`);
          }
          const given = answers[at++ % answers.length]!;
          const status = given === 'unreachable' ? 0 : given.status;
          const delay = delays[tries];
          if (status === 204) outcome = 'delivered';
          else if (status === 404 || delay === undefined) outcome = 'failed';
          else least = Math.max(delay, (given === 'unreachable' ? 0 : (given.retryAfterSeconds ?? 0)) * 1_000);
          if (outcome === undefined) tries++;
          before = call.at;
        }
        t.like(
          (await it.deliveries()).find((each) => each.id === id),
          { state: outcome, tries },
        );
      }
      t.is(it.calls.length, at, 'nothing is sent twice');
      await it.outbox.close();
    }),
    { numRuns: 12 },
  );
});

test('a message that was delivered before a kill but not marked is sent again with the same id, and marked once', async (t) => {
  const it = await sending(t);
  await it.add();
  const dying: Store = Object.create(it.store, {
    write: { value: () => Promise.reject(new Error('killed')) },
  }) as Store;
  await it.restart(dying);
  await it.pass(2_500);
  t.is(it.calls.length, 1);
  t.like(await it.deliveries(), { 0: { state: 'waiting' }, length: 1 });
  await it.restart();
  await it.pass(MINUTE);
  t.is(it.calls.length, 2);
  t.is(new Set(it.calls.map(({ id }) => id)).size, 1);
  t.like(await it.deliveries(), { 0: { state: 'delivered', status: 204, tries: 0 }, length: 1 });
});

test('the last 50 messages stay with status and answer, at most 500 characters of it, and can be resent', async (t) => {
  const it = await sending(t);
  it.answer = async () => ({ status: 404, retryAfterSeconds: null, text: `gone\0${'x'.repeat(900)}` });
  for (let n = 0; n < 55; n++) await it.add();
  await it.pass(5 * MINUTE);
  const [newest, ...others] = await it.deliveries();
  t.is(others.length, 49);
  t.like(newest, { state: 'failed', status: 404 });
  t.is(newest?.answer.length, 500);
  t.regex(newest?.answer ?? '', /^gone x+$/);
  it.answer = async () => OK;
  const id = newest?.id ?? '';
  t.true(await it.store.write((tx) => resendMessage(tx, 'whk_1', id, it.clock.now())));
  t.false(await it.store.write((tx) => resendMessage(tx, 'whk_1', id, it.clock.now())), 'it is waiting already');
  await it.pass(10_000);
  t.is(it.calls.at(-1)?.id, id);
  t.like((await it.deliveries())[0], { id, state: 'delivered', status: 204, answer: '' });
  t.is((await it.hook()).failingSince, null);
});

test('no message is lost while a receiver is away, however many events happen', async (t) => {
  const it = await sending(t);
  it.answer = async () => busy();
  for (let n = 0; n < 70; n++) await it.add();
  await it.pass(MINUTE);
  it.answer = async () => OK;
  await it.pass(10 * MINUTE);
  t.is(new Set(it.calls.map(({ id }) => id)).size, 70);
  t.is((await it.deliveries()).length, 50);
});

test('a webhook that accepts nothing for three days is switched off with its waiting messages, and the owner is notified', async (t) => {
  const it = await sending(t);
  it.answer = async () => busy();
  await it.add();
  await it.finish();
  t.like(await it.deliveries(), { 0: { state: 'failed', tries: 5 }, length: 1 });
  t.true((await it.hook()).failingSince !== null);
  t.is((await it.hook()).offAt, null);
  await it.clock.advance(3 * DAY);
  it.answer = async () => ({ status: 410, retryAfterSeconds: null, text: '' });
  await it.add();
  await it.add();
  await it.pass(4_000);
  t.true((await it.hook()).offAt !== null);
  t.deepEqual(
    (await it.deliveries()).map(({ state }) => state),
    ['failed', 'failed', 'failed'],
  );
  t.deepEqual(it.off, [{ accountId: 'acc_test', host: 'hooks.example' }]);
  t.like(it.entries, {
    0: { action: 'webhook.off', detail: 'whk_1 at hooks.example: it accepted no message for 3 days' },
    length: 1,
  });
});

test('an accepted message ends the failures of a webhook', async (t) => {
  const it = await sending(t);
  it.answer = async () => busy();
  await it.add();
  await it.pass(4_000);
  t.true((await it.hook()).failingSince !== null);
  it.answer = async () => OK;
  await it.pass(MINUTE);
  t.is((await it.hook()).failingSince, null);
  t.like(await it.deliveries(), { 0: { state: 'delivered', tries: 1 } });
});

test('a message to a webhook with an address that is not allowed is given up without a call', async (t) => {
  const it = await sending(t, { url: 'https://10.0.0.1/' });
  await it.store.write((tx) => insertNotice(tx, 'whk_1', null, { event: 'test', detail: '', at: it.clock.now() }));
  await it.pass(4_000);
  t.is(it.calls.length, 0);
  t.like(await it.deliveries(), { 0: { state: 'failed', status: 0, answer: 'the URL is not allowed' } });
});

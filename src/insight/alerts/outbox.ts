import { atMost, createSlidingLog } from '../../kernel/limits/sliding-log.ts';
import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import { timeOrderedId } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/units.ts';
import type { Sql, Store, Tx } from '../../store/store.ts';
import { type Notice, type StoredNotice, noticeBody, webhookBody } from './body.ts';
import {
  type DueMessage,
  type LastAnswer,
  countMessages,
  deleteMessage,
  findWebhook,
  finishMessage,
  insertAlert,
  listDueMessages,
  noteFailing,
  postponeMessage,
  switchOff,
  updateWebhook,
} from '../../notices/rows.ts';
import { checkWebhookUrl } from '../../servers/api/fields.ts';
import { type SecretOf, createSignature } from './signature.ts';
import { type Webhook, type WebhookAnswer, WebhookError } from './webhook.ts';

/**
 * Sends alerts to the URLs of servers, and notices to webhooks. The write of an event also stores its message. The
 * message is retried until its receiver accepts it: at least once, in order for each receiver, with an id that
 * identifies repetitions. After about eighty
 * minutes, or if the receiver refuses it permanently, a message is given up. The owner's audit log records that of an
 * alert; the deliveries of a webhook show it. A webhook that accepts nothing for days is switched off.
 */
export interface WebhookOutbox {
  /** Stores an alert for the server's URL, if it has one, in the caller's write. */
  add(tx: Tx, serverId: string, notice: Notice): Promise<void>;
  waiting(db: Sql): Promise<number>;
  /** Stops sending, and resolves once the results of messages in flight are stored. The next process sends the rest. */
  close(): Promise<void>;
}

const LOOK_MS = 2_000;
const MESSAGES_A_LOOK = 200;
const MESSAGES_A_SERVER = 20;
const AT_ONCE = 8;
const CALLS_A_MINUTE = { server: 6, account: 40, host: 120 };
const FULL_MS = 10_000;
/** The delay after each failed attempt. After the last one, a message is dropped. */
const DELAYS_MS = [15_000, MINUTE_MS, 4 * MINUTE_MS, 15 * MINUTE_MS, 60 * MINUTE_MS];
const LONGEST_MS = 60 * MINUTE_MS;
/** A webhook that has accepted nothing for this long is switched off. */
const OFF_AFTER_MS = 3 * DAY_MS;
/** The stored length of an answer. */
const ANSWER_CHARS = 500;
/** Statuses below 500 that may change. All others below 500, except 2xx, are final (RFC 9110 §15.5, RFC 6585 §4). */
const PASSING = new Set([408, 425, 429]);

type Outcome = LastAnswer & ({ taken: true } | { taken: false; why: string; final: boolean; afterMs: number });

/**
 * Creates an outbox, which checks for due messages every two seconds until closed. Only one process of an installation
 * may run it. `record` adds an audit entry, in the write that gives up a message. `secretOf` returns the secrets that
 * sign a webhook's messages. `onOff` is called after a webhook was switched off.
 */
export function createWebhookOutbox(
  { store, clock, log }: { store: Store; clock: Clock; log: Log },
  webhook: Webhook,
  record: (
    tx: Tx,
    entry: { action: string; accountId: string; serverId: string; detail: string; at: number },
  ) => Promise<void>,
  { secretOf, onOff }: { secretOf: SecretOf; onOff: (webhook: { accountId: string; host: string }) => void },
): WebhookOutbox {
  const ofServer = createSlidingLog(atMost(CALLS_A_MINUTE.server, MINUTE_MS), clock);
  const ofAccount = createSlidingLog(atMost(CALLS_A_MINUTE.account, MINUTE_MS), clock);
  const ofHost = createSlidingLog(atMost(CALLS_A_MINUTE.host, MINUTE_MS), clock);
  let closed = false;
  let looking: Promise<void> | undefined;
  const cancel = every(clock, LOOK_MS, beat);

  function beat(): void {
    looking ??= deliverDue()
      .catch(wait)
      .finally(() => (looking = undefined));
  }

  function wait(error: unknown): void {
    log.warn({ err: error }, 'messages to webhooks could not be sent; trying again');
  }

  async function deliverDue(): Promise<void> {
    const waiting = (await listDueMessages(store, clock.now(), MESSAGES_A_LOOK)).values();
    const worker = async () => {
      for (const message of waiting) if (!closed) await handle(message).catch(wait);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  async function handle(message: DueMessage): Promise<void> {
    const { id, queue, accountId, serverId, webhookId, url, tries } = message;
    if (url === '') return store.write((tx) => deleteMessage(tx, id));
    // An account has a limit of its own for all its webhooks, so that it cannot use up that of a host.
    const mine = webhookId === null ? ofServer.take(queue) : ofAccount.take(accountId);
    if (mine.waitMs > 0 || ofHost.take(URL.parse(url)?.hostname ?? '').waitMs > 0)
      return store.write((tx) => postponeMessage(tx, message, clock.now() + FULL_MS));
    const outcome = await attempt(message);
    if (outcome.taken) return finish(message, outcome);
    const delayMs = DELAYS_MS[tries];
    const isOver = message.failingSince !== null && clock.now() - message.failingSince >= OFF_AFTER_MS;
    if (outcome.final || delayMs === undefined || isOver)
      return webhookId === null ? giveUp(message, outcome.why) : giveUpNotice(message, webhookId, outcome);
    log.debug({ server: serverId, message: id, why: outcome.why, tries: tries + 1 }, 'trying a webhook again later');
    const { status, answer, afterMs } = outcome;
    const dueAt = clock.now() + Math.max(delayMs, Math.min(afterMs, LONGEST_MS));
    await store.write(async (tx) => {
      await postponeMessage(tx, { id, status, answer, tries: tries + 1 }, dueAt);
      if (webhookId !== null) await noteFailing(tx, webhookId, clock.now());
    });
  }

  async function finish({ id, webhookId, failingSince }: DueMessage, { status, answer }: LastAnswer): Promise<void> {
    await store.write(async (tx) => {
      if (webhookId === null) return deleteMessage(tx, id);
      await finishMessage(tx, { id, state: 'delivered', status, answer }, clock.now());
      if (failingSince !== null) await updateWebhook(tx, webhookId, { failingSince: null });
    });
  }

  async function attempt(message: DueMessage): Promise<Outcome> {
    const { id, serverId, url } = message;
    // The URL may have been set before this rule existed.
    if (checkWebhookUrl(url) !== undefined) return failed('the URL is not allowed', true);
    const sign = createSignature(message, secretOf, clock.now());
    try {
      return judge(await webhook.post({ url, id, body: bodyOf(message), sign }));
    } catch (error) {
      const why = error instanceof WebhookError ? error.reason : 'failed';
      log.debug({ server: serverId, message: id, why }, 'a webhook could not be reached');
      // Owners get one word, because the reason would reveal the names that exist and respond inside this network.
      return failed('unreachable', false);
    }
  }

  async function giveUp({ id, queue: serverId, accountId, notice, url }: DueMessage, why: string): Promise<void> {
    const { event } = JSON.parse(notice) as Notice;
    log.warn({ server: serverId, message: id, event, host: URL.parse(url)?.hostname, why }, 'webhook message dropped');
    const detail = `${event}: ${why}`;
    await store.write(async (tx) => {
      await deleteMessage(tx, id);
      await record(tx, { action: 'server.alertGivenUp', accountId, serverId, detail, at: clock.now() });
    });
  }

  /** Gives up a message to a webhook, and switches the webhook off if it has accepted nothing for days. */
  async function giveUpNotice(message: DueMessage, webhookId: string, { status, answer }: LastAnswer): Promise<void> {
    const { id, url, accountId } = message;
    const at = clock.now();
    const host = URL.parse(url)?.hostname ?? '';
    const isOver = await store.write(async (tx) => {
      await finishMessage(tx, { id, state: 'failed', status, answer }, at);
      await noteFailing(tx, webhookId, at);
      // The owner may have changed it during the attempt.
      const now = await findWebhook(tx, accountId, webhookId);
      if (now === undefined || now.offAt !== null || at - (now.failingSince ?? at) < OFF_AFTER_MS) return false;
      await switchOff(tx, webhookId, at);
      const detail = `${webhookId} at ${host}: it accepted no message for 3 days`;
      await record(tx, { action: 'webhook.off', accountId, serverId: '', detail, at });
      return true;
    });
    log.warn({ message: id, webhook: webhookId, host, status, off: isOver }, 'webhook message given up');
    if (isOver) onOff({ accountId, host });
  }

  return {
    async add(tx, serverId, notice) {
      const { at } = notice;
      const alert = { id: timeOrderedId('dlv', at), serverId, notice: JSON.stringify(notice), at };
      await insertAlert(tx, alert, MESSAGES_A_SERVER);
    },
    waiting: countMessages,
    async close() {
      closed = true;
      cancel();
      await looking;
    },
  };
}

function bodyOf({ id, queue, serverId, serverName, accountId, url, format, notice }: DueMessage): object {
  if (format === null)
    return webhookBody(url, {
      id,
      serverId: queue,
      serverName: serverName ?? '',
      notice: JSON.parse(notice) as Notice,
    });
  const message = { id, accountId, serverId, serverName, notice: JSON.parse(notice) as StoredNotice };
  return noticeBody({ url, format }, message);
}

function judge({ status, retryAfterSeconds, text }: WebhookAnswer): Outcome {
  // PostgreSQL stores no NUL.
  const answer = text.slice(0, ANSWER_CHARS).replaceAll('\0', ' ').toWellFormed();
  if (status >= 200 && status < 300) return { taken: true, status, answer };
  const final = status < 500 && !PASSING.has(status);
  return { ...failed(`answered ${status}`, final, (retryAfterSeconds ?? 0) * 1_000), status, answer };
}

function failed(why: string, final: boolean, afterMs = 0) {
  return { taken: false as const, why, final, afterMs, status: 0, answer: why };
}

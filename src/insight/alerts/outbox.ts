import { atMost, createSlidingLog } from '../../kernel/limits/sliding-log.ts';
import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import { timeOrderedId } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import type { Sql, Store, Tx } from '../../store/store.ts';
import { type Notice, webhookBody } from './body.ts';
import {
  type DueMessage,
  countMessages,
  deleteMessage,
  insertWebhookMessage,
  listDueMessages,
  postponeMessage,
} from './rows.ts';
import { checkWebhookUrl } from '../../servers/api/fields.ts';
import { type Webhook, type WebhookAnswer, WebhookError } from './webhook.ts';

/**
 * Sends messages to servers' webhooks. A message is stored in the write of its event, and retried until its receiver
 * accepts it: at least once, in order for each server, with an id that identifies repetitions. After about eighty
 * minutes, or if the receiver refuses it permanently, a message is dropped, and the owner's audit log records that.
 */
export interface WebhookOutbox {
  /** Stores a message to the server's webhook, if it has one, in the caller's write. */
  add(tx: Tx, serverId: string, notice: Notice): Promise<void>;
  waiting(db: Sql): Promise<number>;
  /** Stops sending, and resolves once the results of messages in flight are stored. The next process sends the rest. */
  close(): Promise<void>;
}

const LOOK_MS = 2_000;
const MESSAGES_A_LOOK = 200;
const MESSAGES_A_SERVER = 20;
const AT_ONCE = 8;
const CALLS_A_MINUTE = { server: 6, host: 120 };
const FULL_MS = 10_000;
/** The delay after each failed attempt. After the last one, a message is dropped. */
const DELAYS_MS = [15_000, MINUTE_MS, 4 * MINUTE_MS, 15 * MINUTE_MS, 60 * MINUTE_MS];
const LONGEST_MS = 60 * MINUTE_MS;
/** Statuses below 500 that may change. All others below 500, except 2xx, are final (RFC 9110 §15.5, RFC 6585 §4). */
const PASSING = new Set([408, 425, 429]);

type Outcome = { taken: true } | { taken: false; why: string; final: boolean; afterMs: number };

/**
 * Creates an outbox, which checks for due messages every two seconds until closed. Only one process of an installation
 * may run it. `record` adds an audit entry, in the write that drops a message.
 */
export function createWebhookOutbox(
  { store, clock, log }: { store: Store; clock: Clock; log: Log },
  webhook: Webhook,
  record: (
    tx: Tx,
    entry: { action: string; accountId: string; serverId: string; detail: string; at: number },
  ) => Promise<void>,
): WebhookOutbox {
  const ofServer = createSlidingLog(atMost(CALLS_A_MINUTE.server, MINUTE_MS), clock);
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
    const { id, serverId, url, tries } = message;
    if (url === '') return store.write((tx) => deleteMessage(tx, id));
    if (ofServer.take(serverId).waitMs > 0 || ofHost.take(URL.parse(url)?.hostname ?? '').waitMs > 0)
      return store.write((tx) => postponeMessage(tx, id, clock.now() + FULL_MS, tries));
    const outcome = await attempt(message);
    if (outcome.taken) return store.write((tx) => deleteMessage(tx, id));
    const delayMs = DELAYS_MS[tries];
    if (outcome.final || delayMs === undefined) return giveUp(message, outcome.why);
    log.debug({ server: serverId, message: id, why: outcome.why, tries: tries + 1 }, 'trying a webhook again later');
    const dueAt = clock.now() + Math.max(delayMs, Math.min(outcome.afterMs, LONGEST_MS));
    await store.write((tx) => postponeMessage(tx, id, dueAt, tries + 1));
  }

  async function attempt({ id, serverId, serverName, url, notice }: DueMessage): Promise<Outcome> {
    // The URL may have been set before this rule existed.
    if (checkWebhookUrl(url) !== undefined) return failed('the URL is not allowed', true);
    const body = webhookBody(url, { id, serverId, serverName, notice: JSON.parse(notice) as Notice });
    try {
      return judge(await webhook.post({ url, id, body }));
    } catch (error) {
      const why = error instanceof WebhookError ? error.reason : 'failed';
      log.debug({ server: serverId, message: id, why }, 'a webhook could not be reached');
      // Owners get one word, because the reason would reveal the names that exist and respond inside this network.
      return failed('unreachable', false);
    }
  }

  async function giveUp({ id, serverId, accountId, notice, url }: DueMessage, why: string): Promise<void> {
    const { event } = JSON.parse(notice) as Notice;
    log.warn({ server: serverId, message: id, event, host: URL.parse(url)?.hostname, why }, 'webhook message dropped');
    const detail = `${event}: ${why}`;
    await store.write(async (tx) => {
      await deleteMessage(tx, id);
      await record(tx, { action: 'server.alertGivenUp', accountId, serverId, detail, at: clock.now() });
    });
  }

  return {
    async add(tx, serverId, notice) {
      const id = timeOrderedId('dlv', notice.at);
      const row = { id, serverId, notice: JSON.stringify(notice), createdAt: notice.at, dueAt: notice.at, tries: 0 };
      await insertWebhookMessage(tx, row, MESSAGES_A_SERVER);
    },
    waiting: countMessages,
    async close() {
      closed = true;
      cancel();
      await looking;
    },
  };
}

function judge({ status, retryAfterSeconds }: WebhookAnswer): Outcome {
  if (status >= 200 && status < 300) return { taken: true };
  const final = status < 500 && !PASSING.has(status);
  return failed(`answered ${status}`, final, (retryAfterSeconds ?? 0) * 1_000);
}

function failed(why: string, final: boolean, afterMs = 0): Outcome {
  return { taken: false, why, final, afterMs };
}

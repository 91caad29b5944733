import { setTimeout as delay } from 'node:timers/promises';
import type { LedgerRow } from '../../src/billing/ledger-rows.ts';
import { endProcess } from '../support/end-process.ts';
import { pay } from '../support/payment-page.ts';
import type { Random } from '../support/random.ts';
import { runningGames } from '../support/running-games.ts';
import type { ServerRecord, Service as Whole } from '../support/service.ts';

/** The parts of a service that customers use. */
type Service = Pick<Whole, 'baseUrl' | 'call' | 'dataDir'>;

/** The permanent servers. Guests are created and deleted. */
export const SERVERS = ['a', 'b', 'c'];

/** The requests that customers made to a service that is repeatedly killed, and its acknowledgements. */
export interface Books {
  accountId: string;
  /** The last acknowledged command of each server. Null while the outcome of a newer one is unknown. */
  wishes: Map<string, 'awake' | 'asleep' | null>;
  /** Gifts of the operator by their `ref`, in micros. */
  gifts: Map<string, { micros: number; acknowledged: boolean }>;
  /** Payments by checkout. */
  payments: Map<string, { url: string; usd: number; acknowledged: boolean }>;
  /** Servers whose deletion was acknowledged. */
  deleted: Set<string>;
  /** The ledger entries that were closed at the last check, by id. */
  closed: Map<number, LedgerRow>;
  guests: number;
  dice: Random;
}

/** Returns the books of a service without requests. */
export function emptyBooks(accountId: string, dice: Random): Books {
  return {
    accountId,
    wishes: new Map(),
    gifts: new Map(),
    payments: new Map(),
    deleted: new Set(),
    closed: new Map(),
    guests: 0,
    dice,
  };
}

type Outcome = 'done' | 'refused' | 'unknown';

/** Starts, stops, crashes, creates, deletes, credits and pays concurrently, until `ended` is aborted. */
export async function customers(service: Service, books: Books, ended: AbortSignal): Promise<void> {
  const until = async (work: () => Promise<void>, pauseMs: number) => {
    while (!ended.aborted) {
      await work();
      await delay(books.dice() * pauseMs, undefined, { signal: ended }).catch(() => {});
    }
  };
  await Promise.all([
    ...SERVERS.map((id) => until(() => live(service, books, id), 1_200)),
    until(() => visit(service, books), 1_500),
    until(() => give(service, books), 60),
    until(() => payOnce(service, books), 1_500),
  ]);
}

/** Starts or stops a server, or crashes its game. */
async function live(service: Service, { wishes, dice }: Books, id: string): Promise<void> {
  const fate = dice();
  const wish = wishes.get(id) ?? null;
  wishes.set(id, null);
  if (fate < 0.08) return crash(service, id);
  const start = fate < 0.75;
  const outcome = await ask(service, 'POST', `/v1/servers/${id}:${start ? 'start' : 'stop'}`);
  if (outcome === 'done') wishes.set(id, start ? 'awake' : 'asleep');
  if (outcome === 'refused') wishes.set(id, wish);
}

async function crash(service: Service, id: string): Promise<void> {
  for (const { serverId, pid } of await runningGames(service)) if (serverId === id) endProcess(pid);
}

/** Creates and starts a guest server, or deletes the present one. */
async function visit(service: Service, books: Books): Promise<void> {
  const listed = await service.call<{ servers: ServerRecord[] }>('GET', '/v1/servers').catch(() => undefined);
  const guest = listed?.servers.find(({ id }) => id.startsWith('guest'));
  if (guest === undefined) {
    const id = `guest${books.guests++}`;
    await ask(service, 'POST', '/v1/servers', { id, name: id, type: 'sandbox', ramMb: 256 });
    await ask(service, 'POST', `/v1/servers/${id}:start`);
  } else if ((await ask(service, 'DELETE', `/v1/servers/${guest.id}`)) === 'done') {
    books.deleted.add(guest.id);
  }
}

/** Credits a gift as the operator. An unacknowledged one is repeated with the same `ref`. */
async function give(service: Service, { accountId, gifts }: Books): Promise<void> {
  const open = [...gifts].find(([, { acknowledged }]) => !acknowledged);
  const ref = open?.[0] ?? `gift-${gifts.size}`;
  const gift = open?.[1] ?? { micros: 1_000 + gifts.size, acknowledged: false };
  gifts.set(ref, gift);
  const body = { amountMicros: gift.micros, kind: 'credit', note: ref, ref };
  const outcome = await ask(service, 'POST', `/v1/operator/accounts/${accountId}:credit`, body);
  if (outcome === 'done') gift.acknowledged = true;
}

/** Pays on the built-in page, pressing the button twice. An unacknowledged payment is repeated. */
async function payOnce(service: Service, { accountId, payments }: Books): Promise<void> {
  try {
    const open = [...payments.values()].find(({ acknowledged }) => !acknowledged);
    const payment = open ?? { url: '', usd: 1 + (payments.size % 7), acknowledged: false };
    if (open === undefined) {
      const path = `/v1/accounts/${accountId}/checkout-link`;
      const { checkoutUrl } = await service.call<{ checkoutUrl: string }>('POST', path, { amountUsd: payment.usd });
      payment.url = checkoutUrl;
      payments.set(checkoutUrl.split('/').at(-1)!, payment);
    }
    payment.acknowledged = await pay(payment.url.replace(/^https?:\/\/[^/]+/, service.baseUrl), 2);
  } catch {
    // The service is dead, or has reached its hourly limit of checkouts.
  }
}

async function ask(service: Service, method: string, path: string, body?: unknown): Promise<Outcome> {
  try {
    await service.call(method, path, body);
    return 'done';
  } catch (error) {
    // With any other error the connection broke, and the outcome is unknown.
    return error instanceof Error && error.message.startsWith(`${method} ${path}: `) ? 'refused' : 'unknown';
  }
}

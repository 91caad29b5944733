import { post } from '../../src/billing/ledger.ts';
import { chargeOf } from '../../src/billing/prices.ts';
import { ACCOUNT, type Metered, PRICES } from './metered.ts';

export const RAM = 512;

export const cost = (n: number, ramMb = RAM) => chargeOf(n, PRICES.perGbHourMicros, ramMb);

export const CREDIT = 5_000_000;

export async function awake(it: Metered, id = 'abc', fields = {}): Promise<void> {
  await it.create(id, fields);
  await it.wake(id);
  it.games.players.set(id, 1);
}

/** The number of top-ups so far. */
let paid = 0;

export function topUp(it: Metered, amountMicros: number): Promise<boolean> {
  const ref = `paid/${paid++}`;
  return it.store.write((tx) =>
    post(tx, { accountId: ACCOUNT, kind: 'topup', amountMicros, note: '', ref, at: it.clock.now() }),
  );
}

import { openWallet } from '../../src/billing/ledger.ts';
import { type AwakeSessionRow, awakeSessions, proveAwakeSessions } from '../../src/billing/awake-session-rows.ts';
import { chargeNext } from '../../src/billing/tick-rows.ts';
import { insertAccount } from '../../src/accounts/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { awakeSessionRow } from './store.ts';

export const SERVERS = 10_000;
export const ACCOUNTS = 1_000;
export const START = 1_800_000_000_000;
export const RATE = 10_000;
export const CREDIT = 1_000_000_000;
const CHUNK = 500;

/**
 * Adds awake servers, ten for each account if `servers` is the default. `servers` is a multiple of `CHUNK`, at most
 * `SERVERS`.
 */
export async function fillAwake(store: Store, servers = SERVERS): Promise<void> {
  await store.write(async (tx) => {
    for (let account = 0; account < ACCOUNTS; account++) {
      await insertAccount(tx, { id: `acc_${account}`, name: '', createdAt: START });
      await openWallet(tx, `acc_${account}`, START, CREDIT);
    }
  });
  for (let from = 0; from < servers; from += CHUNK) {
    const rows = Array.from({ length: CHUNK }, (_, index) => session(from + index));
    await store.write(async (tx) => void (await tx.manager.insert(awakeSessions, rows)));
  }
}

/** Proves and charges all due ticks in one write, as the meter does. Returns the number of ticks. */
export function chargeDue(store: Store, at: number): Promise<number> {
  return store.write(async (tx) => {
    await proveAwakeSessions(tx, at, []);
    let all = 0;
    for (let some = -1; some !== 0; all += some) some = await chargeNext(tx, at, '2027-01');
    return all;
  });
}

function session(nth: number): AwakeSessionRow {
  return awakeSessionRow({
    id: `ses_${String((nth * 7_919) % SERVERS).padStart(12, '0')}`,
    serverId: `server-${nth}`,
    accountId: `acc_${nth % ACCOUNTS}`,
    cause: '{"kind":"key","id":"key_bench","note":"bench"}',
    ramMb: 512 * (1 + (nth % 8)),
    rateMicros: RATE,
    startedAt: START,
    readyAt: START,
    provenAt: START,
    serverCreatedAt: START,
  });
}

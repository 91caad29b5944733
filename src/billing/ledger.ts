import { StatusError, preconditionFailure } from '../kernel/status.ts';
import { STOP_TEXTS } from '../servers/stopping.ts';
import type { Sql, Tx } from '../store/store.ts';
import { type LedgerKind, insertEntry } from './ledger-rows.ts';
import { monthOf } from './prices.ts';
import { addToBalance, addToSpent, getWallet, insertWallet } from './wallet-rows.ts';

/** A movement of money. */
export interface Posting {
  accountId: string;
  /** Absent if it concerns no server. */
  serverId?: string;
  /** `usage` entries grow with the meter's ticks; all others are posted complete. */
  kind: Exclude<LedgerKind, 'usage'>;
  /** Micros; negative if spent. */
  amountMicros: number;
  /** For people. */
  note: string;
  /** Its subject, unique within the kind, such as the id of the payment. */
  ref: string;
  at: number;
}

/**
 * Appends a closed entry to the ledger and moves the wallet, in the caller's write. Returns false, without a change, if
 * that `ref` of that kind exists already, so that repeated reports count once. Throws RangeError if the amount or the
 * resulting balance is not a safe integer.
 */
export async function post(tx: Tx, posting: Posting): Promise<boolean> {
  const { accountId, serverId = '', kind, amountMicros, note, ref, at } = posting;
  requireSafe(amountMicros);
  await insertWallet(tx, accountId, at);
  const entry = { accountId, serverId, kind, amountMicros, note, ref, ts: at, closedAt: at };
  if (!(await insertEntry(tx, entry))) return false;
  requireSafe((await balance(tx, accountId)) + amountMicros);
  await addToBalance(tx, accountId, amountMicros);
  if (kind === 'flat') await addToSpent(tx, accountId, monthOf(at), -amountMicros);
  return true;
}

/** Returns an account's balance in micros; 0 without a wallet. */
export async function balance(db: Sql, accountId: string): Promise<number> {
  return (await getWallet(db, accountId))?.balanceMicros ?? 0;
}

/**
 * Creates the wallet of a new account with the sign-up credit. Returns false, without a credit, if it has one already.
 */
export async function openWallet(tx: Tx, accountId: string, at: number, signupCreditMicros: number): Promise<boolean> {
  if (!(await insertWallet(tx, accountId, at))) return false;
  if (signupCreditMicros > 0) {
    const amountMicros = signupCreditMicros;
    await post(tx, { accountId, kind: 'credit', amountMicros, note: 'Welcome', ref: `signup/${accountId}`, at });
  }
  return true;
}

/** Returns FAILED_PRECONDITION INSUFFICIENT_FUNDS, the refusal of everything that must be paid for. */
export function insufficientFunds(accountId: string, balanceMicros: number, neededMicros: number): StatusError {
  const message = 'The wallet balance is too low. Top up, then start the server again.';
  return new StatusError('FAILED_PRECONDITION', 'INSUFFICIENT_FUNDS', message, {
    metadata: { accountId, balanceMicros: String(balanceMicros), neededMicros: String(neededMicros) },
    details: [preconditionFailure('FUNDS', `account:${accountId}`, message)],
    words: {
      player: STOP_TEXTS.funds,
      list: '§7Asleep: §fout of credit',
      owner: {
        title: 'The wallet balance is too low to start it',
        mend: ['owner', '/bill', 'top up'],
        others: 'ask its owner to top up',
      },
    },
  });
}

function requireSafe(micros: number): void {
  if (!Number.isSafeInteger(micros)) throw new RangeError(`${micros} micros cannot be stored exactly.`);
}

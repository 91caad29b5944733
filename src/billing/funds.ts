import type { Cause } from '../../machines/server-types.ts';
import type { Log } from '../log.ts';
import type { Clock, Console, Mailer } from '../ports.ts';
import { StatusError } from '../status.ts';
import { listOwners } from '../store/accounts.ts';
import type { ServerRow, SpendCapAction, WalletRow } from '../store/rows.ts';
import type { Store, Tx } from '../store/store.ts';
import { getWallet, listSpentWallets, markCapNotified } from '../store/wallets.ts';
import { flatDue } from './flat.ts';
import { createLastCalls } from './last-call.ts';
import { insufficientFunds } from './ledger.ts';
import type { LiveServer, LiveServers } from './live.ts';
import { monthOf, type Prices, tickCeilingMicros } from './prices.ts';

/** Sees to it that nobody plays on an empty wallet, or beyond their cap. */
export interface Funds {
  /** Refuses a wake that the wallet cannot pay for: INSUFFICIENT_FUNDS, SPEND_CAP_REACHED. */
  check: (row: ServerRow) => Promise<() => void>;
  /** Warns, and after the grace stops, the metered servers of accounts that have come to their end. */
  enforce: () => Promise<void>;
  close(): void;
}

export interface FundsOptions {
  store: Store;
  clock: Clock;
  servers: LiveServers;
  console: Pick<Console, 'run'>;
  rconPassword: (serverId: string) => string;
  mailer: Mailer;
  prices: Prices;
  baseUrl: string;
  log: Log;
  /** Writes into the audit log of an account, in the write of what it is about. */
  record: (tx: Tx, deed: { action: string; accountId: string; detail: string; at: number }) => Promise<void>;
  /** Tells whoever else is to know that a spend cap is reached, in the same write. */
  onCapReached?: (
    tx: Tx,
    cap: { accountId: string; capMicros: number; action: SpendCapAction; at: number },
  ) => Promise<void>;
}

/** From the warning in chat to the stop. */
export const GRACE_MS = 60_000;
const AWAKE = new Set(['starting', 'running']);

type End = 'funds' | 'spend_cap';
const WARNINGS: Record<End, string> = {
  funds: 'This server has run out of money. It saves and goes to sleep in 60 seconds.',
  spend_cap: 'This server has reached its monthly limit. It saves and goes to sleep in 60 seconds.',
};
const NOTES: Record<End, string> = {
  funds: 'the wallet is empty',
  spend_cap: 'the spend cap of this month is reached',
};

export function createFunds(options: FundsOptions): Funds {
  const { store, clock, servers, mailer, prices, baseUrl, log, record } = options;
  /** By account. */
  const lastCalls = createLastCalls(options);

  async function check(row: ServerRow): Promise<() => void> {
    const at = clock.now();
    const wallet = await getWallet(store, row.accountId);
    const neededMicros = await needOf(row, at);
    const balanceMicros = wallet?.balanceMicros ?? 0;
    return () => {
      if (neededMicros === 0) return;
      if (wallet && capReached(wallet, at) && wallet.spendCapAction === 'stop') throw capRefusal(wallet);
      if (balanceMicros - reservedMicros(row) < neededMicros)
        throw insufficientFunds(row.accountId, balanceMicros, neededMicros);
    };
  }

  /** A tick, or the flat period that the start would begin. */
  async function needOf(row: ServerRow, at: number): Promise<number> {
    if (row.plan === 'flat') return (await flatDue(store, row, prices, at)).amountMicros;
    return prices.perGbHourMicros === 0 ? 0 : tickCeilingMicros(prices.perGbHourMicros, row.ramMb);
  }

  /** What the account's other servers that are awake or on their way will have to pay next. */
  function reservedMicros({ id, accountId }: ServerRow): number {
    let micros = 0;
    for (const { row, state, context } of servers.live()) {
      if (row.accountId !== accountId || row.id === id || !(AWAKE.has(state) || context.queued)) continue;
      if (row.plan === 'metered') micros += tickCeilingMicros(prices.perGbHourMicros, row.ramMb);
      else if (state !== 'running') micros += flatReserve(row);
    }
    return micros;
  }

  /** The most that a flat server on its way may come to. */
  function flatReserve({ ramMb }: ServerRow): number {
    return Math.ceil((prices.perGbMonthMicros * ramMb) / 1_024);
  }

  async function enforce(): Promise<void> {
    const at = clock.now();
    const spent = await listSpentWallets(store, monthOf(at));
    const ended = new Map<string, End>();
    for (const wallet of spent) {
      if (capReached(wallet, at)) await tellOfCap(wallet, at);
      const end = endOf(wallet, at);
      if (end !== undefined) ended.set(wallet.accountId, end);
    }
    for (const accountId of lastCalls.keys()) if (!ended.has(accountId)) lastCalls.cancel(accountId);
    // Warned once; whoever starts or comes in meanwhile is stopped with the others.
    for (const [accountId, end] of ended) if (!lastCalls.has(accountId)) await warn(accountId, end);
  }

  async function warn(accountId: string, end: End): Promise<void> {
    log.info({ account: accountId, why: end }, 'servers of this account stop in a minute');
    await lastCalls.begin(accountId, {
      graceMs: GRACE_MS,
      warning: WARNINGS[end],
      servers: () => awakeOf(accountId),
      cause: () => causeNow(accountId),
    });
  }

  /** Money may have come in meanwhile. */
  async function causeNow(accountId: string): Promise<Cause | undefined> {
    const wallet = await getWallet(store, accountId);
    const end = wallet && endOf(wallet, clock.now());
    return end && { kind: 'system', id: end, note: NOTES[end] };
  }

  function awakeOf(accountId: string): LiveServer[] {
    return servers
      .live()
      .filter(({ row, state }) => row.accountId === accountId && row.plan === 'metered' && AWAKE.has(state));
  }

  /** Once a month, whatever is to follow. */
  async function tellOfCap({ accountId, spendCapMicros, spendCapAction }: WalletRow, at: number): Promise<void> {
    const detail = `${spendCapMicros} micros spent in ${monthOf(at)}; ${spendCapAction}`;
    const owners = await store.write(async (tx) => {
      if (!(await markCapNotified(tx, accountId, monthOf(at)))) return [];
      await record(tx, { action: 'account.spendCapReached', accountId, detail, at });
      await options.onCapReached?.(tx, { accountId, capMicros: spendCapMicros, action: spendCapAction, at });
      return listOwners(tx, accountId);
    });
    for (const { email } of owners) {
      const follows = spendCapAction === 'stop' ? 'Your servers are being put to sleep.' : 'Your servers run on.';
      const text = `Your servers at ${baseUrl} have reached the spend cap of this month. ${follows}\n`;
      mailer
        .send({ to: email, subject: 'Your spend cap at Dormouse is reached', text })
        .catch((error: unknown) => log.warn({ account: accountId, err: error }, 'the letter could not be sent'));
    }
  }

  return {
    check,
    enforce,
    close: () => lastCalls.close(),
  };
}

function capReached({ spendCapMicros, spentMonth, spentMicros }: WalletRow, at: number): boolean {
  return spendCapMicros > 0 && spentMonth >= monthOf(at) && spentMicros >= spendCapMicros;
}

function endOf(wallet: WalletRow, at: number): End | undefined {
  if (wallet.balanceMicros <= 0) return 'funds';
  return capReached(wallet, at) && wallet.spendCapAction === 'stop' ? 'spend_cap' : undefined;
}

function capRefusal({ accountId, spendCapMicros }: WalletRow): StatusError {
  const message = 'The spend cap of this month is reached: raise it, then start the server again.';
  const violations = [{ type: 'SPEND_CAP', subject: `account:${accountId}`, description: message }];
  return new StatusError('FAILED_PRECONDITION', 'SPEND_CAP_REACHED', message, {
    metadata: { accountId, spendCapMicros: String(spendCapMicros) },
    details: [{ '@type': 'type.googleapis.com/google.rpc.PreconditionFailure', violations }],
  });
}

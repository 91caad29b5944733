import type { Cause } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import type { GameConsoles } from '../engines/console/console.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { usdText } from '../kernel/money.ts';
import { StatusError, preconditionFailure } from '../kernel/status.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import { recordThrough } from '../audit/audit.ts';
import type { Mailer } from '../mail/mail.ts';
import { listOwners } from '../accounts/rows.ts';
import { LastCalls, type LiveServers, STOP_TEXTS } from '../servers/stopping.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { Base } from '../servers/shared.ts';
import type { BatchRead } from '../servers/wake-checks.ts';
import type { Store, Tx } from '../store/store.ts';
import { type UnpaidFlat, chargeFlat, flatDue } from './flat.ts';
import { insufficientFunds } from './ledger.ts';
import { type End, capReached, shortOf, spentMicrosOf } from './rules.ts';
import { type Prices, flatMicros, monthOf, tickCeilingMicros } from './prices.ts';
import { openAwakeSession } from './awake-session-rows.ts';
import { type SpendCapAction, type WalletRow, getWallet, listSpentWallets, markCapNotified } from './wallet-rows.ts';

/** Called in the write that records that a spend cap is reached. */
type OnCapReached = (
  tx: Tx,
  cap: { accountId: string; capMicros: number; action: SpendCapAction; at: number },
) => Promise<void>;

const record = recordThrough('system');

/** Time between the warning in chat and the stop. */
const GRACE_MS = MINUTE_MS;

const WARNINGS: Record<End, string> = {
  funds: 'This server has run out of money. It saves and goes to sleep in 60 seconds.',
  spend_cap: 'This server has reached its monthly limit. It saves and goes to sleep in 60 seconds.',
};
const NOTES: Record<End, string> = {
  funds: 'the wallet is empty',
  spend_cap: 'the spend cap of this month is reached',
};

/** The balance check: games do not run with an empty wallet or beyond a spend cap. */
export class Funds {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #servers: LiveServers;
  readonly #log: Log;
  readonly #mailer: Mailer;
  readonly #prices: Prices;
  readonly #baseUrl: string;
  /** By account; for flat servers by server. */
  readonly #lastCalls: LastCalls;
  #onCapReached: OnCapReached | undefined;

  constructor(
    { store, clock, servers, log }: Base,
    parts: { consoles: GameConsoles; mailer: Mailer; prices: Prices; baseUrl: string },
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#servers = servers;
    this.#log = log;
    this.#mailer = parts.mailer;
    this.#prices = parts.prices;
    this.#baseUrl = parts.baseUrl;
    this.#lastCalls = new LastCalls({ clock, servers, consoles: parts.consoles, log });
  }

  /** Sets the hook. Call it before the first `enforce`. */
  whenCapReached(hook: OnCapReached): void {
    this.#onCapReached = hook;
  }

  /** Returns a check that throws if the wallet cannot pay for a wake: INSUFFICIENT_FUNDS, SPEND_CAP_REACHED. */
  async check(row: ServerRow, batchRead?: BatchRead): Promise<() => void> {
    const at = this.#clock.now();
    // Read before the wallet: a charge in between is then counted twice, in this check only. In the other order, it
    // would not be counted at all.
    const neededMicros = await this.#needOf(row, at, batchRead);
    const duesMicros = await this.#flatDues(row, at, batchRead);
    const read = () => getWallet(this.#store, row.accountId);
    const wallet = await (batchRead === undefined ? read() : batchRead.once(getWallet, row.accountId, read));
    return () => {
      if (neededMicros === 0) return;
      const short = shortOf(wallet, neededMicros + this.#reservedMicros(row, duesMicros), at);
      if (short === 'funds') throw insufficientFunds(row.accountId, wallet?.balanceMicros ?? 0, neededMicros);
      if (short === 'spend_cap') throw capRefusal(row.accountId, wallet?.spendCapMicros ?? 0);
    };
  }

  /**
   * Warns the players, and after the grace period stops the metered servers of accounts without money or at their cap,
   * and the flat servers left unpaid by the meter. Paid flat servers continue.
   */
  async enforce(unpaid: readonly UnpaidFlat[]): Promise<void> {
    const at = this.#clock.now();
    const calls = new Map<string, () => void>();
    for (const wallet of await listSpentWallets(this.#store, monthOf(at))) {
      if (capReached(wallet, at)) await this.#tellOfCap(wallet, at);
      const end = endOf(wallet, at);
      const { accountId } = wallet;
      if (end !== undefined && wallet.metered > 0) calls.set(accountId, () => this.#warnMetered(accountId, end));
    }
    for (const { serverId, accountId, short } of unpaid) {
      if (short === 'spend_cap') await this.#tellOfCap(await getWallet(this.#store, accountId), at);
      calls.set(`flat ${serverId}`, () => this.#warnFlat(serverId, short));
    }
    for (const key of this.#lastCalls.keys()) if (!calls.has(key)) this.#lastCalls.cancel(key);
    // Warns once. Servers that start later are stopped with the others, without a new warning.
    for (const [key, warn] of calls) if (!this.#lastCalls.has(key)) warn();
  }

  close(): void {
    this.#lastCalls.close();
  }

  /** Returns the cost of one tick, or of the flat period that the start would begin. */
  async #needOf(row: ServerRow, at: number, batchRead?: BatchRead): Promise<number> {
    if (row.plan === 'flat') return (await flatDue(this.#store, row, this.#prices, at, batchRead)).amountMicros;
    const { perGbHourMicros } = this.#prices;
    return perGbHourMicros === 0 ? 0 : tickCeilingMicros(perGbHourMicros, row.ramMb);
  }

  /** Returns the account's other servers that are awake or waiting to start. */
  #othersOf({ id, accountId }: ServerRow): ServerRow[] {
    return this.#servers
      .live()
      .filter(({ row, state, context }) => row.accountId === accountId && (isTagged(state, 'awake') || context.queued))
      .flatMap(({ row }) => (row.id === id ? [] : [row]));
  }

  /** Returns the payments due for the flat servers among them, because a running one may not have been charged yet. */
  async #flatDues(row: ServerRow, at: number, batchRead?: BatchRead): Promise<Map<string, number>> {
    const dues = new Map<string, number>();
    for (const other of this.#othersOf(row)) {
      if (other.plan !== 'flat') continue;
      dues.set(other.id, (await flatDue(this.#store, other, this.#prices, at, batchRead)).amountMicros);
    }
    return dues;
  }

  /**
   * Returns the sum of their next payments. A flat server added since the dues were read counts with its full price.
   */
  #reservedMicros(row: ServerRow, duesMicros: Map<string, number>): number {
    const prices = this.#prices;
    return this.#othersOf(row).reduce((sum, { id, plan, ramMb }) => {
      if (plan === 'metered') return sum + tickCeilingMicros(prices.perGbHourMicros, ramMb);
      return sum + (duesMicros.get(id) ?? flatMicros(prices.perGbMonthMicros, ramMb));
    }, 0);
  }

  #warnMetered(accountId: string, end: End): void {
    this.#log.info({ account: accountId, why: end }, 'servers of this account stop in a minute');
    this.#lastCalls.begin(accountId, {
      graceMs: GRACE_MS,
      warning: WARNINGS[end],
      servers: () => this.#awake(({ row }) => row.accountId === accountId && row.plan === 'metered'),
      // The wallet may have been topped up in the meantime.
      cause: async () => {
        const wallet = await getWallet(this.#store, accountId);
        return causeOf(wallet && endOf(wallet, this.#clock.now()));
      },
    });
  }

  #warnFlat(serverId: string, short: End): void {
    this.#log.info({ server: serverId, why: short }, 'this server cannot be paid for, and stops in a minute');
    this.#lastCalls.begin(`flat ${serverId}`, {
      graceMs: GRACE_MS,
      warning: WARNINGS[short],
      servers: () => this.#awake(({ row }) => row.id === serverId),
      cause: async () => {
        const charge = async (tx: Tx) =>
          chargeFlat(tx, await openAwakeSession(tx, serverId), this.#prices, this.#clock.now());
        return causeOf(await this.#store.write(charge));
      },
    });
  }

  #awake(which: (server: ServerNow) => boolean): ServerNow[] {
    return this.#servers.live().filter((server) => isTagged(server.state, 'awake') && which(server));
  }

  /** Notifies the owners once a month, whether or not servers are stopped. */
  async #tellOfCap(wallet: WalletRow | undefined, at: number): Promise<void> {
    if (wallet === undefined) return;
    const { accountId, spendCapMicros, spendCapAction } = wallet;
    const detail = `${spentMicrosOf(wallet, at)} of ${spendCapMicros} micros spent in ${monthOf(at)}; ${spendCapAction}`;
    const owners = await this.#store.write(async (tx) => {
      if (!(await markCapNotified(tx, accountId, monthOf(at)))) return [];
      const notice = `${usdText(spentMicrosOf(wallet, at))} of ${usdText(spendCapMicros)}`;
      await record(tx, { action: 'account.spendCapReached', accountId, detail, notice, at });
      await this.#onCapReached?.(tx, { accountId, capMicros: spendCapMicros, action: spendCapAction, at });
      return listOwners(tx, accountId);
    });
    for (const { email } of owners) {
      const follows = spendCapAction === 'stop' ? 'Your servers are being put to sleep.' : 'Your servers keep running.';
      const text = `Your servers at ${this.#baseUrl} have reached this month’s spend cap. ${follows}\n`;
      this.#mailer
        .send({ to: email, subject: 'Your spend cap at Dormouse is reached', text })
        .catch((error: unknown) => this.#log.warn({ account: accountId, err: error }, 'the e-mail could not be sent'));
    }
  }
}

function endOf(wallet: WalletRow, at: number): End | undefined {
  if (wallet.balanceMicros <= 0) return 'funds';
  return capReached(wallet, at) && wallet.spendCapAction === 'stop' ? 'spend_cap' : undefined;
}

function causeOf(end: End | undefined): Cause | undefined {
  return end && { kind: 'system', id: end, note: NOTES[end] };
}

function capRefusal(accountId: string, spendCapMicros: number): StatusError {
  const message = 'This would exceed the spend cap of this month. Raise the cap, then start the server again.';
  return new StatusError('FAILED_PRECONDITION', 'SPEND_CAP_REACHED', message, {
    metadata: { accountId, spendCapMicros: String(spendCapMicros) },
    details: [preconditionFailure('SPEND_CAP', `account:${accountId}`, message)],
    words: {
      player: STOP_TEXTS.spend_cap,
      list: '§7Asleep: §fspend cap reached',
      owner: {
        title: 'The monthly spend cap leaves too little to start it',
        mend: ['owner', '/bill', 'raise it'],
        others: 'its owner can raise it',
      },
    },
  });
}

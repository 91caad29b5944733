import type { Cause } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import type { Game } from '../engines/engine.ts';
import type { Clock } from '../kernel/clock.ts';
import { randomBase62 } from '../kernel/ids.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import { type ServerStep, recordThrough } from '../audit/audit.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Tx } from '../store/store.ts';
import {
  type MeteredSession,
  endAwakeSession,
  insertAwakeSession,
  markBillable,
  markReady,
  openAwakeSession,
  proveAwakeSession,
} from './awake-session-rows.ts';
import { chargeFlat } from './flat.ts';
import { type Prices, TICK_MS, monthOf } from './prices.ts';
import { chargeNext } from './tick-rows.ts';
import { insertWallet } from './wallet-rows.ts';

/** The part of a machine's step that concerns its session. */
type Step = Pick<ServerStep, 'at' | 'event' | 'from' | 'to' | 'cause'>;
type Steady = Pick<SteadyClock, 'now' | 'ofPast'>;

const record = recordThrough('system');

/**
 * Keeps the awake sessions. They begin, become ready and end in the write of the server's step. The arrow functions are
 * passed as callbacks.
 */
export class AwakeSessions {
  readonly #clock: Clock;
  readonly #steady: Steady;
  readonly #prices: Prices;
  /** When games ended, as observed by the engine. */
  readonly #exits = new Map<string, number>();
  /** Games without a reported end were up until this instant of the steady clock; null before the first observation. */
  #seenUntil: number | null = null;
  #missing: ReadonlySet<string> = new Set();
  #lost: ReadonlyMap<string, number> = new Map();

  constructor(clock: Clock, steady: Steady, prices: Prices) {
    this.#clock = clock;
    this.#steady = steady;
    this.#prices = prices;
  }

  /** Runs in the write of every step of every server. */
  readonly onStep = async (tx: Tx, now: ServerNow, step: Step): Promise<void> => {
    const { id } = now.row;
    const { from, to, at } = step;
    if (from === to) {
      if (to === 'running' && (now.context.played || step.event === 'KEEP_AWAKE')) await this.#bill(tx, id);
      return;
    }
    if (to === 'running') return this.#ready(tx, now, at);
    if (isTagged(from, 'awake')) await this.#end(tx, now, step);
    if (to === 'starting') await this.#begin(tx, now.row, now.context.cause, at);
  };

  /** Called with the engine's observation of a server before the server gets it. */
  readonly observed = (serverId: string, game: Game | undefined): void => {
    if (game?.up || game?.exit?.at == null) this.#exits.delete(serverId);
    else this.#exits.set(serverId, game.exit.at);
  };

  /** Called when the engine stops responding. */
  readonly outOfSight = (): void => {
    if (this.#seenUntil === Infinity) this.#seenUntil = this.#steady.now();
  };

  /**
   * Called when the engine responds. Games of the `missing` servers do not run although they should; the engine reports
   * the ends of all others. Those of the `lost` servers have been unreachable since an instant of the steady clock.
   */
  inSight(missing: readonly string[], lost: ReadonlyMap<string, number>): void {
    this.#seenUntil = Infinity;
    this.#missing = new Set(missing);
    this.#lost = lost;
  }

  /** Begins a session for a server that runs without one. */
  async adopt(tx: Tx, { row, context, state }: ServerNow): Promise<void> {
    if (state !== 'running' || (await openAwakeSession(tx, row.id)) !== undefined) return;
    await this.#begin(tx, row, context.cause, this.#clock.now());
    await markReady(tx, row.id, this.#clock.now(), this.#steady.now());
    if (context.played) await this.#bill(tx, row.id);
  }

  async #begin(tx: Tx, row: ServerRow, cause: Cause, at: number): Promise<void> {
    await insertWallet(tx, row.accountId, at);
    await insertAwakeSession(tx, {
      id: `ses_${randomBase62(12)}`,
      serverId: row.id,
      accountId: row.accountId,
      cause: JSON.stringify(cause),
      plan: row.plan,
      ramMb: row.ramMb,
      rateMicros: row.plan === 'flat' ? 0 : this.#prices.perGbHourMicros,
      startedAt: at,
      readyAt: null,
      endedAt: null,
      ending: '',
      billable: cause.kind === 'player' ? 0 : 1,
      provenAt: this.#steady.now(),
      awakeMs: 0,
      ticks: 0,
      remainder: 0,
      amountMicros: 0,
      serverCreatedAt: row.createdAt,
    });
  }

  async #ready(tx: Tx, { row, context }: ServerNow, at: number): Promise<void> {
    const readyAt = context.readyAt ?? at;
    this.#exits.delete(row.id);
    if ((await openAwakeSession(tx, row.id)) === undefined) await this.#begin(tx, row, context.cause, readyAt);
    await markReady(tx, row.id, readyAt, this.#steady.ofPast(readyAt));
    if (context.played) await markBillable(tx, row.id);
    await this.#payFlat(tx, row.id);
  }

  async #bill(tx: Tx, id: string): Promise<void> {
    if (await markBillable(tx, id)) await this.#payFlat(tx, id);
  }

  /** Charges a flat server. If that fails now, the next round of the meter handles it. */
  async #payFlat(tx: Tx, id: string): Promise<void> {
    await chargeFlat(tx, await openAwakeSession(tx, id), this.#prices, this.#clock.now());
  }

  async #end(tx: Tx, { row: { id }, context }: ServerNow, step: Step): Promise<void> {
    const session = await openAwakeSession(tx, id);
    if (session === undefined) return;
    const exit = this.#exits.get(id);
    this.#exits.delete(id);
    const now = this.#clock.now();
    const at = this.#steady.ofPast(step.at);
    const silentSince = step.from === 'running' ? (context.live.silentSince ?? null) : null;
    const until = silentSince === null ? this.#lost.get(id) : this.#steady.ofPast(silentSince);
    // Ignored if it concerns an earlier run.
    if (until !== undefined && until > this.#steady.ofPast(session.startedAt)) {
      await proveAwakeSession(tx, session.id, until);
      await recordWriteOff(tx, session, { lostMs: at - until, at: now, why: SILENT });
    } else {
      const seen = exit === undefined ? this.#provenUntil(id, step) : this.#steady.ofPast(exit);
      if (seen !== undefined) await proveAwakeSession(tx, session.id, seen);
      const lostMs = at - Math.max(session.provenAt, seen ?? 0);
      const isUnseen = exit === undefined && session.readyAt !== null;
      if (isUnseen) await recordWriteOff(tx, session, { lostMs, at: now });
    }
    while ((await chargeNext(tx, now, monthOf(now), session.id)) > 0);
    await endAwakeSession(tx, session.id, Math.max(step.at, session.readyAt ?? session.startedAt), endingOf(step));
  }

  /**
   * Returns the time until which a game with an unobserved end is known to have been up; undefined if no later than
   * already proven.
   */
  #provenUntil(id: string, { event, at }: Step): number | undefined {
    if (event === 'DOWN' || this.#seenUntil === null || this.#missing.has(id)) return undefined;
    return Math.min(this.#steady.ofPast(at), this.#seenUntil);
  }
}

/** Returns the stored word for how a session ended. */
function endingOf({ from, to, cause }: Step): string {
  if (to === 'deleting') return 'deleted';
  if (from === 'starting') return to === 'start_failed' ? 'start_failed' : 'cancelled';
  if (to === 'start_failed') return 'crashed';
  if (cause.id === 'crash') return 'crashed';
  if (to === 'starting') return cause.id;
  return cause.kind === 'system' ? cause.id : 'stopped';
}

/** After a gap this long, a running game does not prove that it ran throughout. */
export const GAP_MS = 150_000;

const UNSEEN = 'without proof that the game was running';
/** Why the time of a running game is free. */
export const SILENT = 'in which the game did not respond';

/** Adds an audit entry on the time of a metered session that is not charged, and why. Omits a minute or two. */
export async function recordWriteOff(
  tx: Tx,
  { accountId, serverId, plan }: MeteredSession,
  { lostMs, at, why = UNSEEN }: { lostMs: number; at: number; why?: string },
): Promise<void> {
  if (plan !== 'metered' || lostMs <= GAP_MS) return;
  const detail = `${Math.round(lostMs / TICK_MS)} minutes ${why}; not charged`;
  await record(tx, { accountId, serverId, action: 'usage.writeOff', detail, at });
}

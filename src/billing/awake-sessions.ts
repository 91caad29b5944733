import type { Cause } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import type { Game } from '../engines/engine.ts';
import type { Clock } from '../kernel/clock.ts';
import { randomBase62 } from '../kernel/ids.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import type { ServerStep } from '../people/audit/audit.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { Tx } from '../store/store.ts';
import { chargeFlat } from './flat.ts';
import { type Prices, monthOf } from './prices.ts';
import {
  type AwakeSessionRow,
  endAwakeSession,
  insertAwakeSession,
  markBillable,
  markReady,
  openAwakeSession,
  proveAwakeSession,
} from './awake-session-rows.ts';
import { chargeNext } from './tick-rows.ts';
import { insertWallet } from './wallet-rows.ts';
import { type RecordWriteOff, SILENT, recordWriteOff } from './write-off.ts';

/** What a step of a server's machine says of its session. */
type Step = Pick<ServerStep, 'at' | 'event' | 'from' | 'to' | 'cause'>;

/** Keeps the awake sessions: they begin, become ready and end in the write of the server's step. */
export interface AwakeSessions {
  /** To be run in the write of every step of every server. */
  onStep: (tx: Tx, now: ServerNow, step: Step) => Promise<void>;
  /** Begins the session of a server that was found running without one. */
  adopt: (tx: Tx, now: ServerNow) => Promise<void>;
  /** What the engine has just shown of a server, before the server hears of it. */
  observed: (serverId: string, game: Game | undefined) => void;
  /**
   * The engine answers: games of the `missing` servers do not run though they should; it will report the ends of the
   * others. Nobody can reach those of the `lost` servers, since an instant of the steady clock.
   */
  inSight: (missing: readonly string[], lost: ReadonlyMap<string, number>) => void;
  /** The engine reports nothing from now on. */
  outOfSight: () => void;
}

export interface AwakeSessionsOptions {
  clock: Clock;
  steady: Pick<SteadyClock, 'now' | 'ofPast'>;
  prices: Prices;
  record: RecordWriteOff;
}

export function createAwakeSessions({ clock, steady, prices, record }: AwakeSessionsOptions): AwakeSessions {
  /** When a game ended, where the engine saw it. */
  const exits = new Map<string, number>();
  /** Until then a game whose end was not reported was up, on the steady clock; null: nobody has looked yet. */
  let seenUntil: number | null = null;
  let missing: ReadonlySet<string> = new Set();
  let lost: ReadonlyMap<string, number> = new Map();
  return {
    onStep,
    adopt,
    observed,
    inSight(ids, unreachable) {
      seenUntil = Infinity;
      missing = new Set(ids);
      lost = unreachable;
    },
    outOfSight() {
      if (seenUntil === Infinity) seenUntil = steady.now();
    },
  };

  async function onStep(tx: Tx, now: ServerNow, step: Step): Promise<void> {
    const { id } = now.row;
    const { from, to, at } = step;
    if (from === to) {
      if (to === 'running' && (now.context.played || step.event === 'KEEP_AWAKE')) await bill(tx, id);
      return;
    }
    if (to === 'running') return ready(tx, now, at);
    if (isTagged(from, 'awake')) await end(tx, now, step);
    if (to === 'starting') await begin(tx, now.row, now.context.cause, at);
  }

  async function begin(tx: Tx, row: ServerRow, cause: Cause, at: number): Promise<AwakeSessionRow> {
    await insertWallet(tx, row.accountId, at);
    const session: AwakeSessionRow = {
      id: `ses_${randomBase62(12)}`,
      serverId: row.id,
      accountId: row.accountId,
      cause: JSON.stringify(cause),
      plan: row.plan,
      ramMb: row.ramMb,
      rateMicros: row.plan === 'flat' ? 0 : prices.perGbHourMicros,
      startedAt: at,
      readyAt: null,
      endedAt: null,
      ending: '',
      billable: cause.kind === 'player' ? 0 : 1,
      provenAt: steady.now(),
      awakeMs: 0,
      ticks: 0,
      remainder: 0,
      amountMicros: 0,
      serverCreatedAt: row.createdAt,
    };
    await insertAwakeSession(tx, session);
    return session;
  }

  async function ready(tx: Tx, { row, context }: ServerNow, at: number): Promise<void> {
    const readyAt = context.readyAt ?? at;
    exits.delete(row.id);
    if ((await openAwakeSession(tx, row.id)) === undefined) await begin(tx, row, context.cause, readyAt);
    await markReady(tx, row.id, readyAt, steady.ofPast(readyAt));
    if (context.played) await markBillable(tx, row.id);
    await payFlat(tx, row.id);
  }

  async function bill(tx: Tx, id: string): Promise<void> {
    if (await markBillable(tx, id)) await payFlat(tx, id);
  }

  /** What cannot be paid now is found by the next round of the meter. */
  async function payFlat(tx: Tx, id: string): Promise<void> {
    await chargeFlat(tx, await openAwakeSession(tx, id), prices, clock.now());
  }

  async function end(tx: Tx, { row: { id }, context }: ServerNow, step: Step): Promise<void> {
    const session = await openAwakeSession(tx, id);
    if (session === undefined) return;
    const exit = exits.get(id);
    exits.delete(id);
    const now = clock.now();
    const silentSince = step.from === 'running' ? (context.live.silentSince ?? null) : null;
    const until = silentSince === null ? lost.get(id) : steady.ofPast(silentSince);
    // An earlier run that was lost says nothing of this one.
    if (until !== undefined && until > steady.ofPast(session.startedAt)) {
      await proveAwakeSession(tx, session.id, until);
      await recordWriteOff(record, tx, session, { lostMs: steady.ofPast(step.at) - until, at: now, why: SILENT });
    } else {
      const seen = exit === undefined ? provenUntil(id, step) : steady.ofPast(exit);
      if (seen !== undefined) await proveAwakeSession(tx, session.id, seen);
      const lostMs = steady.ofPast(step.at) - Math.max(session.provenAt, seen ?? 0);
      const isUnseen = exit === undefined && session.readyAt !== null;
      if (isUnseen) await recordWriteOff(record, tx, session, { lostMs, at: now });
    }
    while ((await chargeNext(tx, now, monthOf(now), session.id)) > 0);
    await endAwakeSession(tx, session.id, Math.max(step.at, session.readyAt ?? session.startedAt), endingOf(step));
  }

  /** Until when a game whose end nobody saw is known to have been up; undefined: no longer than was known before. */
  function provenUntil(id: string, { event, at }: Step): number | undefined {
    if (event === 'DOWN' || seenUntil === null || missing.has(id)) return undefined;
    return Math.min(steady.ofPast(at), seenUntil);
  }

  async function adopt(tx: Tx, { row, context, state }: ServerNow): Promise<void> {
    if (state !== 'running' || (await openAwakeSession(tx, row.id)) !== undefined) return;
    await begin(tx, row, context.cause, clock.now());
    await markReady(tx, row.id, clock.now(), steady.now());
    if (context.played) await bill(tx, row.id);
  }

  function observed(serverId: string, game: Game | undefined): void {
    if (game?.up || game?.exit?.at == null) exits.delete(serverId);
    else exits.set(serverId, game.exit.at);
  }
}

/** How a session ended, in a word. */
function endingOf({ from, to, cause }: Step): string {
  if (to === 'deleting') return 'deleted';
  if (from === 'starting') return to === 'start_failed' ? 'start_failed' : 'cancelled';
  if (to === 'start_failed') return 'crashed';
  if (cause.id === 'crash') return 'crashed';
  if (to === 'starting') return cause.id;
  return cause.kind === 'system' ? cause.id : 'stopped';
}

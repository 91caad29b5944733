import { isTagged } from '../../machines/server.ts';
import type { Engine, Game } from '../engines/engine.ts';
import { lostGame } from '../engines/lost-games.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { createMutex } from '../kernel/mutex.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import { DAY_MS, HOUR_MS } from '../kernel/units.ts';
import type { LiveServers } from '../servers/stopping.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Base } from '../servers/shared.ts';
import type { Store, Tx } from '../store/store.ts';
import {
  type MeteredSession,
  listMetered,
  openAwakeSession,
  proveAwakeSession,
  proveAwakeSessions,
  writeOff,
} from './awake-session-rows.ts';
import { type AwakeSessions, GAP_MS, SILENT, recordWriteOff } from './awake-sessions.ts';
import { type UnpaidFlat, chargeAllFlat } from './flat.ts';
import type { Funds } from './funds.ts';
import { type Prices, TICK_MS, monthOf } from './prices.ts';
import { keepOffset } from './steady-clock.ts';
import { chargeNext, purgeTicks, sumTicks } from './tick-rows.ts';
import { type Unbalanced, listUnbalanced } from './wallet-rows.ts';

/** Operators are alerted if no round was stored for this long. No minute is lost in the meantime. */
const LATE_MS = 180_000;
/**
 * After an outage, there are many minutes to charge. Other writes wait while one write charges them: players' joins,
 * and the renewal of the lease, without which a standby would take over and find even more minutes.
 */
const AT_ONCE_MS = 500;
/** Tick keys removed in one write, which takes some milliseconds and delays a start no longer than that. */
const PURGED_AT_ONCE = 5_000;
const INSPECTIONS = 16;
/** A tick is stored at most this long after its instant. A younger one may still be in flight. */
const SETTLED_MS = 10_000;

/**
 * Queries the engine once a minute for the games that are up, and charges all due ticks and flat periods. One write
 * does that if it takes no more than half a second. After an outage of this process or the engine, the missed minutes
 * are charged for runs that the engine proves to have continued, and written off for the others. Wallets are compared
 * with the ledger at the start and every hour.
 */
export class Meter {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #servers: LiveServers;
  readonly #log: Log;
  readonly #engine: Engine;
  readonly #steady: SteadyClock;
  readonly #sessions: AwakeSessions;
  readonly #prices: Prices;
  readonly #funds: Funds;
  readonly #atOnceMs: number;
  /** Runs one round at a time, so that no round reads rows that another is changing. */
  readonly #withLock = createMutex();
  #provenAt = -Infinity;
  #endedAt: number;
  #cancel = () => {};
  #closed = false;
  #rounds = 0;
  /** The stored wall-clock offset; undefined before the first round. */
  #keptOffset: number | undefined;
  /** Games that did not answer in the last round, with the time when they fell silent. */
  #wasSilent: ReadonlyMap<string, number> = new Map();

  /** `atOnceMs`: time after which a write charges no more. */
  constructor(
    { store, clock, servers, log }: Base,
    parts: { engine: Engine; steady: SteadyClock; sessions: AwakeSessions; prices: Prices; funds: Funds },
    atOnceMs = AT_ONCE_MS,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#servers = servers;
    this.#log = log;
    this.#engine = parts.engine;
    this.#steady = parts.steady;
    this.#sessions = parts.sessions;
    this.#prices = parts.prices;
    this.#funds = parts.funds;
    this.#atOnceMs = atOnceMs;
    this.#endedAt = parts.steady.now();
  }

  /** Starts the rounds, after sessions exist for all running servers. Resolves after the first round. */
  async start(): Promise<void> {
    await this.#store.write(async (tx) => {
      for (const now of this.#servers.live()) await this.#sessions.adopt(tx, now);
    });
    await this.#withLock(() => this.#minute());
  }

  /** Runs a round, like the one each minute: proves and charges the minutes due. Rejects if it could not be stored. */
  round(): Promise<void> {
    return this.#withLock(() => this.#round());
  }

  /**
   * Returns the ms since the last stored round ended, or since the meter started. Rounds are normally a minute apart.
   */
  ageMs(): number {
    return this.#steady.now() - this.#endedAt;
  }

  /** Ends the rounds. The next process charges the minutes due in the meantime. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel();
    await this.#withLock(async () => {});
  }

  async #round(): Promise<void> {
    const until = this.#steady.now();
    const games = await this.#engine.list().catch((error: unknown) => {
      this.#log.warn({ err: error }, 'the engine does not respond; running servers are charged once it does');
    });
    const up =
      games && new Map(games.filter((game) => game.up && !game.installer).map((game) => [game.serverId, game]));
    const missing = up ? this.#missingIn(up, until) : [];
    // Games on unresponsive nodes may be running, but cannot be played.
    const lost = this.#sinceIn(until, ({ row }) => lostGame(this.#engine.nodes, row.id)?.since);
    if (up) this.#sessions.inSight(missing, lost);
    else this.#sessions.outOfSight();
    const gap = until - this.#provenAt > GAP_MS;
    const silent = new Map([...lost, ...this.#sinceIn(until, ({ context }) => context.live.silentSince)]);
    const answering = up && new Map([...up].filter(([id]) => !silent.has(id)));
    const doubts = answering && gap ? await this.#doubtful(answering, until) : [];
    const offset = this.#steady.offsetMs();
    let unpaid = await this.#store.write(async (tx) => {
      if (offset !== this.#keptOffset) await keepOffset(tx, offset);
      if (up && gap) await this.#bridge(tx, doubts, until);
      else if (up) await proveAwakeSessions(tx, until, [...missing, ...silent.keys()]);
      if (up) await this.#leaveOut(tx, silent, until);
      await this.#tellRecovered(tx, silent, until);
      return await this.#charge(tx);
    });
    this.#keptOffset = offset;
    if (up) this.#provenAt = until;
    this.#wasSilent = silent;
    while (unpaid === undefined) {
      if (this.#closed) return;
      unpaid = await this.#store.write((tx) => this.#charge(tx));
    }
    await this.#funds.enforce(unpaid);
    this.#endedAt = this.#steady.now();
  }

  /** Charges the minutes due, in order. Returns undefined if there are more than fit one write. */
  async #charge(tx: Tx): Promise<UnpaidFlat[] | undefined> {
    const at = this.#clock.now();
    for (const end = performance.now() + this.#atOnceMs; ;) {
      if ((await chargeNext(tx, at, monthOf(at))) === 0) return await chargeAllFlat(tx, this.#prices, at);
      if (performance.now() >= end) return undefined;
    }
  }

  /**
   * Returns the games that should have been running at that instant but were not. Their servers are about to be
   * notified.
   */
  #missingIn(up: Map<string, Game>, at: number): string[] {
    const shouldRun = this.#servers
      .live()
      .filter(({ state, context }) => isTagged(state, 'billed') && this.#steady.ofPast(context.readyAt ?? 0) < at);
    return shouldRun.map(({ row }) => row.id).filter((id) => !up.has(id));
  }

  /**
   * Returns the billed servers for which `sinceOf` has an instant of the wall clock, with that instant on the steady
   * clock.
   */
  #sinceIn(until: number, sinceOf: (now: ServerNow) => number | null | undefined): Map<string, number> {
    const found = this.#servers.live().flatMap((now) => {
      const since = isTagged(now.state, 'billed') ? (sinceOf(now) ?? null) : null;
      return since === null ? [] : [[now.row.id, Math.min(this.#steady.ofPast(since), until)] as const];
    });
    return new Map(found);
  }

  /** Charges silent games up to the time when they fell silent. The time after that is free. */
  async #leaveOut(tx: Tx, silent: ReadonlyMap<string, number>, until: number): Promise<void> {
    for (const [serverId, since] of silent) {
      const session = await openAwakeSession(tx, serverId);
      if (session !== undefined) await proveAwakeSession(tx, session.id, since);
    }
    await writeOff(tx, until, [...silent.keys()]);
  }

  /**
   * Records the free time of games that answer again. For a game that ends while silent, the end of its session does
   * that.
   */
  async #tellRecovered(tx: Tx, silent: ReadonlyMap<string, number>, until: number): Promise<void> {
    for (const [serverId, since] of this.#wasSilent) {
      const session = silent.has(serverId) ? undefined : await openAwakeSession(tx, serverId);
      const isSameRun = session !== undefined && this.#steady.ofPast(session.startedAt) < since;
      const lost = { lostMs: until - since, at: this.#clock.now(), why: SILENT };
      if (isSameRun) await recordWriteOff(tx, session, lost);
    }
  }

  /** Returns the sessions whose game is up now, and whether it is still the same run. */
  async #doubtful(up: Map<string, Game>, until: number): Promise<{ session: MeteredSession; same: boolean }[]> {
    const found: { session: MeteredSession; same: boolean }[] = [];
    const waiting = (await listMetered(this.#store)).filter(
      ({ serverId, provenAt: at }) => up.has(serverId) && at < until,
    );
    const inspect = async () => {
      for (let session = waiting.pop(); session; session = waiting.pop()) {
        const listed = up.get(session.serverId)?.startedAt ?? null;
        const startedAt = listed ?? (await this.#engine.inspect(session.serverId))?.startedAt ?? null;
        found.push({ session, same: startedAt !== null && startedAt <= (session.readyAt ?? 0) });
      }
    };
    await Promise.all(Array.from({ length: INSPECTIONS }, inspect));
    return found;
  }

  async #bridge(tx: Tx, found: { session: MeteredSession; same: boolean }[], until: number): Promise<void> {
    for (const { session, same } of found) if (same) await proveAwakeSession(tx, session.id, until);
    const lost = found.flatMap(({ session, same }) => (same ? [] : [session]));
    if (lost.length > 0) this.#log.warn({ servers: lost.length }, 'unknown whether these games were up; not charged');
    const ids = lost.map(({ serverId }) => serverId);
    await writeOff(tx, until, ids);
    const at = this.#clock.now();
    for (const session of lost) await recordWriteOff(tx, session, { lostMs: until - session.provenAt, at });
  }

  async #minute(): Promise<void> {
    if (this.#closed) return;
    this.#cancel = this.#clock.at(this.#clock.now() + TICK_MS, () => void this.#withLock(() => this.#minute()));
    try {
      await this.#round();
      if (this.#rounds++ % (HOUR_MS / TICK_MS) === 0) await this.#hourly();
    } catch (error) {
      this.#log.error({ err: error }, 'a minute could not be charged; the next round charges it');
    }
  }

  async #hourly(): Promise<void> {
    const unbalanced = await listUnbalanced(this.#store).catch((error: unknown) => {
      this.#log.error({ err: error }, 'the wallets could not be compared with the ledger');
      return [];
    });
    for (const account of unbalanced) logUnbalanced(this.#log, account);
    const before = this.#clock.now() - DAY_MS;
    while ((await this.#store.write((tx) => purgeTicks(tx, before, PURGED_AT_ONCE))) === PURGED_AT_ONCE);
  }
}

/** Throws if no minute has been charged for some time: the meter hangs or fails repeatedly. */
export function requireTimely(ageMs: number): void {
  if (ageMs > LATE_MS) throw new Error(`the last minute was charged ${ageMs} ms ago`);
}

/** Logs an error for the operator, because the service itself cannot make a wallet differ from its ledger. */
export function logUnbalanced(log: Log, account: Unbalanced): void {
  log.error({ ...account }, 'a wallet balance differs from the sum of its ledger');
}

/**
 * Counts the ticks charged from now on, and their cost. Each call adds those since the previous one. Ticks are kept for
 * at least a day, so rare calls suffice.
 */
export function createChargeCount(store: Store, clock: Clock): () => Promise<{ ticks: number; micros: number }> {
  const total = { ticks: 0, micros: 0 };
  let countedTo = clock.now() - SETTLED_MS;
  const withLock = createMutex();
  return () =>
    withLock(async () => {
      const until = clock.now() - SETTLED_MS;
      if (until > countedTo) {
        const { ticks, micros } = await sumTicks(store, countedTo, until);
        countedTo = until;
        total.ticks += ticks;
        total.micros += micros;
      }
      return { ...total };
    });
}

import type { Cause } from '../../machines/server-types.ts';
import type { AccessChange } from '../http/access-changes.ts';
import type { Principal } from '../http/principal.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { createMutex } from '../kernel/mutex.ts';
import { sleep } from '../kernel/sleep.ts';
import { StatusError } from '../kernel/status.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../kernel/units.ts';
import { recordAudit } from '../audit/audit.ts';
import { isKeyRevoked } from '../access/key-rows.ts';
import { getMembership } from '../access/member-rows.ts';
import { getUser } from '../accounts/rows.ts';
import { isOccasion, nextRun } from './next-run.ts';
import {
  type ScheduleOutcome,
  type ScheduleRow,
  countPlayed,
  disableSchedule,
  endInterruptedRuns,
  endRun,
  getSchedule,
  listDueSchedules,
  listPlaySchedules,
  listSchedulesAfter,
  listSchedulesBy,
  listSchedulesToWarnOf,
  moveRun,
  nextScheduleAt,
  skipRun,
  takeRun,
} from './rows.ts';
import { getServer } from '../servers/rows.ts';
import type { Sql, Store, Tx } from '../store/store.ts';

/** Effects of schedules on servers. */
export interface ScheduleActions {
  /**
   * Performs the action of a schedule. Resolves when it is done; rejects if it fails. `dueAt`: players are warned of a
   * stop or restart, which begins then.
   */
  run(schedule: ScheduleRow, cause: Cause, dueAt?: number): Promise<unknown>;
  /** Whether players may be online. */
  hasPlayers(serverId: string): Promise<boolean>;
  /** The servers on which players may be online. */
  played(): readonly string[];
  /** Tells the players that a backup begins in `ms`. */
  warnOfBackup(serverId: string, ms: number): Promise<void>;
}

interface SchedulesOptions {
  store: Store;
  clock: Clock;
  log: Log;
  actions: ScheduleActions;
}

/** Runs later than this are skipped, because the owner chose the time on purpose. */
const TOLERANCE_MS = MINUTE_MS;
/**
 * The longest timer. Timers ignore changes of the clock and a suspended machine, so the time is checked at least this
 * often.
 */
const LOOK_MS = 10_000;
/** If the clock is set back by less than this, no schedule runs a second time. */
const SAME_RUN_MS = 3 * HOUR_MS;
/** Limit of schedules started together. The longest overdue start first. */
const TOGETHER = 16;
const PATIENCE_MS = 10_000;
const RETRY_MS = 5_000;
const INTERRUPTED = 'Dormouse was restarted during the run. Check the server for the result.';

/** Refusals that skip a run: it needs a server that is awake, asleep or empty, or it would change nothing. */
const SKIPPED = new Set([
  'NO_NEWER_BUILD',
  'PLAYERS_ONLINE',
  'SERVER_HIBERNATED',
  'SERVER_NOT_RUNNING',
  'SERVER_NOT_STOPPED',
]);

/** Runs due schedules. Each run is claimed in its own write before it begins, so it cannot happen twice. */
export class Schedules {
  readonly #options: SchedulesOptions;
  readonly #withLock = createMutex();
  readonly #closing = new AbortController();
  /** The time of the backup that players were warned of, by schedule. */
  readonly #warned = new Map<string, number>();
  #cancel = () => {};
  #cancelCount = () => {};
  #seenAt = -Infinity;

  private constructor(options: SchedulesOptions) {
    this.#options = options;
  }

  /** Ends the runs that an earlier run of the service left in progress, then runs due schedules. */
  static async open(options: SchedulesOptions): Promise<Schedules> {
    const schedules = new Schedules(options);
    await options.store.write((tx) => endInterruptedRuns(tx, INTERRUPTED));
    // Times within a day are left as they are, even if the clock was wrong when they were stored.
    await schedules.#bringForward(options.clock.now() + DAY_MS);
    schedules.changed();
    schedules.#countPlay();
    return schedules;
  }

  /** Call it after a schedule was stored or changed. Runs due schedules and sets the timer for the next one. */
  changed(): void {
    const { clock, log } = this.#options;
    void this.#withLock(async () => {
      await this.#look().catch((error: unknown) => {
        log.warn({ err: error }, 'schedules cannot be read; trying again');
        this.#wakeAt(clock.now() + RETRY_MS);
      });
    });
  }

  /**
   * Runs a schedule now, regardless of its time. `record` runs in the write that claims the run. Resolves when the run
   * has ended, or after ten seconds while it continues. Rejects with NOT_FOUND, or with ABORTED if the schedule is
   * running.
   */
  async runNow(
    { serverId, id }: { serverId: string; id: string },
    record: (tx: Tx) => Promise<void>,
  ): Promise<ScheduleRow> {
    const { store, clock } = this.#options;
    const schedule = (await getSchedule(store, serverId, id)) ?? scheduleNotFound(id);
    const taken = await store.write(async (tx) => {
      const done = await takeRun(tx, schedule, clock.now(), schedule.nextRunAt);
      if (done) await record(tx);
      return done;
    });
    if (!taken) {
      throw new StatusError('ABORTED', 'SCHEDULE_RUNNING', 'The schedule is already running. Wait until it has ended.');
    }
    const dueAt = stopsGame(schedule) ? clock.now() + schedule.warnSeconds * 1_000 : undefined;
    await withTimeout(this.#perform(schedule, dueAt), PATIENCE_MS, { clock, late: () => undefined });
    return (await getSchedule(store, serverId, id)) ?? scheduleNotFound(id);
  }

  /**
   * Starts no more runs. A run that is still in progress when the process ends is recorded as interrupted at the next
   * start.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#cancel();
    this.#cancelCount();
    await this.#withLock(async () => {});
  }

  /** Counts the minutes of play. A minute counts for the servers on which players may be online at its end. */
  #countPlay(): void {
    const { clock, log } = this.#options;
    this.#cancelCount = clock.at(clock.now() + MINUTE_MS, () => {
      void this.#withLock(async () => {
        await this.#countMinute().catch((error: unknown) =>
          log.warn({ err: error }, 'a minute of play is not counted'),
        );
        if (!this.#closing.signal.aborted) this.#countPlay();
      });
    });
  }

  async #countMinute(): Promise<void> {
    const { store, clock, actions } = this.#options;
    const played = new Set(actions.played());
    if (played.size === 0 || this.#closing.signal.aborted) return;
    const counted = (await listPlaySchedules(store)).filter(({ serverId }) => played.has(serverId));
    if (counted.length === 0) return;
    await store.write(async (tx) => {
      for (const schedule of counted) await countPlayed(tx, schedule, clock.now());
    });
    this.changed();
  }

  #wakeAt(at: number | null): void {
    this.#cancel();
    const { clock } = this.#options;
    const isOver = at === null || this.#closing.signal.aborted;
    this.#cancel = isOver ? () => {} : clock.at(Math.min(at, clock.now() + LOOK_MS), () => this.#waited(at));
  }

  #waited(at: number): void {
    const now = this.#options.clock.now();
    if (now >= at || now < this.#seenAt) return this.changed();
    this.#seenAt = now;
    this.#wakeAt(at);
  }

  async #look(): Promise<void> {
    const { store, clock } = this.#options;
    if (this.#closing.signal.aborted) return;
    const now = clock.now();
    if (now < this.#seenAt) await this.#bringForward(now);
    this.#seenAt = now;
    const due = await listDueSchedules(store, clock.now(), TOGETHER);
    await Promise.all(due.map((schedule) => this.#runDue(schedule)));
    if (due.length === TOGETHER) return this.#wakeAt(now);
    const soon = await listSchedulesToWarnOf(store, now);
    await Promise.all(soon.map((schedule) => this.#warn(schedule, now)));
    const next = await nextScheduleAt(store, now);
    // Players may join until the last moment.
    this.#wakeAt(soon.length > 0 ? Math.min(next ?? Infinity, now + LOOK_MS) : next);
  }

  /**
   * Warns players, if there are any. A stop or restart is handed to the server's machine for its time, so that it is a
   * run of that time: neither a restart of the service nor a change of the clock repeats it.
   */
  async #warn(schedule: ScheduleRow, now: number): Promise<void> {
    const { store, actions } = this.#options;
    const { id, serverId, nextRunAt: dueAt } = schedule;
    if (dueAt === null || this.#warned.get(id) === dueAt || !(await actions.hasPlayers(serverId))) return;
    if ((await refusedAuthor(store, schedule)) !== undefined) return;
    if (!stopsGame(schedule)) {
      this.#warned.set(id, dueAt);
      return actions.warnOfBackup(serverId, dueAt - now);
    }
    const next = nextRun(schedule.cronExpr, dueAt, schedule.timeZone);
    if (await store.write((tx) => takeRun(tx, schedule, dueAt, next))) void this.#perform(schedule, dueAt);
  }

  /** Recomputes times after `after`: they were computed by a clock that was ahead and has been set back since. */
  async #bringForward(after: number): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now();
    for (const schedule of await listSchedulesAfter(store, after)) {
      const { cronExpr, timeZone, lastRunAt, nextRunAt } = schedule;
      const ranAt = lastRunAt ?? now;
      const warned = now + schedule.warnSeconds * 1_000;
      const next = isOccasion(cronExpr)
        ? warned
        : nextRun(cronExpr, ranAt > now && ranAt - now < SAME_RUN_MS ? ranAt : now, timeZone);
      if (next !== null && next < (nextRunAt ?? 0)) await store.write((tx) => moveRun(tx, schedule, next));
    }
  }

  async #runDue(schedule: ScheduleRow): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const dueAt = schedule.nextRunAt ?? now;
    this.#warned.delete(schedule.id);
    const next = nextRun(schedule.cronExpr, now, schedule.timeZone);
    const skip = (why: string) => store.write((tx) => skipRun(tx, schedule, why, next));
    const refused = await refusedAuthor(store, schedule);
    if (refused !== undefined) return store.write((tx) => stopSchedule(tx, schedule, refused, now));
    if (now - dueAt > TOLERANCE_MS && isOccasion(schedule.cronExpr)) {
      // An occasion is never too late, but its warning is repeated.
      if (schedule.warnSeconds > 0)
        return store.write((tx) => moveRun(tx, schedule, now + schedule.warnSeconds * 1_000));
    } else if (now - dueAt > TOLERANCE_MS) {
      return skip(
        `It was due at ${new Date(dueAt).toISOString()}. Dormouse was not running then, the machine was suspended, or its clock was set ahead.`,
      );
    }
    if (!(await store.write((tx) => takeRun(tx, schedule, now, next)))) {
      return skip('The previous run was still in progress.');
    }
    void this.#perform(schedule);
  }

  async #perform(schedule: ScheduleRow, dueAt?: number): Promise<void> {
    const { actions, log } = this.#options;
    const { id, serverId, kind } = schedule;
    const cause: Cause = { kind: 'schedule', id, note: `a schedule: ${schedule.cronExpr}` };
    const outcome = await actions.run(schedule, cause, dueAt).then((): ScheduleOutcome => OK, outcomeOf);
    if (outcome.lastStatus === 'error') {
      log.info({ server: serverId, schedule: id, kind, why: outcome.lastError }, 'a scheduled run failed');
    }
    await this.#keepEnd(id, outcome);
  }

  /** Stores the result, with retries: until it is stored, the schedule counts as running and cannot run again. */
  async #keepEnd(id: string, outcome: ScheduleOutcome): Promise<void> {
    const { store, clock, log } = this.#options;
    do {
      try {
        return await store.write((tx) => endRun(tx, id, outcome));
      } catch (error) {
        log.warn({ schedule: id, err: error }, 'could not store the result of a scheduled run; trying again');
        await sleep(clock, RETRY_MS, this.#closing.signal).catch(() => {});
      }
    } while (!this.#closing.signal.aborted);
  }
}

const stopsGame = ({ kind }: ScheduleRow) => kind === 'stop' || kind === 'restart';

const OK: ScheduleOutcome = { lastStatus: 'ok', lastError: '' };

function outcomeOf(error: unknown): ScheduleOutcome {
  if (!(error instanceof StatusError)) return { lastStatus: 'error', lastError: 'An internal error occurred.' };
  return { lastStatus: SKIPPED.has(error.reason) ? 'skipped' : 'error', lastError: error.message };
}

/** Throws NOT_FOUND SCHEDULE_NOT_FOUND. */
export function scheduleNotFound(id: string): never {
  const metadata = { scheduleId: id };
  throw new StatusError('NOT_FOUND', 'SCHEDULE_NOT_FOUND', 'The server has no such schedule.', { metadata });
}

/**
 * Returns the user and API key that a schedule of this caller acts for. `userId` is '' if unknown; `keyId` is '' if no
 * key was used.
 */
export function authorOf(principal: Principal): { userId: string; keyId: string } {
  return { userId: principal.userId, keyId: principal.kind === 'key' ? principal.keyId : '' };
}

/**
 * Returns why a schedule can no longer run, as a sentence for the server's owner; undefined if it can. A schedule must
 * not outlast the permissions of its author.
 */
async function refusedAuthor(db: Sql, { serverId, userId, keyId }: ScheduleRow): Promise<string | undefined> {
  if (keyId !== '' && (await isKeyRevoked(db, keyId)))
    return `The API key of this schedule, ${keyId}, was revoked. ${AGAIN}`;
  if (userId === '') return undefined;
  const [server, user] = await Promise.all([getServer(db, serverId), getUser(db, userId)]);
  if (user !== undefined && user.accountId === server?.accountId) return undefined;
  const role = await getMembership(db, serverId, userId);
  return role === 'member' ? undefined : `Its author no longer has permission. ${AGAIN}`;
}

/** Disables a schedule whose author lost permission, and records it in the audit log of the server's account. */
async function stopSchedule(tx: Tx, { id, serverId }: ScheduleRow, why: string, at: number): Promise<void> {
  const server = await getServer(tx, serverId);
  if (server === undefined || !(await disableSchedule(tx, id, why))) return;
  const entry = { action: 'schedule.disable', accountId: server.accountId, serverId, detail: `${id}: ${why}`, at };
  await recordAudit(tx, { userId: '', through: 'system access' }, entry);
}

/**
 * Disables the schedules that a change of access affects: those of a key, or those of a user on a server. Runs in the
 * write of that change.
 */
export async function stopSchedulesOf(tx: Tx, { keyId, userId, serverId }: AccessChange, at: number): Promise<void> {
  const schedules = [
    ...(keyId === undefined ? [] : await listSchedulesBy(tx, { keyId })),
    ...(userId === undefined || serverId === undefined ? [] : await listSchedulesBy(tx, { userId, serverId })),
  ];
  for (const schedule of schedules) {
    const why = await refusedAuthor(tx, schedule);
    if (why !== undefined) await stopSchedule(tx, schedule, why, at);
  }
}

const AGAIN = 'Enable it again to run it on your behalf.';

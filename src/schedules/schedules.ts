import type { Cause } from '../../machines/server-types.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { createMutex } from '../kernel/mutex.ts';
import { sleep } from '../kernel/sleep.ts';
import { StatusError } from '../kernel/status.ts';
import { withTimeout } from '../kernel/timeout.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import type { Store, Tx } from '../store/store.ts';
import { refusedAuthor, stopSchedule } from './authors.ts';
import { nextRun } from './cron.ts';
import {
  type ScheduleKind,
  type ScheduleOutcome,
  type ScheduleRow,
  endInterruptedRuns,
  endRun,
  getSchedule,
  listDueSchedules,
  nextScheduleAt,
  skipRun,
  takeRun,
} from './rows.ts';

/** Does what a schedule says. Resolves when it is done; rejects with what kept it from being done. */
export type ScheduleAction = (schedule: ScheduleRow, cause: Cause) => Promise<unknown>;

/** Runs what is due. Each run is taken in a write of its own before it begins, so that none happens twice. */
export interface Schedules {
  /** To be called after a schedule was stored or changed: looks anew at when the next one is due. */
  changed(): void;
  /**
   * Runs one now, whatever its time; `record` runs in the write that takes the run. Resolves when it has ended, or goes on
   * after a while. NOT_FOUND; ABORTED where it is running.
   */
  runNow(schedule: Pick<ScheduleRow, 'serverId' | 'id'>, record: (tx: Tx) => Promise<void>): Promise<ScheduleRow>;
  /** Begins no more runs. One that is in progress is ended as interrupted by the next run of the service, unless it ends first. */
  close(): Promise<void>;
}

export interface SchedulesOptions {
  store: Store;
  clock: Clock;
  log: Log;
  actions: Record<ScheduleKind, ScheduleAction>;
}

/** What is later than this is not run any more: at night somebody chose the hour. */
const TOLERANCE_MS = MINUTE_MS;
/** So many begin together; of the others, those due longest go first. */
const TOGETHER = 16;
const PATIENCE_MS = 10_000;
const RETRY_MS = 5_000;
const INTERRUPTED = 'Dormouse was restarted while it ran; look at the server to see how far it came.';

/** Refusals for a server that sleeps: but by kind `start` a schedule wakes nobody. */
const ASLEEP = new Set(['SERVER_NOT_RUNNING', 'SERVER_HIBERNATED']);

/** Ends what an earlier run of the service left in progress, then runs what comes due. */
export async function createSchedules({ store, clock, log, actions }: SchedulesOptions): Promise<Schedules> {
  let cancel = () => {};
  const withLock = createMutex();
  const closing = new AbortController();
  await store.write((tx) => endInterruptedRuns(tx, INTERRUPTED));
  changed();

  function changed(): void {
    void withLock(async () => {
      await look().catch((error: unknown) => {
        log.warn({ err: error }, 'schedules cannot be read; trying again');
        wakeAt(clock.now() + RETRY_MS);
      });
    });
  }

  function wakeAt(at: number | null): void {
    cancel();
    cancel = at === null || closing.signal.aborted ? () => {} : clock.at(at, changed);
  }

  async function look(): Promise<void> {
    if (closing.signal.aborted) return;
    const due = await listDueSchedules(store, clock.now(), TOGETHER);
    await Promise.all(due.map(runDue));
    if (due.length < TOGETHER) return wakeAt(await nextScheduleAt(store));
    wakeAt(clock.now());
  }

  async function runDue(schedule: ScheduleRow): Promise<void> {
    const now = clock.now();
    const dueAt = schedule.nextRunAt ?? now;
    const next = nextRun(schedule.cronExpr, now);
    const skip = (why: string) => store.write((tx) => skipRun(tx, schedule, why, next));
    const refused = await refusedAuthor(store, schedule);
    if (refused !== undefined) return store.write((tx) => stopSchedule(tx, schedule, refused, now));
    if (now - dueAt > TOLERANCE_MS) {
      return skip(`Dormouse was not running at ${new Date(dueAt).toISOString()}, when it was due.`);
    }
    if (!(await store.write((tx) => takeRun(tx, schedule, now, next)))) {
      return skip('The run before it had not ended.');
    }
    void perform(schedule);
  }

  async function perform(schedule: ScheduleRow): Promise<void> {
    const { id, serverId, kind } = schedule;
    const cause: Cause = { kind: 'schedule', id, note: `a schedule: ${schedule.cronExpr}` };
    const outcome = await actions[kind](schedule, cause).then((): ScheduleOutcome => OK, outcomeOf);
    if (outcome.lastStatus === 'error') {
      log.info({ server: serverId, schedule: id, kind, why: outcome.lastError }, 'a scheduled run failed');
    }
    await keepEnd(id, outcome);
  }

  /** Until it is stored the schedule counts as running, and would never run again. */
  async function keepEnd(id: string, outcome: ScheduleOutcome): Promise<void> {
    do {
      try {
        return await store.write((tx) => endRun(tx, id, outcome));
      } catch (error) {
        log.warn({ schedule: id, err: error }, 'the end of a scheduled run was not stored; trying again');
        await sleep(clock, RETRY_MS, closing.signal).catch(() => {});
      }
    } while (!closing.signal.aborted);
  }

  return {
    changed,
    async runNow({ serverId, id }, record) {
      const schedule = (await getSchedule(store, serverId, id)) ?? scheduleNotFound(id);
      const taken = await store.write(async (tx) => {
        const done = await takeRun(tx, schedule, clock.now(), schedule.nextRunAt);
        if (done) await record(tx);
        return done;
      });
      if (!taken) throw new StatusError('ABORTED', 'SCHEDULE_RUNNING', 'It is running now; wait until it has ended.');
      await withTimeout(perform(schedule), PATIENCE_MS, { clock, late: () => undefined });
      return (await getSchedule(store, serverId, id)) ?? scheduleNotFound(id);
    },
    async close() {
      closing.abort();
      cancel();
      await withLock(async () => {});
    },
  };
}

const OK: ScheduleOutcome = { lastStatus: 'ok', lastError: '' };

function outcomeOf(error: unknown): ScheduleOutcome {
  if (!(error instanceof StatusError)) return { lastStatus: 'error', lastError: 'Something went wrong here.' };
  return { lastStatus: ASLEEP.has(error.reason) ? 'skipped' : 'error', lastError: error.message };
}

/** Throws NOT_FOUND SCHEDULE_NOT_FOUND. */
export function scheduleNotFound(id: string): never {
  const metadata = { scheduleId: id };
  throw new StatusError('NOT_FOUND', 'SCHEDULE_NOT_FOUND', 'The server has no such schedule.', { metadata });
}

import { type Snapshot, createActor } from 'xstate';
import type { Cause, Live, ServerEvent, ServerLimits, ServerState } from '../../machines/server-types.ts';
import { type ServerSnapshot, isTagged, serverMachine } from '../../machines/server.ts';
import type { Log } from '../kernel/log.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import type { ServerRow } from './rows.ts';
import type { ServerNow } from './server-now.ts';

/** Returns the stored snapshot of a server's run, in wall time. */
function storedSnapshot(row: ServerRow): ServerSnapshot {
  return JSON.parse(row.snapshot) as ServerSnapshot;
}

/** The cause of a run whose cause is unknown. */
export const UNKNOWN_CAUSE: Cause = { kind: 'system', id: 'restored', note: '' };

/** Returns the snapshot of a new server. */
export function untouched(row: ServerRow, limits: ServerLimits, cause: Cause): Snapshot<unknown> {
  const actor = createActor(serverMachine, { input: { id: row.id, limits, at: row.createdAt, cause } });
  return actor.getPersistedSnapshot();
}

/**
 * Returns a stored snapshot with this run's limits, in the steady clock's time. A snapshot that this version cannot
 * read is replaced by a sleeping one.
 */
export function restorable(
  row: ServerRow,
  { limits, log, steady }: { limits: ServerLimits; log: Log; steady: SteadyClock },
): Snapshot<unknown> {
  const stored = fromStoredTime(storedSnapshot(row), steady);
  try {
    stored.context.limits = limits;
    serverMachine.resolveState({ value: stored.value, context: stored.context });
    return stored;
  } catch (error) {
    log.error(
      { server: row.id, err: error, value: stored.value },
      'this version does not know the stored state; the server is treated as hibernated',
    );
    return untouched(row, limits, UNKNOWN_CAUSE);
  }
}

/** Returns a server as its row alone shows it. */
export function dormant(row: ServerRow): ServerNow {
  return { row, state: row.state as ServerState, context: storedSnapshot(row).context };
}

/** Whether the server is at rest, with no queued start and no job. */
export function isStopped({ state, context }: ServerNow): boolean {
  return isTagged(state, 'at-rest') && context.queued === null && context.job === null;
}

/** Returns a dormant server's snapshot, to check which events it accepts. */
export function readOnly(row: ServerRow): ServerSnapshot {
  const { value, context } = storedSnapshot(row);
  return serverMachine.resolveState({ value, context });
}

/** Whether both are in the same state. */
export function sameValue(a: ServerSnapshot, b: ServerSnapshot): boolean {
  return JSON.stringify(a.value) === JSON.stringify(b.value);
}

/**
 * Whether a snapshot is worth a write. Changed readings (`live`) alone are not, unless the game stops or resumes
 * answering; see ServerContext.
 */
export function worthStoring(before: ServerSnapshot, after: ServerSnapshot): boolean {
  if (before.context === after.context) return !sameValue(before, after);
  const { live: wasLive, ...a } = before.context;
  const { live, ...b } = after.context;
  const isSilent = ({ silentSince = null }: Live) => silentSince !== null;
  return (
    !sameValue(before, after) ||
    isSilent(wasLive) !== isSilent(live) ||
    Object.keys(b).some((key) => a[key as keyof typeof a] !== b[key as keyof typeof b])
  );
}

/*
 * Servers' machines use the steady clock, so that a change of the system clock does not make them sleep, wake or fail.
 * Stored and shown instants are wall time, because they outlive a boot. The functions below convert between the two for
 * `actors.ts` and `servers.ts`.
 */

/** The clock with which a snapshot was stored. */
interface StoredTime {
  epoch: string;
  offsetMs: number;
}

const INSTANT = /^(?:at|until)$|(?:At|Until|Since)$/;

/**
 * Returns a copy with each instant (`at`, `readyAt`, `silentSince`, `keepAwakeUntil` …) and each list of instants
 * (`retries`, `crashes` …) moved by `byMs`. 0 and null mean "no instant" and stay.
 */
export function shifted<T extends object>(times: T, byMs: number): T {
  if (byMs === 0) return times;
  return Object.fromEntries(Object.entries(times).map(([key, value]) => [key, shiftedField(key, value, byMs)])) as T;
}

function shiftedField(key: string, value: unknown, byMs: number): unknown {
  if (typeof value === 'number') return INSTANT.test(key) && value > 0 ? value + byMs : value;
  if (Array.isArray(value)) return value.map((each: unknown) => (typeof each === 'number' ? each + byMs : each));
  return typeof value === 'object' && value !== null ? shifted(value, byMs) : value;
}

/**
 * Converts an event from wall time to machine time. An instant in the future, even by a moment, becomes the present.
 */
export function inMachineTime<Event extends ServerEvent>(event: Event, steady: SteadyClock): Event {
  const sent = shifted(event, -steady.offsetMs());
  return 'at' in sent ? { ...sent, at: Math.min(sent.at, steady.now()) } : sent;
}

/** Converts a persisted snapshot to wall time and records the offset. */
export function inStoredTime(snapshot: object, steady: SteadyClock): object {
  const offsetMs = steady.offsetMs();
  const clock: StoredTime = { epoch: steady.epoch, offsetMs };
  return { ...shifted(snapshot, offsetMs), clock };
}

/**
 * Converts a stored snapshot to machine time. Within one boot, its instants stay exact. After a reboot, its instants
 * count as today's wall time. The snapshot of a new server has no recorded clock.
 */
export function fromStoredTime<Snapshot extends object>(
  stored: Snapshot & { clock?: StoredTime },
  steady: SteadyClock,
): Snapshot {
  const { clock, ...snapshot } = stored;
  const isOfThisBoot = clock !== undefined && steady.epoch !== '' && clock.epoch === steady.epoch;
  return shifted(snapshot as unknown as Snapshot, -(isOfThisBoot ? clock.offsetMs : steady.offsetMs()));
}

import type { ServerEvent } from '../../machines/server-types.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';

/**
 * Servers' machines use the steady clock, so that a change of the system clock does not make them sleep, wake or fail.
 * Stored and shown instants are wall time, because they outlive a boot. This file converts between the two for
 * `actors.ts`, `commands.ts` and `servers.ts`.
 */
export interface StoredTime {
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

import type { ServerEvent } from '../../machines/server-types.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';

/**
 * Servers' machines live by the steady clock, so that a change of the machine's clock does not make them sleep, wake or
 * fail. Stored and shown instants are wall time, because they outlive a boot. The conversions are here; `actors.ts`,
 * `commands.ts` and `servers.ts` use them.
 */
export interface StoredTime {
  epoch: string;
  offsetMs: number;
}

const INSTANT = /^(?:at|until)$|(?:At|Until|Since)$/;

/**
 * A copy in which each instant (`at`, `readyAt`, `silentSince`, `keepAwakeUntil` …) lies so much later, and each of a list
 * (`retries`, `crashes` …); 0 and null stand for none.
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

/** Converts an event from wall time for the machine. Facts lie in the past, even if only by a moment. */
export function inMachineTime<Event extends ServerEvent>(event: Event, steady: SteadyClock): Event {
  const told = shifted(event, -steady.offsetMs());
  return 'at' in told ? { ...told, at: Math.min(told.at, steady.now()) } : told;
}

/** A machine's persisted snapshot in the wall's time, and by how much that is ahead. */
export function inStoredTime(snapshot: object, steady: SteadyClock): object {
  const offsetMs = steady.offsetMs();
  const clock: StoredTime = { epoch: steady.epoch, offsetMs };
  return { ...shifted(snapshot, offsetMs), clock };
}

/**
 * A stored snapshot in the time of the machines that live now. Within one boot it goes on exactly where it was. After a reboot,
 * its instants are taken as the wall's of today. A server to which nothing has happened yet has no clock stored.
 */
export function fromStoredTime<Snapshot extends object>(
  stored: Snapshot & { clock?: StoredTime },
  steady: SteadyClock,
): Snapshot {
  const { clock, ...snapshot } = stored;
  const isOfThisBoot = clock !== undefined && steady.epoch !== '' && clock.epoch === steady.epoch;
  return shifted(snapshot as unknown as Snapshot, -(isOfThisBoot ? clock.offsetMs : steady.offsetMs()));
}

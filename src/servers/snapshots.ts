import { type InputFrom, type Snapshot, createActor } from 'xstate';
import {
  CONTEXT_NUMBERS,
  type Cause,
  EVENT_NUMBERS,
  type Live,
  type NumbersIn,
  type ServerContext,
  type ServerEvent,
  type ServerLimits,
  type ServerState,
} from '../../machines/server-types.ts';
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

type Effects = Required<NonNullable<Parameters<typeof serverMachine.provide>[0]['actors']>>;

/** The inputs of running effects, which their server's snapshot contains. */
type EffectInputs = { [Effect in keyof Effects]: InputFrom<Effects[Effect]> };

const INPUT_NUMBERS: NumbersIn<EffectInputs> = {
  alarm: { at: 'instant' },
  warn: { at: 'instant' },
  pause: { ms: 'other' },
};

/** The parts of a persisted snapshot that contain instants. */
interface Persisted {
  context: object;
  children?: Record<string, { src: string; snapshot: { input?: object } }>;
}

interface Numbers {
  readonly [field: string]: 'instant' | 'other' | Numbers;
}

/** Returns a copy with the instants named in `numbers` moved by `byMs`. 0 and null mean "no instant" and stay. */
function shifted<T extends object>(times: T, numbers: Numbers, byMs: number): T {
  const fields = { ...times } as Record<string, unknown>;
  for (const [field, kind] of Object.entries(numbers)) {
    const value = fields[field];
    if (typeof value === 'number' && kind === 'instant') fields[field] = shiftedInstant(value, byMs);
    else if (Array.isArray(value)) fields[field] = value.map((each: number) => shiftedInstant(each, byMs));
    else if (typeof value === 'object' && value !== null) fields[field] = shifted(value, kind as Numbers, byMs);
  }
  return fields as T;
}

function shiftedInstant(at: number, byMs: number): number {
  return at > 0 ? at + byMs : at;
}

/** Returns a copy of a server's context with each instant moved by `byMs`. */
export function shiftedContext<Context extends Partial<ServerContext>>(context: Context, byMs: number): Context {
  return byMs === 0 ? context : shifted(context, CONTEXT_NUMBERS, byMs);
}

function shiftedSnapshot<Snapshot extends object>(snapshot: Snapshot, byMs: number): Snapshot {
  if (byMs === 0) return snapshot;
  const { context, children = {} } = snapshot as unknown as Persisted;
  const inputs: Readonly<Record<string, Numbers>> = INPUT_NUMBERS;
  const effects = Object.entries(children).map(([id, child]) => {
    const { input } = child.snapshot;
    const numbers = inputs[child.src];
    if (input === undefined || numbers === undefined) return [id, child] as const;
    return [id, { ...child, snapshot: { ...child.snapshot, input: shifted(input, numbers, byMs) } }] as const;
  });
  return { ...snapshot, context: shiftedContext(context, byMs), children: Object.fromEntries(effects) };
}

/**
 * Converts an event from wall time to machine time. An instant in the future, even by a moment, becomes the present.
 */
export function inMachineTime<Event extends ServerEvent>(event: Event, steady: SteadyClock): Event {
  const sent = shifted(event, EVENT_NUMBERS[event.type], -steady.offsetMs());
  return 'at' in sent ? { ...sent, at: Math.min(sent.at, steady.now()) } : sent;
}

/** Converts a persisted snapshot to wall time and records the offset. */
export function inStoredTime(snapshot: object, steady: SteadyClock): object {
  const offsetMs = steady.offsetMs();
  const clock: StoredTime = { epoch: steady.epoch, offsetMs };
  return { ...shiftedSnapshot(snapshot, offsetMs), clock };
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
  return shiftedSnapshot(snapshot as unknown as Snapshot, -(isOfThisBoot ? clock.offsetMs : steady.offsetMs()));
}

import { createActor } from 'xstate';
import { eventName } from '../../machines/event-names.ts';
import type { Cause, ServerEvent, ServerLimits, ServerState } from '../../machines/server-types.ts';
import { type ServerSnapshot, serverMachine, serverState } from '../../machines/server.ts';
import type { ActorKind, StoredStep, TakenStep } from '../actors/actor-kind.ts';
import { DurableActors } from '../actors/durable-actors.ts';
import { pathOf } from '../actors/machine-step.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import { type ServerStep, recordStep } from '../audit/audit.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import type { Store, Tx } from '../store/store.ts';
import type { EffectHost } from './effect-host.ts';
import type { Effects } from './effects.ts';
import { failureIn, insertDiagnostic } from './diagnostics.ts';
import { saveSnapshot, setMaintenance } from './machine-rows.ts';
import { type ServerRow, deleteServer, getServer, patchServer } from './rows.ts';
import type { RowChange, ServerNow } from './server-now.ts';
import {
  UNKNOWN_CAUSE,
  dormant,
  inStoredTime,
  restorable,
  sameValue,
  shiftedContext,
  worthStoring,
} from './snapshots.ts';

/**
 * Runs in the write of a step, with the server as the step leaves it: for rows that must be stored with it or not at
 * all.
 */
export type OnStep = (tx: Tx, now: ServerNow, step: ServerStep) => Promise<void>;

/** Hooks of rooms that depend on servers. */
export interface ServerParts {
  effects: (host: EffectHost) => Effects;
  onStep: OnStep;
}

/** Limits of the cache of sleeping servers, so that frequent requests do not read them each time. */
const REMEMBERED = { most: 256, ms: 10_000 };

/**
 * Servers that are not at rest. Their machines use the steady clock; `ServerNow` and stored snapshots use wall time.
 */
export type ServerActors = DurableActors<ServerTypes>;

/** The clocks and limits of the machines, and the place of their rows. */
interface Base {
  store: Store;
  clock: Clock;
  steady: SteadyClock;
  log: Log;
  limits: ServerLimits;
}
interface ServerTypes {
  row: ServerRow;
  snapshot: ServerSnapshot;
  event: ServerEvent;
  now: ServerNow;
}
type StepEvent = Parameters<typeof failureIn>[2] & { at?: number; cause?: Cause };

/** `parts`: called when the first actor is loaded. */
export function createServerActors(base: Base, parts: () => ServerParts): ServerActors {
  return new DurableActors({ ...base, kind: (actors) => serverKind(base, parts, actors) });
}

/** Changes a server's row and runs `also` in the same write. Throws NOT_FOUND. */
export async function changeRow(
  store: Store,
  clock: Clock,
  actors: ServerActors,
  { id, change, also }: { id: string; change: RowChange; also?: ((tx: Tx) => Promise<void>) | undefined },
): Promise<ServerNow> {
  const updatedAt = clock.now();
  const fields = await store.write(async (tx) => {
    const changed = typeof change === 'function' ? change(await rowIn(tx, id)) : change;
    await patchServer(tx, id, { ...changed, updatedAt });
    await also?.(tx);
    return changed;
  });
  const now = await actors.changed(id, { ...fields, updatedAt });
  if (now === undefined) throw serverNotFound(id);
  return now;
}

function serverKind(base: Base, parts: () => ServerParts, actors: ServerActors): ActorKind<ServerTypes> {
  const { store, clock, limits, log, steady } = base;
  const host: EffectHost = {
    committed: (id, signal) => actors.committed(id, signal),
    notify: (id, fact) => actors.find(id)?.actor.send(fact),
    now: (id) => {
      const live = actors.find(id);
      return live && insideOf(live.row, live.snapshot);
    },
    patch: async (id, change, also) => void (await changeRow(store, clock, actors, { id, change, also })),
  };
  let provided: typeof serverMachine | undefined;
  const machine = () => (provided ??= serverMachine.provide({ actors: parts().effects(host) }));
  const show = (row: ServerRow, snapshot: ServerSnapshot): ServerNow => {
    const now = insideOf(row, snapshot);
    return { ...now, context: shiftedContext(now.context, steady.offsetMs()) };
  };

  return {
    name: 'server',
    remembered: REMEMBERED,
    read: (id) => getServer(store, id),
    revive: (row, inspect) =>
      createActor(machine(), {
        input: { id: row.id, limits, at: row.createdAt, cause: UNKNOWN_CAUSE },
        snapshot: restorable(row, { limits, log, steady }),
        inspect,
      }),
    step: (taken) => storedStep(base, parts, taken, show(taken.row, taken.after)),
    show,
    showDormant: dormant,
  };
}

/** Returns the write that stores a transition's snapshot together with its cause and all rows that depend on it. */
function storedStep(
  { clock, steady, log }: Base,
  parts: () => ServerParts,
  { row, before, after, event, persisted }: TakenStep<ServerTypes> & { event: StepEvent },
  now: ServerNow,
): StoredStep<ServerTypes> | undefined {
  const sent = event.cause?.kind === 'operator';
  if (!sent && !worthStoring(before, after)) return undefined;
  const { id } = row;
  const at = event.at === undefined ? clock.now() : steady.wallOf(event.at);
  const [from, to] = [serverState(before), serverState(after)];
  const snapshot = JSON.stringify(inStoredTime(persisted(), steady));
  const failure = failureIn(before, after, event, at);
  const cause = event.cause ?? after.context.cause;
  // A mere fact, such as an answer of the game, is stored but is no transition. A restarted start is one.
  const isTransition = sent || !sameValue(before, after) || (to === 'starting' && event.type === 'DOWN');
  const noted = { at, event: event.type, from, to };
  if (from !== to) {
    const { wokenAt, readyAt } = after.context;
    const startMs = wokenAt === null || readyAt === null ? undefined : readyAt - wokenAt;
    const said = stepWords({ id, from, to, event: event.type, cause: after.context.cause, failure, startMs });
    const fields = {
      server: id,
      from,
      to,
      event: eventName(event.type),
      cause: after.context.cause,
      failure: failure?.code,
    };
    log.info(fields, said);
  }

  async function save(tx: Tx): Promise<void> {
    if (after.status === 'done') return deleteServer(tx, id);
    // An announced stop, or its cancellation, is no new phase.
    const transition = { ...noted, cause: JSON.stringify(sent || from === to ? cause : after.context.cause) };
    await saveSnapshot(tx, id, { snapshot, state: to, updatedAt: at, transitions: isTransition ? [transition] : [] });
    // Stored apart from the transition: its cause may differ from the failed phase's, as for a start queued behind a
    // stop.
    if (failure) await insertDiagnostic(tx, id, failure);
    // The job's row is written and removed together with the snapshot that names it.
    const { job } = after.context;
    if (job?.id !== before.context.job?.id) await setMaintenance(tx, id, job);
    const { announced } = before.context;
    const isAnnounced = event.cause === undefined && announced !== null && after.context.cause === announced.cause;
    const step = { ...noted, cause, sent, isAnnounced, job, failure: failure?.code };
    await recordStep(tx, row, step);
    await parts().onStep(tx, now, step);
  }

  const paths = () => ({ fromPath: pathOf(before.value), toPath: pathOf(after.value) });
  const step = () => ({ id, kind: 'server' as const, ...noted, ...paths(), cause, failure: failure?.code });
  return { save, stepTaken: isTransition ? step : undefined };
}

/** Returns a server as its effects see it: in the steady clock's time. */
function insideOf(row: ServerRow, snapshot: ServerSnapshot): ServerNow {
  return { row, state: serverState(snapshot), context: snapshot.context };
}

async function rowIn(tx: Tx, id: string): Promise<ServerRow> {
  const row = await getServer(tx, id);
  if (row === undefined) throw serverNotFound(id);
  return row;
}

/** A step from one wire state to another, for the log. */
interface SaidStep {
  id: string;
  from: ServerState;
  to: ServerState;
  /** The event's name. */
  event: string;
  cause: Cause;
  /** The failure behind the step. */
  failure?: { code: string; summary: string; suggestion: string } | undefined;
  /** Duration of a successful start. */
  startMs?: number | undefined;
}

/** Returns one sentence for operators who do not know the states. */
export function stepWords({ id, from, to, event, cause, failure, startMs }: SaidStep): string {
  switch (to) {
    case 'starting':
      return from === 'running' ? `${id} is ${cause.note}` : `${id} wakes up: ${whoOrWhat(cause)}`;
    case 'running':
      return `${id} is ready${startMs === undefined ? '' : ` after ${(startMs / 1_000).toFixed(1)} s`}`;
    case 'stopping':
      if (event === 'KILL') return `${id} is killed without saving: ${whoOrWhat(cause)}`;
      return event === 'MAINTAIN'
        ? `${id} goes to sleep for a file operation`
        : `${id} goes to sleep: ${whoOrWhat(cause)}`;
    case 'hibernated':
      return from === 'installing' ? `${id} is installed` : `${id} sleeps`;
    case 'installing':
      return `${id} is being installed: ${whoOrWhat(cause)}`;
    case 'install_failed':
      return `${id} could not be installed${because(failure)}`;
    case 'start_failed':
      return `${id} ${from === 'running' ? 'ended unexpectedly' : 'could not start'}${because(failure)}`;
    case 'deleting':
      return `${id} is being deleted: ${whoOrWhat(cause)}`;
    default:
      return to satisfies never;
  }
}

function whoOrWhat({ kind, id, note }: Cause): string {
  if (kind === 'player') return `${id} joined`;
  if (kind === 'operator') return note === '' ? 'by an operator' : `by an operator, ${note}`;
  return note === '' ? id : note;
}

/** Returns, for example, `: Out of memory: … (out_of_memory). Give it more RAM.` */
function because(failure: SaidStep['failure']): string {
  if (failure === undefined) return '';
  const summary = failure.summary.replaceAll(/\s+/g, ' ').replace(/\.$/, '');
  return `: ${summary} (${failure.code}). ${failure.suggestion}`.trimEnd();
}

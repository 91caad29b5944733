import { type Actor, type InspectedSnapshotEvent, createActor } from 'xstate';
import type { Cause, ServerEvent } from '../../machines/server-types.ts';
import { type ServerSnapshot, serverMachine, serverState } from '../../machines/server.ts';
import { type StepFeed, createStepFeed, pathOf } from '../actors/machine-step.ts';
import { setMaintenance } from './maintenance-rows.ts';
import type { Tx } from '../store/store.ts';
import { insertDiagnostic } from './diagnostic-rows.ts';
import { failureIn } from './failures.ts';
import { inMachineTime, inStoredTime, shifted } from './machine-time.ts';
import { notFound } from './refusals.ts';
import { UNKNOWN_CAUSE, atRest, restorable, sameValue, worthStoring } from './resting.ts';
import * as rows from './rows.ts';
import type { ServerRow } from './rows.ts';
import type { EffectHost } from './effect-host.ts';
import type { RowChange, ServerNow } from './server-now.ts';
import type { Servers, ServersOptions } from './servers.ts';
import { listServersNotAtRest, saveSnapshot } from './transition-rows.ts';

/** A server that has an actor, and how far what it holds in memory is stored. */
export interface ServerEntry {
  row: ServerRow;
  actor: Actor<typeof serverMachine>;
  /** The last snapshot the observer saw, to know what changed. */
  seen: ServerSnapshot;
  /** Settles when `seen`, and what was changed of `row` at rest, is stored. */
  commit: Promise<void>;
  /** Its row is being changed: who reads it anew would not see that. */
  changing: boolean;
  /** Fields of its row that the next step of its machine stores with itself. */
  altered: Partial<ServerRow>;
  /** Its last write failed: what it holds in memory never happened. */
  dropped: boolean;
}

/** The actors of those servers that are not at rest, and their rows: in memory as they are stored, or about to be. */
export interface ServerActors extends Pick<
  Servers,
  'get' | 'patch' | 'tell' | 'observe' | 'restore' | 'live' | 'jobOf' | 'close'
> {
  entries: ReadonlyMap<string, ServerEntry>;
  /** An entry that takes events now; undefined for unknown servers. */
  loaded: (id: string) => Promise<ServerEntry | undefined>;
  /** Lets the actor of a server at rest go; whoever loads one and gives it nothing calls this. */
  evict: (entry: ServerEntry) => void;
  /** The server as its last snapshot shows it, stored or not. */
  nowOf: (entry: ServerEntry) => ServerNow;
  inMachineTime: <Event extends ServerEvent>(event: Event) => Event;
  /** Calls the observers. */
  announce(id: string, now: ServerNow | null): void;
  /** Every step, once it is stored. */
  feed: StepFeed;
}

export type ServerActorsOptions = Required<Omit<ServersOptions, 'onRefusal'>>;

type StepEvent = Parameters<typeof failureIn>[2] & { at?: number; cause?: Cause };

const RELOAD_MS = 1_000;

/**
 * Keeps one live actor per server that is not at rest; sleeping ones cost a row. Each transition is stored with its cause
 * in the write of its snapshot, and no effect begins before the snapshot that asked for it is stored (`committed`).
 */
export function createServerActors(options: ServerActorsOptions): ServerActors {
  const { store, clock, steady, log, limits, effects, audit, onStep } = options;
  const entries = new Map<string, ServerEntry>();
  const loading = new Map<string, Promise<ServerEntry | undefined>>();
  /** Of those being loaded, whose row has changed since it was asked for. */
  const outdated = new Set<string>();
  /** Whose last change could not be stored, until what is stored is read. */
  const goingBack = new Set<string>();
  const listeners = new Set<(id: string, now: ServerNow | null) => void>();
  const feed = createStepFeed();
  let closed = false;

  const host: EffectHost = {
    committed: async (id, signal) => {
      // The observer of the transition that started this effect runs in the same turn, before this one goes on.
      await Promise.resolve();
      await entries.get(id)?.commit;
      signal?.throwIfAborted();
    },
    tell: (id, fact) => entries.get(id)?.actor.send(fact),
    now: (id) => {
      const entry = entries.get(id);
      return entry === undefined ? undefined : insideOf(entry);
    },
    patch: async (id, change, also) => void (await patch(id, change, also)),
  };
  const machine = serverMachine.provide({ actors: effects(host) });

  function nowOf(entry: ServerEntry): ServerNow {
    const now = insideOf(entry);
    return { ...now, context: shifted(now.context, steady.offsetMs()) };
  }

  function announce(id: string, now: ServerNow | null): void {
    for (const listener of listeners) listener(id, now);
  }

  function revive(row: ServerRow): ServerEntry {
    const id = row.id;
    const actor = createActor(machine, {
      input: { id, limits, at: row.createdAt, cause: UNKNOWN_CAUSE },
      snapshot: restorable(row, { limits, log, steady }),
      // Not to be asked for `entry` before there is one: the first inspections come from within createActor.
      inspect: (event) => event.type === '@xstate.snapshot' && observed(entry, event),
    });
    const entry: ServerEntry = {
      row,
      actor,
      seen: actor.getSnapshot(),
      commit: Promise.resolve(),
      changing: false,
      altered: {},
      dropped: false,
    };
    actor.subscribe({ error: (error) => log.error({ server: id, err: error }, 'a machine failed') });
    entries.set(id, entry);
    goingBack.delete(id);
    actor.start();
    return entry;
  }

  function observed(entry: ServerEntry, inspection: InspectedSnapshotEvent): void {
    if (inspection.actorRef !== entry.actor || entry.dropped) return;
    const before = entry.seen;
    const after = entry.actor.getSnapshot();
    if (after === before || after.status === 'error') return;
    entry.seen = after;
    const { event } = inspection;
    if (event.type !== 'xstate.init' && (worthStoring(before, after) || isIntervention(event)))
      commit(entry, before, event);
    announce(entry.row.id, after.status === 'done' ? null : nowOf(entry));
  }

  function commit(entry: ServerEntry, before: ServerSnapshot, event: StepEvent): void {
    const { row, seen } = entry;
    const id = row.id;
    const at = event.at === undefined ? clock.now() : steady.wallOf(event.at);
    const now = nowOf(entry);
    const [from, to] = [serverState(before), serverState(seen)];
    const snapshot = JSON.stringify(inStoredTime(entry.actor.getPersistedSnapshot(), steady));
    const { altered } = entry;
    entry.altered = {};
    const failure = failureIn(before, seen, event, at);
    const cause = event.cause ?? seen.context.cause;
    const sent = isIntervention(event);
    // A fact that is only noted, as that the game has answered, is stored and is no transition.
    const isTransition = sent || !sameValue(before, seen);
    if (from !== to) log.info({ server: id, from, to, event: event.type, cause: seen.context.cause }, 'server %s', to);
    entry.commit = store.write(async (tx) => {
      if (entry.dropped) throw new Error('an earlier change of this server was not stored');
      if (seen.status === 'done') return rows.deleteServer(tx, id);
      if (Object.keys(altered).length > 0) await rows.patchServer(tx, id, { ...altered, updatedAt: at });
      const transition = { at, event: event.type, from, to, cause: JSON.stringify(sent ? cause : seen.context.cause) };
      await saveSnapshot(tx, id, {
        snapshot,
        state: to,
        updatedAt: at,
        transitions: isTransition ? [transition] : [],
      });
      // What was asked for by somebody else than who began the present phase: a start behind a stop, say.
      if (failure) await insertDiagnostic(tx, id, failure);
      // The job's row comes and goes with the snapshot that speaks of it.
      const { job } = seen.context;
      if (job?.id !== before.context.job?.id) await setMaintenance(tx, id, job);
      const step = { at, event: event.type, from, to, cause, sent, job, failure: failure?.code };
      await audit(tx, row, step);
      await onStep(tx, now, step);
    });
    entry.commit.then(
      () => {
        const [fromPath, toPath] = [pathOf(before.value), pathOf(seen.value)];
        const told = { id, kind: 'server', at, event: event.type, from, to, fromPath, toPath, cause } as const;
        if (isTransition) feed.tell(() => ({ ...told, failure: failure?.code }));
        evict(entry);
      },
      (error: unknown) => drop(entry, error),
    );
  }

  /** At rest nothing is invoked, so what is stored is all there is to keep, once it is. */
  function evict(entry: ServerEntry): void {
    const { seen, row } = entry;
    if (entries.get(row.id) !== entry || Object.keys(seen.children).length > 0 || entry.actor.getSnapshot() !== seen)
      return;
    if (entry.changing) return;
    entries.delete(row.id);
    entry.dropped = true;
    entry.actor.stop();
  }

  /** The change could not be stored: forget it, and go on from what is. */
  function drop(entry: ServerEntry, error: unknown): void {
    if (entry.dropped) return;
    const id = entry.row.id;
    log.error({ server: id, err: error }, 'a change could not be stored; going back to the stored state');
    entry.dropped = true;
    entries.delete(id);
    entry.actor.stop();
    if (!closed) goBack(id);
  }

  /** Watchers were told of the change already: they are told of what is instead, as soon as that can be read. */
  function goBack(id: string): void {
    goingBack.add(id);
    clock.at(clock.now() + RELOAD_MS, () => {
      if (closed) return;
      load(id).then(
        (entry) => {
          goingBack.delete(id);
          if (closed) return;
          announce(id, entry === undefined ? null : nowOf(entry));
          entry?.commit.then(
            () => evict(entry),
            () => {},
          );
        },
        () => goBack(id),
      );
    });
  }

  async function load(id: string): Promise<ServerEntry | undefined> {
    const entry = entries.get(id);
    if (entry !== undefined) return entry;
    let pending = loading.get(id);
    if (pending === undefined) {
      pending = read(id).finally(() => loading.delete(id));
      loading.set(id, pending);
    }
    return pending;
  }

  /** An entry that takes events now: one that came to rest while it was waited for has let its actor go. */
  async function loaded(id: string): Promise<ServerEntry | undefined> {
    for (;;) {
      const entry = await load(id);
      if (entry === undefined || !entry.dropped) return entry;
    }
  }

  async function read(id: string): Promise<ServerEntry | undefined> {
    for (;;) {
      outdated.delete(id);
      const row = await rows.getServer(store, id);
      if (row === undefined || closed) return undefined;
      if (!outdated.has(id)) return entries.get(id) ?? revive(row);
    }
  }

  async function patch(
    id: string,
    change: RowChange,
    also: (tx: Tx) => Promise<void> = async () => {},
  ): Promise<ServerNow> {
    const updatedAt = clock.now();
    const fields = await store.write(async (tx) => {
      const changed = typeof change === 'function' ? change(await rowIn(tx, id)) : change;
      await rows.patchServer(tx, id, { ...changed, updatedAt });
      await also(tx);
      return changed;
    });
    if (loading.has(id)) outdated.add(id);
    const entry = entries.get(id);
    if (entry !== undefined) entry.row = { ...entry.row, ...fields, updatedAt };
    const now = entry === undefined ? await get(id) : nowOf(entry);
    if (now === undefined) throw notFound(id);
    announce(id, now);
    return now;
  }

  /** As it is stored: what a change has not yet put on disk is not shown to anybody who may rely on it. */
  async function get(id: string): Promise<ServerNow | undefined> {
    const now = await stored(id);
    return now === undefined || now.state === 'deleting' ? undefined : now;
  }

  async function stored(id: string): Promise<ServerNow | undefined> {
    for (let entry = entries.get(id); entry !== undefined; entry = entries.get(id)) {
      const now = nowOf(entry);
      const { seen } = entry;
      await entry.commit.catch(() => {});
      if (!entry.dropped && entry.seen === seen) return now;
    }
    const row = await rows.getServer(store, id);
    return entries.has(id) ? stored(id) : row && atRest(row);
  }

  return {
    entries,
    loaded,
    evict,
    nowOf,
    inMachineTime: (event) => inMachineTime(event, steady),
    announce,
    feed,
    get,
    patch,
    async tell(id, fact) {
      const entry = await loaded(id);
      entry?.actor.send(inMachineTime(fact, steady));
      await entry?.commit;
    },
    observe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async restore() {
      for (const id of await listServersNotAtRest(store)) evict((await load(id))!);
    },
    live: () => [...entries.values()].map(nowOf),
    jobOf(id) {
      const entry = entries.get(id);
      if (entry) return entry.actor.getSnapshot().context.job?.kind;
      return goingBack.has(id) ? 'the change before it' : undefined;
    },
    async close() {
      closed = true;
      const all = [...entries.values()];
      await Promise.allSettled(all.map((entry) => entry.commit));
      for (const entry of all) {
        entry.dropped = true;
        entry.actor.stop();
      }
      entries.clear();
    },
  };
}

/** A server as its effects see it, who live by the same clock. */
function insideOf({ row, seen }: ServerEntry): ServerNow {
  return { row, state: serverState(seen), context: seen.context };
}

async function rowIn(tx: Tx, id: string): Promise<ServerRow> {
  const row = await rows.getServer(tx, id);
  if (row === undefined) throw notFound(id);
  return row;
}

function isIntervention({ cause }: StepEvent): boolean {
  return cause?.kind === 'operator';
}

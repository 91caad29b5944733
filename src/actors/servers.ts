import { createActor } from 'xstate';
import type { Actor, InspectedSnapshotEvent, Snapshot } from 'xstate';
import type { Cause, ServerCommand, ServerEvent, ServerLimits, ServerState } from '../../machines/server-types.ts';
import { type ServerSnapshot, serverMachine, serverState } from '../../machines/server.ts';
import { recordStep } from '../access/audit.ts';
import type { ServerStep } from '../access/audit.ts';
import type { Log } from '../log.ts';
import type { Clock } from '../ports.ts';
import { StatusError } from '../status.ts';
import type { ServerRow, TransitionRow } from '../store/rows.ts';
import * as rows from '../store/servers.ts';
import { listServersNotAtRest, listTransitions, saveSnapshot } from '../store/snapshots.ts';
import { insertDiagnostic } from '../store/diagnostics.ts';
import { setMaintenance } from '../store/maintenance.ts';
import type { Store, Tx } from '../store/store.ts';
import type { EffectHost, ServerNow } from './effect-host.ts';
import type { Effects } from './effects.ts';
import { failureIn } from './failures.ts';
import { createStepFeed, pathOf, type StepListener } from './machine-step.ts';
import { eventNotLegal, type Intervention, operatorEvents } from './operator-events.ts';
import { notAllowed, notFound, notStopped } from './refusals.ts';
import { atRest, isStopped, readOnly, sameValue, storedSnapshot, worthStoring } from './resting.ts';

/** A server's machine laid open (operation InspectMachine). */
export interface MachineView {
  state: ServerState;
  /** When the present state was entered; null before the first transition. */
  since: number | null;
  /** Commands that would be taken now. */
  allowedEvents: string[];
  deadlines: { name: string; at: number }[];
  /** The newest 50, newest first. */
  transitions: TransitionRow[];
  /** The statechart as plain JSON. */
  definition: unknown;
}

/** Every server of the installation, each one an actor. */
export interface Servers {
  /** Stores the server and its first snapshot; with a mod pack it goes to `installing`. ALREADY_EXISTS for a taken id or host name. */
  create(row: ServerRow, cause: Cause): Promise<ServerNow>;
  /** Undefined for unknown servers and for those being deleted. */
  get(id: string): Promise<ServerNow | undefined>;
  listByAccount(accountId: string): Promise<ServerNow[]>;
  /**
   * Gives a command and resolves once it is stored. NOT_FOUND; FAILED_PRECONDITION where the state does not allow it;
   * UNAVAILABLE where it could not be stored (then nothing has happened). `fields` are what its owner changes with it, in the
   * same write.
   */
  send(id: string, command: ServerCommand, fields?: Partial<ServerRow>): Promise<ServerNow>;
  /**
   * Gives an operator's event, also to a server that is being deleted; otherwise as `send`. FAILED_PRECONDITION
   * EVENT_NOT_LEGAL, which names what would be taken.
   */
  intervene(id: string, event: Intervention): Promise<void>;
  /** Changes what the owner sets; effects read it when they next act. `also` runs in the same write. */
  patch(id: string, fields: Partial<ServerRow>, also?: (tx: Tx) => Promise<void>): Promise<ServerNow>;
  /**
   * The same for what a run is made and charged by: NOT_FOUND; FAILED_PRECONDITION SERVER_NOT_STOPPED where anything of the
   * server runs or is about to. What would wake it meanwhile waits until the change is stored.
   */
  patchAtRest(id: string, fields: Partial<ServerRow>, also?: (tx: Tx) => Promise<void>): Promise<ServerNow>;
  inspect(id: string): Promise<MachineView | undefined>;
  /** Tells a fact; a server that does not know it in its state, or is gone, ignores it. */
  tell(id: string, fact: ServerEvent): Promise<void>;
  /** Calls after every change of any server, with null once it is gone. Returns the cancellation. */
  observe(listener: (id: string, now: ServerNow | null) => void): () => void;
  /** Tells every step of every server once it is stored; readings are none. Returns the cancellation. */
  follow(listener: StepListener): () => void;
  /** Resolves with the first state of the server, the present one included, that satisfies; rejects when `signal` fires. */
  until(id: string, satisfies: (now: ServerNow | null) => boolean, signal: AbortSignal): Promise<ServerNow | null>;
  /**
   * From now on asks `check` before one of these commands: by default those that wake a server that is not awake, or will
   * once it has stopped. With CREATE, one that is refused leaves no server behind. Returns the cancellation.
   */
  checkWakes(check: WakeCheck, commands?: readonly CheckedCommand[]): () => void;
  /** Brings every server that is not at rest back to life. */
  restore(): Promise<void>;
  /** The awake, passing and failed ones: all that the engine may know something of. */
  live(): ServerNow[];
  /** Stops all actors as they are, after their last change is stored; games run on. */
  close(): Promise<void>;
}

/**
 * Whether a server may wake, or have something installed. What has to be read for that is read first; the function it gives is called in the turn of the
 * command, with nothing between the question and the wake, and throws the StatusError that refuses it.
 */
export type WakeCheck = (row: ServerRow) => Promise<(now: ServerNow) => void>;

/** The commands for which somebody may be asked. */
export type CheckedCommand = 'CREATE' | 'START' | 'JOIN' | 'RESTART' | 'REINSTALL' | 'RETRY_INSTALL';

export interface ServersOptions {
  store: Store;
  clock: Clock;
  log: Log;
  limits: ServerLimits;
  effects: (host: EffectHost) => Effects;
  /** Runs in the write of every step of every server. Default: into the audit log. */
  audit?: (tx: Tx, server: ServerRow, step: ServerStep) => Promise<void>;
  /** Runs in the same write, with the server as the step leaves it: what must be stored with the step or not at all. */
  onStep?: (tx: Tx, now: ServerNow, step: ServerStep) => Promise<void>;
  /** Told the stable reason whenever a server may not be woken. */
  onRefusal?: (reason: string) => void;
}

interface Entry {
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

type StepEvent = Parameters<typeof failureIn>[2] & { at?: number; cause?: Cause };

const RELOAD_MS = 1_000;
/** Commands that begin a start, or queue one. */
export const WAKES: readonly CheckedCommand[] = ['START', 'JOIN', 'RESTART'];
/** What installs something: also a creation with a mod pack. */
export const INSTALLS: readonly CheckedCommand[] = ['CREATE', 'REINSTALL', 'RETRY_INSTALL'];
const AWAKE = new Set<ServerState>(['starting', 'running']);
const STATECHART = JSON.parse(JSON.stringify(serverMachine.definition)) as unknown;

/**
 * Keeps one live actor per server that is not at rest; sleeping ones cost a row. Each transition is stored with its cause
 * in the write of its snapshot, and no effect begins before the snapshot that asked for it is stored (`committed`).
 */
export function createServers(options: ServersOptions): Servers {
  const {
    store,
    clock,
    log,
    limits,
    effects,
    audit = recordStep,
    onStep = async () => {},
    onRefusal = () => {},
  } = options;
  const entries = new Map<string, Entry>();
  const loading = new Map<string, Promise<Entry | undefined>>();
  const listeners = new Set<(id: string, now: ServerNow | null) => void>();
  const wakeChecks = new Map<WakeCheck, readonly CheckedCommand[]>();
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
      return entry === undefined ? undefined : nowOf(entry);
    },
    patch: async (id, fields, also) => void (await patch(id, fields, also)),
  };
  const machine = serverMachine.provide({ actors: effects(host) });

  function nowOf(entry: Entry): ServerNow {
    return { row: entry.row, state: serverState(entry.seen), context: entry.seen.context };
  }

  function announce(id: string, now: ServerNow | null): void {
    for (const listener of listeners) listener(id, now);
  }

  function revive(row: ServerRow, snapshot: Snapshot<unknown> | undefined, cause: Cause): Entry {
    const id = row.id;
    const actor = createActor(machine, {
      input: { id, limits, at: row.createdAt, cause },
      ...(snapshot === undefined ? {} : { snapshot }),
      // Not to be asked for `entry` before there is one: the first inspections come from within createActor.
      inspect: (event) => event.type === '@xstate.snapshot' && observed(entry, event),
    });
    const entry: Entry = {
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
    actor.start();
    return entry;
  }

  function observed(entry: Entry, inspection: InspectedSnapshotEvent): void {
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

  function commit(entry: Entry, before: ServerSnapshot, event: StepEvent): void {
    const { row, seen } = entry;
    const id = row.id;
    const at = event.at ?? clock.now();
    const now = nowOf(entry);
    const [from, to] = [serverState(before), serverState(seen)];
    const snapshot = JSON.stringify(entry.actor.getPersistedSnapshot());
    const { altered } = entry;
    entry.altered = {};
    const failure = failureIn(before, seen, event, at);
    const cause = event.cause ?? seen.context.cause;
    const sent = isIntervention(event);
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
        transitions: sent || !sameValue(before, seen) ? [transition] : [],
      });
      // What was asked for by somebody else than who began the present phase: a start behind a stop, say.
      if (failure) await insertDiagnostic(tx, id, failure);
      // The job's row comes and goes with the snapshot that speaks of it.
      const { job } = seen.context;
      if (job?.id !== before.context.job?.id) await setMaintenance(tx, id, job);
      const step = { at, event: event.type, from, to, cause, sent, job };
      await audit(tx, row, step);
      await onStep(tx, now, step);
    });
    entry.commit.then(
      () => {
        const [fromPath, toPath] = [pathOf(before.value), pathOf(seen.value)];
        feed.tell(() => ({ id, kind: 'server', at, event: event.type, from, to, fromPath, toPath, cause }));
        evict(entry);
      },
      (error: unknown) => drop(entry, error),
    );
  }

  /** At rest nothing is invoked, so what is stored is all there is to keep, once it is. */
  function evict(entry: Entry): void {
    const { seen, row } = entry;
    if (entries.get(row.id) !== entry || Object.keys(seen.children).length > 0 || entry.actor.getSnapshot() !== seen)
      return;
    if (entry.changing) return;
    entries.delete(row.id);
    entry.dropped = true;
    entry.actor.stop();
  }

  /** The change could not be stored: forget it, and go on from what is. */
  function drop(entry: Entry, error: unknown): void {
    if (entry.dropped) return;
    const id = entry.row.id;
    log.error({ server: id, err: error }, 'a change could not be stored; going back to the stored state');
    entry.dropped = true;
    entries.delete(id);
    entry.actor.stop();
    if (!closed) clock.at(clock.now() + RELOAD_MS, () => void load(id).catch(() => drop(entry, error)));
  }

  async function load(id: string): Promise<Entry | undefined> {
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
  async function loaded(id: string): Promise<Entry | undefined> {
    for (;;) {
      const entry = await load(id);
      if (entry === undefined || !entry.dropped) return entry;
    }
  }

  async function read(id: string): Promise<Entry | undefined> {
    const row = await rows.getServer(store, id);
    if (row === undefined || closed) return undefined;
    return entries.get(id) ?? revive(row, restorable(row), UNKNOWN_CAUSE);
  }

  /** A stored snapshot with this run's limits; one that this version cannot read is taken as asleep. */
  function restorable(row: ServerRow): Snapshot<unknown> {
    const stored = storedSnapshot(row);
    try {
      stored.context.limits = limits;
      serverMachine.resolveState({ value: stored.value, context: stored.context });
      return stored;
    } catch (error) {
      log.error(
        { server: row.id, err: error, value: stored.value },
        'stored state unknown to this version; taken as hibernated',
      );
      const asleep = createActor(serverMachine, {
        input: { id: row.id, limits, at: row.createdAt, cause: UNKNOWN_CAUSE },
      });
      return asleep.getPersistedSnapshot();
    }
  }

  /** Hands a command to the actor in the very turn in which it was found to be allowed. */
  async function give(
    id: string,
    event: ServerCommand | Intervention,
    allow: (now: ServerNow, snapshot: ServerSnapshot) => void,
    fields: Partial<ServerRow> = {},
  ): Promise<{ now: ServerNow; stored: Promise<void> }> {
    for (;;) {
      const entry = await loaded(id);
      if (entry === undefined) throw notFound(id);
      ask([(now) => allow(now, entry.actor.getSnapshot())], entry, event);
      const { seen, commit } = entry;
      const asked = checksFor(event.type, serverState(seen));
      if (asked.length > 0) {
        await commit.catch(() => {});
        const checks = await Promise.all(asked.map((check) => check(entry.row)));
        if (entry.dropped || entry.seen !== seen || entry.commit !== commit) continue;
        ask(checks, entry, event);
      }
      if (Object.keys(fields).length > 0) {
        entry.row = { ...entry.row, ...fields, updatedAt: event.at };
        entry.altered = fields;
      }
      entry.actor.send(event);
      // Read before anything else can happen to it.
      return { now: nowOf(entry), stored: entry.commit };
    }
  }

  /** A join or a start of what is awake already is none; a restart is one from wherever it begins. */
  function checksFor(type: string, state: ServerState): WakeCheck[] {
    if ((type === 'START' || type === 'JOIN') && AWAKE.has(state)) return [];
    return [...wakeChecks].flatMap(([check, commands]) => (commands.some((each) => each === type) ? [check] : []));
  }

  function ask(checks: ((now: ServerNow) => void)[], entry: Entry, { type }: ServerCommand | Intervention): void {
    try {
      for (const check of checks) check(nowOf(entry));
    } catch (error) {
      // A refused sleeper needs no actor.
      entry.commit.then(
        () => evict(entry),
        () => {},
      );
      if (type === 'START' || type === 'JOIN') onRefusal(error instanceof StatusError ? error.reason : 'INTERNAL');
      throw error;
    }
  }

  async function send(id: string, command: ServerCommand, fields?: Partial<ServerRow>): Promise<ServerNow> {
    const allow = (now: ServerNow, snapshot: ServerSnapshot) => {
      if (now.state === 'deleting') throw notFound(id);
      if (!snapshot.can(command)) throw notAllowed(now, command);
    };
    const given = await give(id, command, allow, fields);
    return done(given);
  }

  async function intervene(id: string, event: Intervention): Promise<void> {
    const given = await give(id, event, ({ state }, snapshot) => {
      const legal = operatorEvents(snapshot, event.at);
      if (!legal.includes(event.type)) throw eventNotLegal(id, state, event.type, legal);
    });
    await done(given);
  }

  async function done({ now, stored }: { now: ServerNow; stored: Promise<void> }): Promise<ServerNow> {
    try {
      await stored;
    } catch (error) {
      if (error instanceof StatusError) throw error;
      throw new StatusError(
        'UNAVAILABLE',
        'UNAVAILABLE',
        'The change could not be stored; nothing happened. Try again.',
        {
          retryAfterSeconds: 1,
          cause: error,
        },
      );
    }
    return now;
  }

  async function patch(
    id: string,
    fields: Partial<ServerRow>,
    also: (tx: Tx) => Promise<void> = async () => {},
  ): Promise<ServerNow> {
    const updatedAt = clock.now();
    await store.write(async (tx) => {
      await rows.patchServer(tx, id, { ...fields, updatedAt });
      await also(tx);
    });
    const entry = entries.get(id);
    if (entry !== undefined) entry.row = { ...entry.row, ...fields, updatedAt };
    const now = entry === undefined ? await get(id) : nowOf(entry);
    if (now === undefined) throw notFound(id);
    announce(id, now);
    return now;
  }

  async function patchAtRest(
    id: string,
    fields: Partial<ServerRow>,
    also: (tx: Tx) => Promise<void> = async () => {},
  ): Promise<ServerNow> {
    for (;;) {
      const entry = await loaded(id);
      if (entry === undefined || serverState(entry.seen) === 'deleting') throw notFound(id);
      const { commit } = entry;
      // A stop that is not stored has not happened.
      await commit.catch(() => {});
      if (entry.dropped || entry.commit !== commit) continue;
      if (!isStopped(nowOf(entry))) throw notStopped(nowOf(entry));
      entry.changing = true;
      const patched = patch(id, fields, also).finally(() => (entry.changing = false));
      entry.commit = patched.then(
        () => {},
        () => {},
      );
      void entry.commit.then(() => evict(entry));
      return patched;
    }
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
    send,
    intervene,
    follow: (listener) => feed.follow(listener),
    patch,
    patchAtRest,
    get,
    async create(row, cause) {
      const actor = createActor(machine, { input: { id: row.id, limits, at: row.createdAt, cause } });
      const stored = { ...row, snapshot: JSON.stringify(actor.getPersistedSnapshot()), state: 'hibernated' };
      const withPack = row.modpackPlatform !== '';
      if (withPack) for (const check of checksFor('CREATE', 'hibernated')) (await check(row))(atRest(stored));
      await store.write(async (tx) => {
        await rows.insertServer(tx, stored);
        await audit(tx, stored, { at: row.createdAt, event: 'CREATE', from: '', to: stored.state, cause });
      });
      const now = atRest(stored);
      announce(row.id, now);
      const step = { id: row.id, kind: 'server', at: row.createdAt, event: 'CREATE', cause } as const;
      feed.tell(() => ({ ...step, from: '', to: now.state, fromPath: '', toPath: now.state }));
      if (!withPack) return now;
      try {
        return await send(row.id, { type: 'REINSTALL', at: row.createdAt, cause });
      } catch (error) {
        // The last place was taken while it was stored.
        await send(row.id, { type: 'DELETE', at: clock.now(), cause });
        throw error;
      }
    },
    async listByAccount(accountId) {
      const all = await rows.listServersByAccount(store, accountId);
      const now = await Promise.all(all.map(async (row) => (entries.has(row.id) ? get(row.id) : atRest(row))));
      return now.flatMap((each) => (each === undefined || each.state === 'deleting' ? [] : [each]));
    },
    async inspect(id) {
      const now = await get(id);
      if (now === undefined) return undefined;
      await entries.get(id)?.commit;
      const transitions = await listTransitions(store, id, 50);
      const snapshot = entries.get(id)?.seen ?? readOnly(now.row);
      const { deadlineAt, keepAwakeUntil } = now.context;
      return {
        state: now.state,
        since: transitions.find(({ from, to }) => from !== to)?.at ?? null,
        allowedEvents: COMMANDS.filter((type) => snapshot.can(probe(type, clock.now()))),
        deadlines: [
          ...(deadlineAt === null ? [] : [{ name: now.state, at: deadlineAt }]),
          ...(keepAwakeUntil > clock.now() ? [{ name: 'keepAwake', at: keepAwakeUntil }] : []),
        ],
        transitions,
        definition: STATECHART,
      };
    },
    async tell(id, fact) {
      (await loaded(id))?.actor.send(fact);
    },
    observe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    checkWakes(check, commands = WAKES) {
      wakeChecks.set(check, commands);
      return () => wakeChecks.delete(check);
    },
    async until(id, satisfies, signal) {
      const present = (await get(id)) ?? null;
      if (satisfies(present)) return present;
      return new Promise((resolve, reject) => {
        const leave = () => {
          listeners.delete(listener);
          signal.removeEventListener('abort', aborted);
        };
        const aborted = () => {
          leave();
          reject(signal.reason as Error);
        };
        const listener = (changed: string, now: ServerNow | null) => {
          if (changed !== id || !satisfies(now)) return;
          leave();
          resolve(now);
        };
        listeners.add(listener);
        signal.addEventListener('abort', aborted, { once: true });
        if (signal.aborted) aborted();
        // What changed while the present state was being read would otherwise be missed.
        const entry = entries.get(id);
        if (entry !== undefined) listener(id, nowOf(entry));
      });
    },
    async restore() {
      for (const id of await listServersNotAtRest(store)) evict((await load(id))!);
    },
    live: () => [...entries.values()].map(nowOf),
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

function isIntervention({ cause }: StepEvent): boolean {
  return cause?.kind === 'operator';
}

const UNKNOWN_CAUSE: Cause = { kind: 'system', id: 'restored', note: '' };
const COMMANDS = [
  'START',
  'STOP',
  'RESTART',
  'KILL',
  'JOIN',
  'RETRY_INSTALL',
  'REINSTALL',
  'KEEP_AWAKE',
  'DELETE',
] as const;

function probe(type: (typeof COMMANDS)[number], at: number): ServerCommand {
  return type === 'KEEP_AWAKE' ? { type, at, cause: UNKNOWN_CAUSE, until: at } : { type, at, cause: UNKNOWN_CAUSE };
}

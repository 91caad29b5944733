import { statechartOf } from '../../machines/event-names.ts';
import type { Cause, ServerCommand, ServerEvent, ServerLimits } from '../../machines/server-types.ts';
import { type ServerSnapshot, serverMachine, serverState } from '../../machines/server.ts';
import { requireSame } from '../actors/actor-kind.ts';
import { type MachineStep, type StepListener, pathOf } from '../actors/machine-step.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import { abortable } from '../kernel/timeout.ts';
import { recordStep } from '../audit/audit.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import type { Store, Tx } from '../store/store.ts';
import { type ServerActors, type ServerParts, changeRow, createServerActors } from './actors.ts';
import { listServersNotAtRest, listTransitions, stateSince } from './machine-rows.ts';
import { type Intervention, acceptedCommands, eventNotLegal, operatorEvents } from './machine-events.ts';
import { notAllowed, notStopped } from './refusals.ts';
import {
  type ServerPlace,
  type ServerRow,
  countServersOfAccount,
  insertServer,
  listServersByAccount,
  listServersById,
  patchServer,
  ramOfAccount,
  serverExists,
} from './rows.ts';
import type { RowChange, ServerNow } from './server-now.ts';
import { dormant, inMachineTime, isStopped, readOnly, untouched } from './snapshots.ts';
import { BatchRead, type CheckedCommand, type WakeCheck, WakeChecks } from './wake-checks.ts';

/** One page of an account's servers, oldest first. */
export interface ServerPage {
  servers: ServerNow[];
  /** Start of the next page; undefined on the last. */
  next: ServerPlace | undefined;
}

type Allow = (now: ServerNow, snapshot: ServerSnapshot) => void;

const STATECHART = statechartOf(serverMachine);
/** Number of rows converted to servers within a few ms. */
const PAGE = 250;

/** All servers of the installation, each one an actor. `actors.ts` stores their steps. */
export class Servers {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #steady: SteadyClock;
  readonly #limits: ServerLimits;
  readonly #onRefusal: (reason: string) => void;
  readonly #actors: ServerActors;
  readonly #wakeChecks = new WakeChecks();
  #parts: ServerParts | undefined;

  /** `steady`: the machines' clock; see `snapshots.ts`. `onRefusal`: gets the stable reason of each refused wake. */
  constructor(given: {
    store: Store;
    clock: Clock;
    steady: SteadyClock;
    log: Log;
    limits: ServerLimits;
    onRefusal: (reason: string) => void;
  }) {
    this.#store = given.store;
    this.#clock = given.clock;
    this.#steady = given.steady;
    this.#limits = given.limits;
    this.#onRefusal = given.onRefusal;
    this.#actors = createServerActors(given, () => this.#provided());
  }

  /**
   * Stores the server and its first snapshot. A server with a mod pack enters `installing`. Rejects with ALREADY_EXISTS
   * if the id or host name is taken.
   */
  async create(row: ServerRow, cause: Cause, place?: (serverId: string, tx: Tx) => Promise<void>): Promise<ServerNow> {
    const first = JSON.stringify(untouched(row, this.#limits, cause));
    const stored = { ...row, snapshot: first, state: 'hibernated' };
    const now = dormant(stored);
    const { id, createdAt: at } = row;
    const creation = {
      save: async (tx: Tx) => {
        await insertServer(tx, stored);
        await recordStep(tx, stored, { at, event: 'CREATE', from: '', to: stored.state, cause });
        await place?.(id, tx);
      },
      stepTaken: (): MachineStep => {
        const paths = { from: '', to: now.state, fromPath: '', toPath: now.state };
        return { id, kind: 'server', at, event: 'CREATE', cause, ...paths };
      },
    };
    if (row.modpackPlatform === '') {
      await this.#store.write(creation.save);
      this.#actors.announce(id, now);
      this.#actors.feed.publish(creation.stepTaken);
      return now;
    }
    const checks = await Promise.all(this.#wakeChecks.before('CREATE', 'hibernated').map((check) => check(row)));
    const allow = () => checks.forEach((check) => check(now));
    const event = inMachineTime({ type: 'REINSTALL' as const, at, cause }, this.#steady);
    const made = await this.#actors.make(stored, event, { creation, allow });
    if (made === undefined) throw serverExists(row);
    return made;
  }

  /** Resolves with undefined for unknown servers and for those being deleted. */
  async get(id: string): Promise<ServerNow | undefined> {
    const now = await this.#actors.get(id);
    return now?.state === 'deleting' ? undefined : now;
  }

  count(accountId: string): Promise<number> {
    return countServersOfAccount(this.#store, accountId);
  }

  /** Returns the total RAM of an account's servers, asleep or awake. */
  ramMb(accountId: string): Promise<number> {
    return ramOfAccount(this.#store, accountId);
  }

  async listByAccount(accountId: string): Promise<ServerNow[]> {
    const all: ServerNow[] = [];
    for await (const { servers } of this.pagesByAccount(accountId, PAGE)) all.push(...servers);
    return all;
  }

  /** Yields an account's servers in pages of at most `size` from a place on. Each page is read on demand. */
  async *pagesByAccount(accountId: string, size: number, after?: ServerPlace): AsyncGenerator<ServerPage> {
    for (let place = after; ;) {
      const rows = await listServersByAccount(this.#store, accountId, size, place);
      const now = await Promise.all(
        rows.map(async (row) => (this.#actors.find(row.id) ? this.get(row.id) : dormant(row))),
      );
      const servers = now.flatMap((each) => (each === undefined || each.state === 'deleting' ? [] : [each]));
      place = rows.length < size ? undefined : rows.at(-1);
      yield { servers, next: place && { createdAt: place.createdAt, id: place.id } };
      if (place === undefined) return;
    }
  }

  /**
   * Sends a command and resolves once it is stored. Rejects with NOT_FOUND; FAILED_PRECONDITION if the state does not
   * allow it; UNAVAILABLE if it could not be stored, in which case it had no effect. `fields` are changes of the row
   * for the same write.
   */
  send(id: string, command: ServerCommand, fields?: Partial<ServerRow>): Promise<ServerNow> {
    const allow: Allow = (now, snapshot) => {
      if (now.state === 'deleting') throw serverNotFound(id);
      if (!snapshot.can(inMachineTime(command, this.#steady))) throw notAllowed(now, command);
    };
    return this.#give(id, command, allow, fields);
  }

  /**
   * Sends an operator's event, also to a server that is being deleted; otherwise like `send`. Rejects with
   * FAILED_PRECONDITION EVENT_NOT_LEGAL, listing the accepted events.
   */
  async intervene(id: string, event: Intervention): Promise<void> {
    await this.#give(id, event, ({ state }, snapshot) => {
      const legal = operatorEvents(snapshot, inMachineTime(event, this.#steady).at);
      if (!legal.includes(event.type)) throw eventNotLegal(id, state, event.type, legal);
    });
  }

  /** Changes an owner's settings, which effects read on their next action. `also` runs in the same write. */
  patch(id: string, change: RowChange, also?: (tx: Tx) => Promise<void>): Promise<ServerNow> {
    return changeRow(this.#store, this.#clock, this.#actors, { id, change, also });
  }

  /**
   * Changes settings that must not change during a run. Rejects with NOT_FOUND, or with FAILED_PRECONDITION
   * SERVER_NOT_STOPPED unless the server is at rest, with no start or job pending. Wakes wait until the change is
   * stored.
   */
  async patchAtRest(id: string, change: RowChange, also?: (tx: Tx) => Promise<void>): Promise<ServerNow> {
    const patched = await this.#actors.use(id, async (live) => {
      if (serverState(live.snapshot) === 'deleting') throw serverNotFound(id);
      // Wait for the stop to be stored: until then it may still fail.
      await this.#actors.settled(live);
      const now = this.#actors.show(live);
      if (!isStopped(now)) throw notStopped(now);
      const patched = this.patch(id, change, also);
      const ended = patched.catch(() => {});
      this.#actors.hold(live, ended);
      return patched;
    });
    if (patched === undefined) throw serverNotFound(id);
    return patched;
  }

  /** Returns the internals of a server's machine (operation InspectMachine). */
  async inspect(id: string) {
    const now = await this.get(id);
    if (now === undefined) return undefined;
    await this.#actors.find(id)?.stored;
    const transitions = await listTransitions(this.#store, id);
    const live = this.#actors.find(id)?.snapshot;
    const snapshot = live ?? readOnly(now.row);
    const at = live === undefined ? this.#clock.now() : this.#steady.now();
    const { announced, deadlineAt, keepAwakeUntil, job, maintained } = now.context;
    return {
      // A job runs on its files; shown as `hibernated` elsewhere.
      state: snapshot.matches('maintaining') ? ('maintaining' as const) : now.state,
      path: pathOf(snapshot.value),
      // The job that runs, or waits for the stop before it.
      job: job && { kind: job.kind, target: job.target },
      jobError: maintained?.failure?.summary ?? '',
      since: await stateSince(this.#store, id),
      allowedEvents: acceptedCommands(snapshot, at),
      deadlines: [
        ...(announced == null ? [] : [{ name: announced.type.toLowerCase(), at: announced.at }]),
        ...(deadlineAt === null ? [] : [{ name: now.state, at: deadlineAt }]),
        ...(keepAwakeUntil > this.#clock.now() ? [{ name: 'keepAwake', at: keepAwakeUntil }] : []),
      ],
      transitions,
      definition: STATECHART,
    };
  }

  /**
   * Sends a fact and resolves once its change is stored. A server that is gone, or does not handle the fact in its
   * state, ignores it. Rejects if the change could not be stored; the fact must then be sent again.
   */
  notify(id: string, fact: ServerEvent): Promise<void> {
    return this.#actors.notify(id, inMachineTime(fact, this.#steady));
  }

  /**
   * Registers a listener for changes of any server, called with null once a server is gone. Returns a function that
   * removes it.
   */
  observe(listener: (id: string, now: ServerNow | null) => void): () => void {
    return this.#actors.observe(listener);
  }

  /** Reports each stored step of any server, readings excluded. Returns a function that removes the listener. */
  follow(listener: StepListener): () => void {
    return this.#actors.feed.follow(listener);
  }

  /**
   * Resolves with the first state of the server, including the present one, that satisfies the condition. Rejects when
   * `signal` fires.
   */
  async until(
    id: string,
    satisfies: (now: ServerNow | null) => boolean,
    signal: AbortSignal,
  ): Promise<ServerNow | null> {
    const present = (await this.get(id)) ?? null;
    if (satisfies(present)) return present;
    const { promise, resolve } = Promise.withResolvers<ServerNow | null>();
    const check = (changed: string, now: ServerNow | null) => {
      if (changed === id && satisfies(now)) resolve(now);
    };
    const cancel = this.observe(check);
    try {
      // Catches changes during the read of the present state.
      const live = this.#actors.find(id);
      if (live !== undefined) check(id, this.#actors.show(live));
      return await abortable(promise, signal);
    } finally {
      cancel();
    }
  }

  /**
   * Runs `check` before each of these commands from now on. By default these are the commands that wake a sleeping
   * server, or queue a wake. A refused CREATE leaves no server behind. Returns a function that removes the check.
   */
  checkWakes(check: WakeCheck, commands?: readonly CheckedCommand[]): () => void {
    return this.#wakeChecks.add(check, commands);
  }

  /** Returns the first refusal of a player's join by the wake checks; undefined if none refuses. */
  async refusal(id: string): Promise<StatusError | undefined> {
    const now = await this.get(id);
    return now && this.#wakeChecks.refusal(now, 'JOIN');
  }

  /**
   * Returns the refusals of a join or start of several servers, for display. Uses known data, with as few reads for
   * many servers as for one. The map contains only servers with a known refusal.
   */
  async refusals(ids: readonly string[], command: 'JOIN' | 'START'): Promise<Map<string, StatusError>> {
    const batchRead = new BatchRead();
    const rows = await listServersById(this.#store, ids);
    const live = new Map(this.live().map((now) => [now.row.id, now]));
    const found = rows.map(async (row) => {
      const refusal = await this.#wakeChecks.refusal(live.get(row.id) ?? dormant(row), command, batchRead);
      return refusal ? [[row.id, refusal] as const] : [];
    });
    return new Map((await Promise.all(found)).flat());
  }

  /**
   * Provides the machines' effects and the writes stored with their steps. Call it once, before the first command and
   * `restore`.
   */
  provide(parts: ServerParts): void {
    this.#parts = parts;
  }

  /** Restores the actors of all servers that are not at rest. */
  async restore(): Promise<void> {
    await this.#actors.restore(await listServersNotAtRest(this.#store));
  }

  /** Returns all servers that the engine may know: awake, in transition, or failed. */
  live(): ServerNow[] {
    return this.#actors.live();
  }

  /**
   * Returns the job on a server's files, from its synchronous acceptance until it has ended, stored or not. A server
   * whose last change could not be stored counts as having a job until its stored state is known.
   */
  jobOf(id: string): string | undefined {
    const live = this.#actors.find(id);
    if (live !== undefined) return live.snapshot.context.job?.kind;
    return this.#actors.isUndone(id) ? 'the change before it' : undefined;
  }

  /** Stops all actors after their last change is stored. Games keep running. */
  close(): Promise<void> {
    return this.#actors.close();
  }

  /** Sends a command to the actor, synchronously once the checks have passed. */
  async #give(
    id: string,
    event: ServerCommand | Intervention,
    allow: Allow,
    fields?: Partial<ServerRow>,
  ): Promise<ServerNow> {
    const actors = this.#actors;
    const given = await actors.use(id, async (live) => {
      const ask = (checks: Allow[]) => {
        try {
          for (const check of checks) check(actors.show(live), live.snapshot);
        } catch (error) {
          if (event.type === 'START' || event.type === 'JOIN')
            this.#onRefusal(error instanceof StatusError ? error.reason : 'INTERNAL');
          throw error;
        }
      };
      ask([allow]);
      const { snapshot, stored } = live;
      const asked = this.#wakeChecks.before(event.type, serverState(snapshot));
      if (asked.length > 0) {
        await stored.catch(() => {});
        const checks = await Promise.all(asked.map((check) => check(live.row)));
        requireSame(live, { snapshot, stored });
        ask(checks);
      }
      const change = fields && { ...fields, updatedAt: event.at };
      live.row = { ...live.row, ...change };
      const sent = inMachineTime(event, this.#steady);
      const write = actors.give(live, sent, change && ((tx) => patchServer(tx, id, change)));
      // Read at once, before another event can change it.
      return { now: actors.show(live), write };
    });
    if (given === undefined) throw serverNotFound(id);
    await given.write.catch(notStored);
    return given.now;
  }

  #provided(): ServerParts {
    if (this.#parts === undefined) throw new Error('a server acts before its effects are provided');
    return this.#parts;
  }
}

function notStored(error: unknown): never {
  if (error instanceof StatusError) throw error;
  const text = 'The change could not be stored. Nothing happened. Try again.';
  throw new StatusError('UNAVAILABLE', 'UNAVAILABLE', text, { retryAfterSeconds: 1, cause: error });
}

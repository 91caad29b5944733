import type { AnyMachineSnapshot, EventObject, InspectionEvent } from 'xstate';
import { type Cache, createCache } from '../kernel/cache.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import type { Store, Tx } from '../store/store.ts';
import type { ActorKind, ActorTypes, LiveActor, StoredStep } from './actor-kind.ts';
import { Outdated, requireSame } from './actor-kind.ts';
import { type StepFeed, createStepFeed } from './machine-step.ts';

export interface DurableActorsOptions<T extends ActorTypes> {
  store: Pick<Store, 'write'>;
  clock: Clock;
  log: Log;
  /** Creates the kind. Its effects await `committed` of these actors. */
  kind: (actors: DurableActors<T>) => ActorKind<T>;
}

type Observer<Now> = (id: string, now: Now | null) => void;

/** Delay before a failed write is read back, and between further tries. */
const READ_BACK_MS = 1_000;

/**
 * XState actors that outlive the process. Each is a row. It has an actor in memory only while it is active.
 *
 *     dormant ── load ──▶ settled ◀─── commit ─── storing ◀┐ further events: their
 *     (a row)   restore    │  │ └────── event ──────▶ │ └──┘ writes are queued
 *        ▲                 │  ▼                       ▼
 *        └── passivation ──┘  └── actor fails ──▶  undone ── read back ──▶ settled or dormant
 *
 * 1. Load: the row is read once for all callers, and again if it changes meanwhile. Restore: the actor starts at the
 *    stored snapshot; its invokes run again with their stored input.
 * 2. Event: sent in the same turn as the check that allows it. The actor moves immediately, and observers see that.
 * 3. Write: the snapshot, the rows the step implies, and those of `give` are one write. Writes are in the order of the
 *    events; a further event does not wait for them.
 * 4. Commit: the caller gets its answer, readers (`get`) see the change, `committed` releases its effects, and the feed
 *    reports it.
 * 5. Passivation: an actor without invokes, pending writes or open decisions is dropped.
 *
 * A failed write undoes its step and all later ones: their callers get the error, the actor stops with its effects,
 * which have not begun, and a second later the row is read back. A process that dies before the commit has the same
 * result. If it dies later, the restored actor starts the effects, perhaps again, so each effect must be idempotent.
 */
export class DurableActors<T extends ActorTypes> {
  /** Every step, once it is stored. */
  readonly feed: StepFeed = createStepFeed();
  readonly #store: Pick<Store, 'write'>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #kind: ActorKind<T>;
  /** In order of last use. */
  readonly #live = new Map<string, LiveActor<T>>();
  readonly #loading = new Map<string, { live: Promise<LiveActor<T> | undefined>; isOutdated: boolean }>();
  /** Actors that were undone after a failed write, until their row has been read back. */
  readonly #undone = new Set<string>();
  readonly #observers = new Set<Observer<T['now']>>();
  /** The stored views of dormant actors. Dropped at each change, and while the actor is in memory. */
  readonly #dormant: Cache<T['now'] | undefined> | undefined;
  #closed = false;

  constructor({ store, clock, log, kind }: DurableActorsOptions<T>) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#kind = kind(this);
    const { remembered } = this.#kind;
    if (remembered !== undefined)
      this.#dormant = createCache({ most: remembered.most, ttlMs: (now) => (now === undefined ? 0 : remembered.ms) });
  }

  /** Calls `act` with an actor, and again if it throws Outdated. Resolves with its result; undefined without a row. */
  async use<R>(id: string, act: (live: LiveActor<T>) => Promise<R>): Promise<R | undefined> {
    // Each further round means that another event was stored or failed, so the loop ends.
    for (;;) {
      const live = await this.#load(id);
      if (live === undefined) return undefined;
      if (live.phase === 'gone') continue;
      this.#enter(live);
      try {
        return await act(live);
      } catch (error) {
        if (!(error instanceof Outdated)) throw error;
      } finally {
        live.users -= 1;
        this.#passivate(live);
      }
    }
  }

  /**
   * Sends an event synchronously. Resolves once its step is stored, with the result of `implied`, which runs in the
   * same write and always causes one. Rejects if the step could not be stored; the event then never happened.
   */
  async give<R>(
    live: LiveActor<T>,
    event: T['event'],
    implied?: (tx: Tx, snapshot: T['snapshot']) => Promise<R>,
  ): Promise<R | undefined> {
    let value: R | undefined;
    live.implied = implied && (async (tx, snapshot) => void (value = await implied(tx, snapshot)));
    live.actor.send(event);
    // The state is unchanged, or the change needs no write of its own.
    if (live.implied !== undefined)
      this.#write(live, this.#step(live, live.snapshot, event) ?? { save: async () => {} });
    await live.stored;
    return value;
  }

  /**
   * Creates an actor with its first event. `creation`, which inserts its row, and the event's step are one write.
   * `allow` runs in the turn of the event and throws to prevent it. Resolves with the actor's first view; undefined if
   * the id is taken.
   */
  async make(
    row: T['row'],
    event: T['event'],
    { creation, allow }: { creation: StoredStep<T>; allow: () => void },
  ): Promise<T['now'] | undefined> {
    if ((await this.#load(row.id)) !== undefined || this.#live.has(row.id)) return undefined;
    allow();
    const live = this.#revive(row);
    live.creation = creation;
    const given = this.give(live, event);
    const now = this.show(live);
    await given;
    return now;
  }

  /** Resolves once the current state is stored. Rejects with Outdated if it was not stored or has changed. */
  async settled(live: LiveActor<T>): Promise<void> {
    const { stored, snapshot } = live;
    await stored.catch(() => {});
    requireSame(live, { stored, snapshot });
  }

  /** Keeps the actor unsettled until a write that is not a step has ended. The write must not reject. */
  hold(live: LiveActor<T>, write: Promise<unknown>): void {
    begin(live, write);
    void write.then(() => this.#settle(live, write));
  }

  /** Sends a fact. Resolves once its change is stored; does nothing if the row is gone. */
  async notify(id: string, fact: T['event']): Promise<void> {
    await this.use(id, (live) => this.give(live, fact));
  }

  /** Applies a change that a separate write made to a row. Notifies the observers and returns the new view. */
  async changed(id: string, fields: Partial<T['row']>): Promise<T['now'] | undefined> {
    const loading = this.#loading.get(id);
    if (loading !== undefined) loading.isOutdated = true;
    const live = this.#live.get(id);
    if (live !== undefined) live.row = { ...live.row, ...fields };
    this.#dormant?.drop(id);
    const now = live === undefined ? await this.get(id) : this.show(live);
    if (now !== undefined) this.#tell(id, now);
    return now;
  }

  /** Returns the stored view, after pending writes; undefined without a row. */
  async get(id: string): Promise<T['now'] | undefined> {
    const live = this.#live.get(id);
    if (live === undefined) {
      const read = () => this.#readDormant(id);
      const dormant = await (this.#dormant?.get(id, this.#clock.now(), read) ?? read());
      return this.#live.has(id) ? this.get(id) : dormant;
    }
    const now = this.show(live);
    const { snapshot } = live;
    await live.stored.catch(() => {});
    return live.phase !== 'gone' && live.snapshot === snapshot ? now : this.get(id);
  }

  async #readDormant(id: string): Promise<T['now'] | undefined> {
    const row = await this.#kind.read(id);
    return row && this.#kind.showDormant(row);
  }

  /** Returns the actor in memory, for decisions that take effect in this turn. */
  find(id: string): LiveActor<T> | undefined {
    return this.#live.get(id);
  }

  /** Returns the current view, stored or not. */
  show({ row, snapshot }: LiveActor<T>): T['now'] {
    return this.#kind.show(row, snapshot);
  }

  /** Returns the views of the actors in memory. */
  live(): T['now'][] {
    return [...this.#live.values()].map((live) => this.show(live));
  }

  /** Reports whether the last change could not be stored and the row has not been read back yet. */
  isUndone(id: string): boolean {
    return this.#undone.has(id);
  }

  /** Awaited first by every effect: resolves once the snapshot that started it is stored. */
  async committed(id: string, signal?: AbortSignal): Promise<void> {
    // An effect starts synchronously, before its step is observed.
    await Promise.resolve();
    await this.#live.get(id)?.stored;
    signal?.throwIfAborted();
  }

  /** Calls `observer` after every change, stored or not; null: the actor is gone. Returns its removal. */
  observe(observer: Observer<T['now']>): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  /** Notifies observers of an actor that a separate write has created, changed or removed (null). */
  announce(id: string, now: T['now'] | null): void {
    this.#dormant?.drop(id);
    this.#tell(id, now);
  }

  #tell(id: string, now: T['now'] | null): void {
    for (const observer of this.#observers) observer(id, now);
  }

  /** Loads these actors. Actors that invoke nothing become dormant again. */
  async restore(ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.use(id, async () => {});
  }

  /** Waits for the pending writes and stops all actors. Loads no actor afterwards. */
  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#live.values()];
    await Promise.allSettled(all.map(({ stored }) => stored));
    for (const live of all) this.#letGo(live);
  }

  async #load(id: string): Promise<LiveActor<T> | undefined> {
    const live = this.#live.get(id);
    if (live !== undefined) return live;
    let loading = this.#loading.get(id);
    if (loading === undefined) {
      loading = { live: Promise.resolve(undefined), isOutdated: false };
      this.#loading.set(id, loading);
      loading.live = this.#read(id, loading).finally(() => this.#loading.delete(id));
    }
    return loading.live;
  }

  async #read(id: string, loading: { isOutdated: boolean }): Promise<LiveActor<T> | undefined> {
    let row: T['row'] | undefined;
    do {
      loading.isOutdated = false;
      row = await this.#kind.read(id);
    } while (loading.isOutdated);
    // An actor that is being created is in memory before its row can be read.
    return this.#live.get(id) ?? (row === undefined || this.#closed ? undefined : this.#revive(row));
  }

  #revive(row: T['row']): LiveActor<T> {
    const actor = this.#kind.revive(row, (inspection) => this.#inspected(row.id, inspection));
    const live: LiveActor<T> = {
      row,
      actor,
      snapshot: actor.getSnapshot(),
      stored: Promise.resolve(),
      phase: 'settled',
      users: 0,
      usedAt: this.#clock.now(),
      implied: undefined,
    };
    actor.subscribe({ error: (error) => this.#failed(live, error) });
    this.#live.set(row.id, live);
    this.#dormant?.drop(row.id);
    this.#undone.delete(row.id);
    actor.start();
    return live;
  }

  #inspected(id: string, inspection: InspectionEvent): void {
    const live = this.#live.get(id);
    const actor: unknown = inspection.actorRef;
    if (inspection.type !== '@xstate.snapshot' || live === undefined || actor !== live.actor) return;
    const [before, after] = [live.snapshot, live.actor.getSnapshot()];
    const status = statusOf(after);
    if (after === before || status === 'error') return;
    live.snapshot = after;
    const { event } = inspection;
    const step = event.type === 'xstate.init' ? undefined : this.#step(live, before, event);
    if (step !== undefined) this.#write(live, step);
    this.announce(id, status === 'done' ? null : this.show(live));
  }

  #step(live: LiveActor<T>, before: T['snapshot'], event: EventObject): StoredStep<T> | undefined {
    const { row, snapshot: after, actor } = live;
    return this.#kind.step({ row, before, after, event, persisted: () => actor.getPersistedSnapshot() });
  }

  #write(live: LiveActor<T>, { fields, save, stepTaken }: StoredStep<T>): void {
    const { snapshot, implied, creation } = live;
    live.implied = undefined;
    live.creation = undefined;
    live.row = { ...live.row, ...fields };
    const write = this.#store.write(async (tx) => {
      if (live.phase !== 'storing') throw new Outdated('a change before this one could not be stored');
      try {
        await creation?.save(tx);
        await save(tx);
        await implied?.(tx, snapshot);
      } catch (error) {
        // Callers are notified after the writes in the same commit, which must not include a later write of this actor.
        live.phase = 'failing';
        throw error;
      }
    });
    begin(live, write);
    write.then(
      () => {
        for (const each of [creation?.stepTaken, stepTaken]) if (each !== undefined) this.feed.publish(each);
        this.#settle(live, write);
      },
      (error: unknown) => this.#undo(live, error, 'a change could not be stored; going back to the stored state'),
    );
  }

  #settle(live: LiveActor<T>, write: Promise<unknown>): void {
    if (live.stored !== write || live.phase !== 'storing') return;
    live.phase = 'settled';
    this.#passivate(live);
  }

  #enter(live: LiveActor<T>): void {
    live.users += 1;
    const { keep } = this.#kind;
    if (keep === undefined) return;
    const { id } = live.row;
    live.usedAt = this.#clock.now();
    this.#live.delete(id);
    this.#live.set(id, live);
    for (const old of this.#live.values()) {
      if (this.#live.size <= keep.most && Math.abs(live.usedAt - old.usedAt) < keep.ms) return;
      this.#letGo(old);
    }
  }

  #passivate(live: LiveActor<T>): void {
    const isBusy = live.phase !== 'settled' || live.users > 0 || Object.keys(live.snapshot.children).length > 0;
    if (!isBusy && this.#kind.keep === undefined) this.#letGo(live);
  }

  #letGo(live: LiveActor<T>): void {
    live.phase = 'gone';
    if (this.#live.get(live.row.id) === live) this.#live.delete(live.row.id);
    this.#dormant?.drop(live.row.id);
    live.actor.stop();
  }

  #failed(live: LiveActor<T>, error: unknown): void {
    const rejected = () => Promise.reject(error);
    live.phase = 'failing';
    live.implied = undefined;
    live.stored = live.stored.then(rejected, rejected);
    live.stored.catch(() => this.#undo(live, error, 'a machine failed; going back to the stored state'));
  }

  #undo(live: LiveActor<T>, error: unknown, what: string): void {
    if (live.phase === 'gone') return;
    this.#letGo(live);
    // A cached actor has no effects. The next request reads it back.
    if (this.#closed || this.#kind.keep !== undefined) return;
    const { id } = live.row;
    const isTaken = error instanceof StatusError && error.code === 'ALREADY_EXISTS';
    if (!isTaken) this.#log.error({ [this.#kind.name]: id, err: error }, what);
    this.#undone.add(id);
    this.#readBack(id);
  }

  #readBack(id: string): void {
    this.#clock.at(this.#clock.now() + READ_BACK_MS, () => {
      this.use(id, async (live) => this.show(live)).then(
        (now) => {
          this.#undone.delete(id);
          if (!this.#closed) this.announce(id, now ?? null);
        },
        () => {
          if (!this.#closed) this.#readBack(id);
        },
      );
    });
  }
}

function begin<T extends ActorTypes>(live: LiveActor<T>, write: Promise<unknown>): void {
  if (live.phase === 'settled') live.phase = 'storing';
  live.stored = write;
}

function statusOf({ status }: AnyMachineSnapshot): AnyMachineSnapshot['status'] {
  return status;
}

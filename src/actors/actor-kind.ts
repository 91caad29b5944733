import type { AnyMachineSnapshot, EventObject, InspectionEvent, Snapshot } from 'xstate';
import type { Tx } from '../store/store.ts';
import type { MachineStep } from './machine-step.ts';

/** The actor has changed since a decision about it was made. The decision had no effect; `use` repeats it. */
export class Outdated extends Error {}

/** The types of one kind of actor. */
export interface ActorTypes {
  row: { id: string };
  snapshot: AnyMachineSnapshot;
  event: EventObject;
  /** The view of an actor that others see. */
  now: unknown;
}

/** The part of an XState actor that the host uses. */
export interface HostedActor<T extends ActorTypes> {
  send(event: T['event']): void;
  getSnapshot(): T['snapshot'];
  getPersistedSnapshot(): Snapshot<unknown>;
  subscribe(observer: { error: (error: unknown) => void }): unknown;
  start(): unknown;
  stop(): unknown;
}

/** An actor in memory. */
export interface LiveActor<T extends ActorTypes> {
  /** The row as it is stored, or will be by the pending writes. */
  row: T['row'];
  readonly actor: HostedActor<T>;
  /** The current snapshot, stored or not. */
  snapshot: T['snapshot'];
  /**
   * Resolves when `snapshot` and `row` are stored. Rejects if they could not be stored; the changes then never
   * happened.
   */
  stored: Promise<unknown>;
  /**
   * `failing`: its machine or one of its writes has failed. It is dropped once the callers of the writes in the same
   * commit are notified, and no later write of it is stored. `gone`: passivated or undone; code that still holds it
   * must not decide on it.
   */
  phase: 'settled' | 'storing' | 'failing' | 'gone';
  /** The number of decisions in progress. It stays in memory for them. */
  users: number;
  usedAt: number;
  /** The creation of its row, until the write of its first step includes it. */
  creation?: StoredStep<T> | undefined;
  /** Writes implied by the current event, until the write that stores the event includes them. */
  implied: ((tx: Tx, snapshot: T['snapshot']) => Promise<void>) | undefined;
}

/** Throws Outdated if the actor has changed since `was` was read. */
export function requireSame<T extends ActorTypes>(
  live: LiveActor<T>,
  was: Pick<LiveActor<T>, 'stored' | 'snapshot'>,
): void {
  if (live.phase === 'gone' || live.stored !== was.stored || live.snapshot !== was.snapshot)
    throw new Outdated('the actor has changed');
}

/** One step of one actor, to be stored. */
export interface TakenStep<T extends ActorTypes> {
  row: T['row'];
  before: T['snapshot'];
  after: T['snapshot'];
  /** The event, sent by `give` or by an effect. */
  event: EventObject;
  persisted: () => Snapshot<unknown>;
}

/** The rows that one step changes. */
export interface StoredStep<T extends ActorTypes> {
  /** The changed columns of the row. */
  fields?: Partial<T['row']>;
  /**
   * Stores the snapshot and all its consequences. Rejects with Outdated if the stored row is not in the state in which
   * the step began.
   */
  save: (tx: Tx) => Promise<void>;
  /** The step for the feed, called once it is stored. Absent if no follower needs it. */
  stepTaken?: (() => MachineStep) | undefined;
}

/** Describes a kind of durable actor: its rows, its machine, and what each step stores. */
export interface ActorKind<T extends ActorTypes> {
  /** For the log. */
  name: MachineStep['kind'];
  /**
   * How long an actor stays in memory after its last use, and how many do. For actors that invoke nothing and whose
   * `save` detects that it is Outdated. Absent: an actor stays as long as it invokes something.
   */
  keep?: { ms: number; most: number };
  /**
   * How long the views of dormant actors are cached from the request that read them, and how many. Changes that others
   * make to a row become visible after this time. Absent: each view is read anew.
   */
  remembered?: { ms: number; most: number };
  read(id: string): Promise<T['row'] | undefined>;
  /** Creates the actor in the state of its row, not yet started. Throws for a state that this version does not know. */
  revive(row: T['row'], inspect: (inspection: InspectionEvent) => void): HostedActor<T>;
  /**
   * Returns the rows that a step changes; undefined if the step needs no write. After an event with implied writes, the
   * state may be unchanged.
   */
  step(taken: TakenStep<T>): StoredStep<T> | undefined;
  /** The view shown to callers. */
  show(row: T['row'], snapshot: T['snapshot']): T['now'];
  showDormant(row: T['row']): T['now'];
}

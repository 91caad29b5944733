import type { AnyMachineSnapshot, EventObject, InspectionEvent, Snapshot } from 'xstate';
import type { Tx } from '../store/store.ts';
import type { MachineStep } from './machine-step.ts';

/** The actor moved on after a decision about it was made. Nothing has happened; `use` has the decision made again. */
export class Outdated extends Error {}

/** The types of one kind of actor. */
export interface ActorTypes {
  row: { id: string };
  snapshot: AnyMachineSnapshot;
  event: EventObject;
  /** As others are shown one. */
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
  /** As it is stored, or will be by the writes in flight. */
  row: T['row'];
  readonly actor: HostedActor<T>;
  /** The current snapshot, stored or not. */
  snapshot: T['snapshot'];
  /** Settles when `snapshot` and `row` are stored; rejects where they are not, and then neither ever was. */
  stored: Promise<unknown>;
  /**
   * `failing`: its machine or one of its writes has failed. It is dropped once the callers of the writes in the same
   * commit are notified, and no later write of it is stored. `gone`: passivated or undone; code that still holds it
   * must not decide on it.
   */
  phase: 'settled' | 'storing' | 'failing' | 'gone';
  /** How many decide about it right now: it stays for them. */
  users: number;
  usedAt: number;
  /** The creation of its row, until the write of its first step takes it over. */
  creation?: StoredStep<T> | undefined;
  /** Writes implied by the current event, until the write that stores the event includes them. */
  implied: ((tx: Tx, snapshot: T['snapshot']) => Promise<void>) | undefined;
}

/** Throws Outdated if the actor has changed since it was looked at. */
export function requireSame<T extends ActorTypes>(
  live: LiveActor<T>,
  was: Pick<LiveActor<T>, 'stored' | 'snapshot'>,
): void {
  if (live.phase === 'gone' || live.stored !== was.stored || live.snapshot !== was.snapshot)
    throw new Outdated('the actor is not where it was');
}

/** One step of one actor, to be stored. */
export interface TakenStep<T extends ActorTypes> {
  row: T['row'];
  before: T['snapshot'];
  after: T['snapshot'];
  /** An event that was given, or that came from an effect. */
  event: EventObject;
  persisted: () => Snapshot<unknown>;
}

/** The rows that one step changes. */
export interface StoredStep<T extends ActorTypes> {
  /** The changed columns of the row. */
  fields?: Partial<T['row']>;
  /** Stores the snapshot and all that follows from it. Outdated where the row is not where the step began. */
  save: (tx: Tx) => Promise<void>;
  /** The step for the feed, called once it is stored. Absent if no follower needs it. */
  stepTaken?: (() => MachineStep) | undefined;
}

/** Describes a kind of durable actor: its rows, its machine, and what each step stores. */
export interface ActorKind<T extends ActorTypes> {
  /** For the log. */
  name: MachineStep['kind'];
  /**
   * For how long an actor stays in memory after its last use, and how many do, for actors that invoke nothing and whose `save`
   * finds out that it is Outdated: they go by age alone. Absent: an actor stays as long as it invokes something.
   */
  keep?: { ms: number; most: number };
  /**
   * How many dormant ones are remembered as they are shown, from when they were first asked for, and for how long: what others
   * change of a row is noticed after this time. Absent: each is read anew.
   */
  remembered?: { ms: number; most: number };
  read(id: string): Promise<T['row'] | undefined>;
  /** Its actor where the row has it, not yet started. Throws for a state that this version does not know. */
  revive(row: T['row'], inspect: (inspection: InspectionEvent) => void): HostedActor<T>;
  /** Undefined for a step that is not worth a write. One that `give` implies something with may lead nowhere. */
  step(taken: TakenStep<T>): StoredStep<T> | undefined;
  /** The view shown to callers. */
  show(row: T['row'], snapshot: T['snapshot']): T['now'];
  showDormant(row: T['row']): T['now'];
}

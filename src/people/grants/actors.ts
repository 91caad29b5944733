import { type Actor, createActor } from 'xstate';
import {
  type GrantAnswer,
  type GrantContext,
  type GrantEvent,
  type GrantSnapshot,
  deviceGrantMachine,
  grantAnswer,
} from '../../../machines/device-grant.ts';
import type { Cause } from '../../../machines/server-types.ts';
import { type MachineStep, type StepFeed, createStepFeed, pathOf } from '../../actors/machine-step.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import { StatusError } from '../../kernel/status.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import type { Store, Tx } from '../../store/store.ts';
import { isAdmitted } from '../apps/clients.ts';
import { withChange } from './history.ts';
import { type GrantRow, advanceGrant, getGrant } from './rows.ts';

/** What an event led a grant to, as the write that stores it sees it. */
export interface GrantStep {
  tx: Tx;
  row: GrantRow;
  answer: GrantAnswer;
  context: GrantContext;
  /** Absent where the state is still the same. */
  change: MachineStep | undefined;
}

/** One grant that was heard of lately. */
export interface LiveGrant {
  answer: GrantAnswer;
  context: GrantContext;
}

/** What an event is made from, within the write that stores what follows from it. */
export interface GrantFacts {
  tx: Tx;
  row: GrantRow;
  /** Whether its client may go on. */
  admitted: boolean;
}

export type GrantEventOf = (facts: GrantFacts) => GrantEvent | Promise<GrantEvent>;

/** The actors of those grants that are being polled or decided. */
export interface GrantActors {
  /**
   * Gives an event to the grant that `find` finds, and resolves once that is stored, with what `follow` made of it in the
   * same write; undefined where there is no such grant. NOT_FOUND GRANT_NOT_FOUND where it does not wait for a decision (any
   * more), FAILED_PRECONDITION CLIENT_DISABLED; UNAVAILABLE where nothing could be stored, and then nothing has happened.
   */
  send<T>(
    find: () => Promise<GrantRow | undefined>,
    event: GrantEventOf,
    follow: (step: GrantStep) => Promise<T>,
    cause: Cause,
  ): Promise<T | undefined>;
  live(): LiveGrant[];
  /** Every change of a state, once it is stored. */
  feed: StepFeed;
}

interface Entry {
  row: GrantRow;
  actor: Actor<typeof deviceGrantMachine>;
  /** The snapshot in the database that `actor` is at, or has come from in the present write. */
  stored: string;
  usedAt: number;
  /** Let go of, or undone: never to be asked again. */
  dropped: boolean;
}

/** The actor is not where the database has its grant: nothing was done. */
class Outrun extends Error {}

const ATTEMPTS = 5;
/** Longer than two polls are apart. */
const IDLE_MS = MINUTE_MS;
const MOST_LIVE = 10_000;

/**
 * A grant gets its events in the line of the store's writes, each within the one write that stores its snapshot and all
 * that follows, a token included. It gets them only where its actor is at what the database holds, and the update holds
 * only from there; otherwise, or where the write fails, the actor is dropped and the grant loaded anew.
 */
export function createGrantActors({ store, clock, log }: { store: Store; clock: Clock; log: Log }): GrantActors {
  /** In order of last use. */
  const entries = new Map<string, Entry>();
  const feed = createStepFeed();

  function entryOf(row: GrantRow): Entry {
    const entry = entries.get(row.id) ?? revive(row, log);
    entry.usedAt = clock.now();
    entries.delete(row.id);
    entries.set(row.id, entry);
    evict();
    return entry;
  }

  function evict(): void {
    for (const entry of entries.values()) {
      if (entries.size <= MOST_LIVE && Math.abs(clock.now() - entry.usedAt) < IDLE_MS) return;
      drop(entry);
    }
  }

  function drop(entry: Entry): void {
    entry.dropped = true;
    if (entries.get(entry.row.id) === entry) entries.delete(entry.row.id);
    entry.actor.stop();
  }

  async function advance(tx: Tx, entry: Entry, eventOf: GrantEventOf, cause: Cause): Promise<GrantStep> {
    const { actor, row, stored } = entry;
    const present = await getGrant(tx, row.id);
    // An actor may hold what a write in front of this one could not store.
    if (present?.snapshot !== stored) throw new Outrun('the actor is not where its grant is');
    const event = await eventOf({ tx, row: present, admitted: await isAdmitted(tx, row.clientId) });
    if (entry.dropped) throw new Outrun('the actor was let go of meanwhile');
    const before = actor.getSnapshot();
    if (!before.can(event)) throw refusal(before, event);
    actor.send(event);
    const after = actor.getSnapshot();
    const { context } = after;
    const answer = grantAnswer(after);
    const snapshot = JSON.stringify(actor.getPersistedSnapshot());
    const change = changeOf(before, after, event, cause);
    if (snapshot !== stored) {
      const { changedAt, history } = present;
      const noted = change ? { changedAt: change.at, history: withChange(history, change) } : { changedAt, history };
      const step = { snapshot, state: answer, userId: context.userId, ...noted };
      if (!(await advanceGrant(tx, row.id, stored, step))) throw new Outrun('another process was faster');
      entry.stored = snapshot;
    }
    return { tx, row, answer, context, change };
  }

  return {
    feed,
    async send(find, event, follow, cause) {
      for (let attempt = 1; ; attempt++) {
        const row = await find();
        if (!row) return undefined;
        const entry = entryOf(row);
        try {
          const { followed, change } = await store.write(async (tx) => {
            const step = await advance(tx, entry, event, cause);
            return { followed: await follow(step), change: step.change };
          });
          if (change) feed.tell(() => change);
          return followed;
        } catch (error) {
          drop(entry);
          if (!(error instanceof Outrun) || attempt === ATTEMPTS) throw error;
        }
      }
    },
    live: () =>
      [...entries.values()].map(({ actor }) => {
        const snapshot = actor.getSnapshot();
        return { answer: grantAnswer(snapshot), context: snapshot.context };
      }),
  };
}

/** The same for codes and grants that never were, are over, or were used. */
export function grantNotFound(): StatusError {
  return new StatusError(
    'NOT_FOUND',
    'GRANT_NOT_FOUND',
    'This code is not valid, or no longer. Start again on your device.',
  );
}

function revive(row: GrantRow, log: Log): Entry {
  const snapshot = JSON.parse(row.snapshot) as GrantSnapshot;
  const { value, context } = snapshot;
  // Throws for a state that this version does not know; an actor would only fail later.
  deviceGrantMachine.resolveState({ value, context });
  const { id, clientId, createdAt: at } = row;
  const actor = createActor(deviceGrantMachine, {
    input: { id, clientId, scope: context.scope, at },
    snapshot,
  });
  actor.subscribe({ error: (error) => log.error({ grant: id, err: error }, 'a machine failed') });
  actor.start();
  return { row, actor, stored: row.snapshot, usedAt: 0, dropped: false };
}

function changeOf(
  before: GrantSnapshot,
  after: GrantSnapshot,
  { type, at }: GrantEvent,
  cause: Cause,
): MachineStep | undefined {
  const [fromPath, toPath] = [pathOf(before.value), pathOf(after.value)];
  if (fromPath === toPath) return undefined;
  const [from, to] = [grantAnswer(before), grantAnswer(after)];
  return { id: after.context.id, kind: 'grant', at, event: type, from, to, fromPath, toPath, cause };
}

function refusal(before: GrantSnapshot, event: GrantEvent): StatusError {
  if (event.type !== 'APPROVE' || event.admitted || !before.can({ ...event, admitted: true })) return grantNotFound();
  return new StatusError('FAILED_PRECONDITION', 'CLIENT_DISABLED', 'This app may not be let in any more.');
}

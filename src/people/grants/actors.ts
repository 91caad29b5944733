import { isDeepStrictEqual } from 'node:util';
import { createActor } from 'xstate';
import {
  type GrantAnswer,
  type GrantContext,
  type GrantEvent,
  type GrantSnapshot,
  deviceGrantMachine,
  grantAnswer,
  grantState,
} from '../../../machines/device-grant.ts';
import type { Cause } from '../../../machines/server-types.ts';
import { type ActorKind, Outdated, type StoredStep, type TakenStep } from '../../actors/actor-kind.ts';
import { DurableActors } from '../../actors/durable-actors.ts';
import { type MachineStep, pathOf } from '../../actors/machine-step.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import { StatusError } from '../../kernel/status.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import type { Sql, Store, Tx } from '../../store/store.ts';
import { withChange } from './history.ts';
import { type GrantRow, advanceGrant, getGrant } from './rows.ts';

/** One grant now. */
export interface GrantNow {
  answer: GrantAnswer;
  context: GrantContext;
}

/** A grant after an event, for the write that stores it. */
export interface GrantStep extends GrantNow {
  tx: Tx;
  row: GrantRow;
  /** Whether the state has changed. */
  isChange: boolean;
}

/** An event for a grant. */
export interface GrantMessage<Facts, T> {
  cause: Cause;
  /**
   * The inputs of the event. Read before it is sent and again in the write that stores it, where they must still hold.
   */
  facts: (db: Sql, row: GrantRow) => Promise<Facts>;
  event: (facts: Facts) => GrantEvent;
  /** Further changes in that write. */
  follow: (step: GrantStep, facts: Facts) => Promise<T>;
}

/** The actors of grants that are being polled or decided. */
export type GrantActors = DurableActors<GrantTypes>;

interface GrantTypes {
  row: GrantRow;
  snapshot: GrantSnapshot;
  event: GrantEvent & { cause: Cause };
  now: GrantNow;
}

/** Longer than the interval between two polls. */
const IDLE_MS = MINUTE_MS;
const MOST_LIVE = 10_000;

export function createGrantActors({ store, clock, log }: { store: Store; clock: Clock; log: Log }): GrantActors {
  const kind: ActorKind<GrantTypes> = {
    name: 'grant',
    keep: { ms: IDLE_MS, most: MOST_LIVE },
    read: (id) => getGrant(store, id),
    revive(row, inspect) {
      const snapshot = JSON.parse(row.snapshot) as GrantSnapshot;
      const { value, context } = snapshot;
      // Throws for a state unknown to this version; an actor would only fail later.
      deviceGrantMachine.resolveState({ value, context });
      const { id, clientId, createdAt: at } = row;
      return createActor(deviceGrantMachine, { input: { id, clientId, scope: context.scope, at }, snapshot, inspect });
    },
    step: storedStep,
    show: (_, snapshot) => ({ answer: grantAnswer(snapshot), context: snapshot.context }),
    showDormant,
  };
  return new DurableActors({ store, clock, log, kind: () => kind });
}

/**
 * Sends an event to a grant. Resolves, once it is stored, with the result of `follow` in the same write; undefined for
 * an unknown grant. NOT_FOUND GRANT_NOT_FOUND if it does not wait for a decision; FAILED_PRECONDITION CLIENT_DISABLED;
 * UNAVAILABLE if it could not be stored, in which case it had no effect.
 */
export async function sendToGrant<Facts, T>(
  { store, actors }: { store: Sql; actors: GrantActors },
  id: string,
  { cause, facts, event, follow }: GrantMessage<Facts, T>,
): Promise<T | undefined> {
  return actors.use(id, async (live) => {
    const { row } = live;
    const known = await facts(store, row);
    const { snapshot: before, phase } = live;
    if (phase === 'gone') throw new Outdated();
    const given = event(known);
    if (!before.can(given)) {
      await actors.settled(live);
      throw refusal(before, given);
    }
    return actors.give(live, { ...given, cause }, async (tx, after) => {
      if (!isDeepStrictEqual(await facts(tx, row), known)) throw new Outdated();
      const isChange = pathOf(before.value) !== pathOf(after.value);
      return follow({ tx, row, answer: grantAnswer(after), context: after.context, isChange }, known);
    });
  });
}

/** Returns a grant as its row alone shows it. */
export function showDormant({ state, snapshot }: GrantRow): GrantNow {
  const { context } = JSON.parse(snapshot) as GrantSnapshot;
  return { answer: state as GrantAnswer, context };
}

/** Returns the same error for unknown, expired and used codes and grants. */
export function grantNotFound(): StatusError {
  return new StatusError(
    'NOT_FOUND',
    'GRANT_NOT_FOUND',
    'No device is waiting with this code. It may be mistyped, used or expired. Codes are valid for ten minutes.',
  );
}

/**
 * Stores the step, and the changes that follow from it, only if the row is unchanged since it began: another process
 * may have been faster.
 */
function storedStep({
  row,
  before,
  after,
  event: { type, at, cause },
  persisted,
}: TakenStep<GrantTypes> & { event: GrantTypes['event'] }): StoredStep<GrantTypes> {
  const snapshot = JSON.stringify(persisted());
  const [fromPath, toPath] = [pathOf(before.value), pathOf(after.value)];
  const [from, to] = [grantAnswer(before), grantAnswer(after)];
  const { id, changedAt, history } = row;
  const states = { from: grantState(from), to: grantState(to) };
  const step: MachineStep = { id, kind: 'grant', at, event: type, ...states, fromPath, toPath, cause };
  const isChange = fromPath !== toPath;
  const noted = isChange ? { changedAt: at, history: withChange(history, step) } : { changedAt, history };
  const fields = { snapshot, state: to, userId: after.context.userId, ...noted };
  return {
    fields,
    async save(tx) {
      const isThere =
        snapshot === row.snapshot
          ? (await getGrant(tx, id))?.snapshot === snapshot
          : await advanceGrant(tx, id, row.snapshot, fields);
      if (!isThere) throw new Outdated();
    },
    stepTaken: isChange ? () => step : undefined,
  };
}

function refusal(before: GrantSnapshot, event: GrantEvent): StatusError {
  if (event.type !== 'APPROVE' || event.admitted || !before.can({ ...event, admitted: true })) return grantNotFound();
  return new StatusError('FAILED_PRECONDITION', 'CLIENT_DISABLED', 'This app is disabled.');
}

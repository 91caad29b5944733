import { createActor } from 'xstate';
import {
  type GrantAnswer,
  type GrantContext,
  type GrantEvent,
  type GrantSnapshot,
  deviceGrantMachine,
  grantAnswer,
  grantState,
} from '../../machines/device-grant.ts';
import type { Cause } from '../../machines/server-types.ts';
import { type ActorKind, Outdated, type StoredStep, type TakenStep } from '../actors/actor-kind.ts';
import { DurableActors } from '../actors/durable-actors.ts';
import { type MachineStep, pathOf } from '../actors/machine-step.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import type { Store } from '../store/store.ts';
import { type GrantRow, advanceGrant, getGrant } from './rows.ts';

/** One grant now. */
export interface GrantNow {
  answer: GrantAnswer;
  context: GrantContext;
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

/** Creates the actors. They are kept in memory for a minute, because their machine invokes nothing. */
export function createGrantActors(store: Store, clock: Clock, log: Log): GrantActors {
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

/** Returns a grant as its row alone shows it. */
export function showDormant({ state, snapshot }: GrantRow): GrantNow {
  const { context } = JSON.parse(snapshot) as GrantSnapshot;
  return { answer: state as GrantAnswer, context };
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

/** One stored change of a grant's state. */
export interface Change {
  at: number;
  event: string;
  from: string;
  to: string;
  cause: Cause;
}

/**
 * Most changes stored per grant. A grant lives for ten minutes; an impatient device may cause many changes in that
 * time.
 */
const KEPT = 20;

/** The cause of automatic steps by the command line, an app or its device. */
export const DEVICE: Cause = { kind: 'system', id: 'device', note: 'the device asked' };

/** Returns the history with one more change, without the oldest beyond the limit. */
export function withChange(history: string, { at, event, from, to, cause }: Change): string {
  return JSON.stringify([...changesIn(history), { at, event, from, to, cause }].slice(-KEPT));
}

/** Returns the changes, oldest first. */
export function changesIn(history: string): Change[] {
  return JSON.parse(history) as Change[];
}

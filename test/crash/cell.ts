import { isDeepStrictEqual } from 'node:util';
import type { Random } from '../support/random.ts';
import type { Outcome } from './client.ts';

/** One change of a cell. */
export interface Step<State> {
  what: string;
  call(): Promise<Outcome>;
  /** What is there once it is done; `reply` is what the service said, where it could. */
  next(reply?: Record<string, unknown>): State;
}

/**
 * Something that customers change over the API, one step at a time, of which the service then has to know what it has
 * acknowledged. Its state is plain data.
 */
export interface Cell<State = unknown> {
  name: string;
  initial: State;
  /** The next step from here; undefined: nothing now. */
  act(state: State, random: Random): Step<State> | undefined;
  /** What is there, once nothing of it is in progress. */
  read(): Promise<State>;
}

/** One of them; the list is not empty. */
export function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)]!;
}

/** A cell, and what is known of it. */
export interface Tracked {
  cell: Cell;
  /** As it was last acknowledged. */
  state: unknown;
  /** The step of which nobody knows whether it was done. */
  open: { what: string; next: unknown } | undefined;
  steps: number;
}

export function track<State>(cell: Cell<State>): Tracked {
  return { cell, state: cell.initial, open: undefined, steps: 0 };
}

/** Does one step, and notes what came of it. False where the service did not answer: it is dead, or will be asked anew. */
export async function stepOf(tracked: Tracked, random: Random): Promise<boolean> {
  const step = tracked.cell.act(tracked.state, random);
  if (step === undefined) return true;
  tracked.open = { what: step.what, next: step.next() };
  const outcome = await step.call();
  if (outcome.is === 'unknown') return false;
  tracked.open = undefined;
  tracked.steps += 1;
  if (outcome.is === 'done') tracked.state = step.next(outcome.json);
  return true;
}

/** Holds what is there against what was acknowledged; gives a sentence where they differ. */
export async function examine(tracked: Tracked): Promise<string | undefined> {
  const { cell, state, open } = tracked;
  const found = await cell.read();
  const isExpected = [state, ...(open ? [open.next] : [])].some((each) => isDeepStrictEqual(each, found));
  tracked.state = found;
  tracked.open = undefined;
  if (isExpected) return undefined;
  const inFlight = open ? `, in flight "${open.what}" to ${JSON.stringify(open.next)}` : '';
  return `${cell.name}: acknowledged ${JSON.stringify(state)}${inFlight}, found ${JSON.stringify(found)}`;
}

import { type AnyActorScope, createEmptyActor } from 'xstate';

/** A state, and what leads to it: each event with the state behind it, that one last. */
export interface Way<State, Event> {
  state: State;
  steps: readonly { event: Event; state: State }[];
}

/** What is walked. */
export interface Walk<State, Event> {
  first: State;
  events: (state: State) => readonly Event[];
  next: (state: State, event: Event) => State;
  /** States of one key are the same state. */
  keyOf: (state: State) => string;
}

/** All states that can be reached, each with a shortest way to it: breadth first, so that each is left but once. */
export function shortestWays<State, Event>({ first, events, next, keyOf }: Walk<State, Event>): Way<State, Event>[] {
  const ways: Way<State, Event>[] = [{ state: first, steps: [] }];
  const known = new Set([keyOf(first)]);
  for (const { state, steps } of ways) {
    for (const event of events(state)) {
      const after = next(state, event);
      const key = keyOf(after);
      if (known.has(key)) continue;
      known.add(key);
      ways.push({ state: after, steps: [...steps, { event, state: after }] });
    }
  }
  return ways;
}

/**
 * For `machine.transition`, where nothing is to be carried out. xstate's `getNextSnapshot` makes an actor for each step, which
 * on a long walk is most of the work.
 */
export function inertScope(): AnyActorScope {
  const self = createEmptyActor();
  const nothing = () => {};
  const effects = { defer: nothing, stopChild: nothing, emit: nothing, actionExecutor: nothing, logger: nothing };
  return { ...effects, self, system: self.system, id: '', sessionId: '' };
}

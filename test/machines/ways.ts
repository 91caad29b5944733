import { type AnyActorScope, createEmptyActor } from 'xstate';

/** A state and the path to it: each event with the state it leads to, ending in `state`. */
export interface Way<State, Event> {
  state: State;
  steps: readonly { event: Event; state: State }[];
}

/** The state graph to search. */
export interface Walk<State, Event> {
  first: State;
  events: (state: State) => readonly Event[];
  next: (state: State, event: Event) => State;
  /** States with the same key count as the same state. */
  keyOf: (state: State) => string;
}

/** Returns every reachable state with a shortest path to it. Searches breadth first and expands each state once. */
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
 * A scope for `machine.transition` that runs no effects. xstate's `getNextSnapshot` creates an actor for each step,
 * which is most of the work of a long search.
 */
export function inertScope(): AnyActorScope {
  const self = createEmptyActor();
  const nothing = () => {};
  const effects = { defer: nothing, stopChild: nothing, emit: nothing, actionExecutor: nothing, logger: nothing };
  return { ...effects, self, system: self.system, id: '', sessionId: '' };
}

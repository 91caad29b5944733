import { eventName } from '../../../machines/event-names.ts';

/** A statechart to draw: XState's `definition` reduced to what a reader needs. */
export interface ChartState {
  /** Its id in transitions: `#server.stopping.halting`. */
  id: string;
  /** Its path as a current state: `stopping.halting`. '' for the whole machine. */
  path: string;
  name: string;
  /** Whether its parent enters it by default. */
  initial: boolean;
  final: boolean;
  /** The effects that run during the state. */
  invokes: string[];
  /** Events handled without leaving the state. */
  stays: string[];
  /** Events that reenter the state. */
  again: string[];
  exits: ChartExit[];
  states: ChartState[];
}

/** All transitions from one state to another. */
interface ChartExit {
  events: string[];
  target: string;
}

/** The part of a state node's definition that is drawn. */
interface Definition {
  id: string;
  key: string;
  type: string;
  initial?: { target?: string[] };
  states: Record<string, Definition>;
  transitions: { eventType: string; guard?: string | { type?: string }; target?: string[] }[];
  invoke: { id: string }[];
}

/** Reads a machine's definition from plain JSON. */
export function readChart(definition: unknown): ChartState {
  return stateOf(definition as Definition, '', false);
}

function stateOf(node: Definition, path: string, initial: boolean): ChartState {
  const entered = node.initial?.target?.[0];
  const state: ChartState = {
    id: `#${node.id}`,
    path,
    name: node.key,
    initial,
    final: node.type === 'final',
    invokes: node.invoke.map(({ id }) => id),
    stays: [],
    again: [],
    exits: [],
    states: Object.values(node.states).map((below) =>
      stateOf(below, path === '' ? below.key : `${path}.${below.key}`, `#${below.id}` === entered),
    ),
  };
  for (const { eventType, guard, target } of node.transitions) {
    const event = eventName(eventType) + guardName(guard);
    const to = target?.[0];
    if (to === undefined) addOnce(state.stays, event);
    else if (to === state.id) addOnce(state.again, event);
    else addExit(state.exits, event, to);
  }
  return state;
}

function addExit(exits: ChartExit[], event: string, target: string): void {
  const known = exits.find((exit) => exit.target === target);
  if (known) addOnce(known.events, event);
  else exits.push({ events: [event], target });
}

function addOnce(list: string[], text: string): void {
  if (!list.includes(text)) list.push(text);
}

function guardName(guard: string | { type?: string } | undefined): string {
  const name = typeof guard === 'string' ? guard : guard?.type;
  return name === undefined ? '' : ` [${name}]`;
}

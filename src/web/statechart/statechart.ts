import { eventName } from '../../../machines/event-names.ts';

/** A statechart as it is drawn: what XState's `definition` says, in a form that has only what a reader needs. */
export interface ChartState {
  /** As transitions name it: `#server.stopping.halting`. */
  id: string;
  /** The current state in it: `stopping.halting`. '' for the machine as a whole. */
  path: string;
  name: string;
  /** Entered where nothing else is said. */
  initial: boolean;
  final: boolean;
  /** The effects that run during the state. */
  invokes: string[];
  /** Events it takes without leaving. */
  stays: string[];
  /** Events after which it is entered anew. */
  again: string[];
  exits: ChartExit[];
  states: ChartState[];
}

/** All ways from one state to one other. */
export interface ChartExit {
  events: string[];
  target: string;
}

/** As much of a state node's definition as is drawn. */
interface Definition {
  id: string;
  key: string;
  type: string;
  initial?: { target?: string[] };
  states: Record<string, Definition>;
  transitions: { eventType: string; guard?: string | { type?: string }; target?: string[] }[];
  invoke: { id: string }[];
}

/** Reads a machine's definition, as plain JSON. */
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

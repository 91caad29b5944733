import { transition } from 'xstate';
import type { Cause, ServerCommand } from '../../machines/server-types.ts';
import { type ServerSnapshot, serverMachine } from '../../machines/server.ts';
import { StatusError } from '../kernel/status.ts';
import { worthStoring } from './dormant.ts';

/**
 * The events operators can send to a server. All commands except a player's JOIN, replaced by START, and KEEP_AWAKE,
 * the owner's wish. Of the facts only ALARM: it brings a due timeout forward or retries. DOWN, UP and `done` would make
 * the service believe a person about a game that may be running: two games on one world, or one that is not billed.
 * KILL reaches the same by asking the engine.
 */
export const OPERATOR_EVENTS = [
  'ALARM',
  'KILL',
  'STOP',
  'START',
  'RESTART',
  'RETRY_INSTALL',
  'REINSTALL',
  'DELETE',
] as const;
export type OperatorEventType = (typeof OPERATOR_EVENTS)[number];

/** Such an event, with the operator and their reason. */
export type OperatorEvent = { type: OperatorEventType; at: number; cause: Cause };

/** An alarm that somebody rings. */
export type Intervention = Extract<ServerCommand, { type: OperatorEventType }> | (OperatorEvent & { type: 'ALARM' });

const PROBE: Cause = { kind: 'operator', id: '', note: '' };

/** The events that would do something now, by the machine's own word. `at` is the present. */
export function operatorEvents(snapshot: ServerSnapshot, at: number): OperatorEventType[] {
  if (snapshot.status !== 'active') return [];
  return OPERATOR_EVENTS.filter((type) => {
    const event: Intervention = { type, at, cause: PROBE };
    const moves = serverMachine.getTransitionData(snapshot, event).some(({ target }) => target !== undefined);
    return moves || (snapshot.can(event) && worthStoring(snapshot, transition(serverMachine, snapshot, event)[0]));
  });
}

/** An event that a machine does not take now, or that would change nothing; names those that it does take. */
export function eventNotLegal(id: string, state: string, event: string, legal: readonly string[]): StatusError {
  const instead = legal.length === 0 ? 'It accepts no event now.' : `It takes ${legal.join(', ')}.`;
  return new StatusError(
    'FAILED_PRECONDITION',
    'EVENT_NOT_LEGAL',
    `${event} does not apply to a machine that is ${state}. ${instead}`,
    { metadata: { id, state, event, legal: legal.join(' ') } },
  );
}

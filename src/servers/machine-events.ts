import { transition } from 'xstate';
import type { Cause, ServerCommand } from '../../machines/server-types.ts';
import { type ServerSnapshot, serverMachine } from '../../machines/server.ts';
import { StatusError } from '../kernel/status.ts';
import { UNKNOWN_CAUSE, worthStoring } from './snapshots.ts';

/** Commands that a server's owner or a player can send. */
const COMMANDS = [
  'START',
  'STOP',
  'RESTART',
  'KILL',
  'JOIN',
  'RETRY_INSTALL',
  'REINSTALL',
  'KEEP_AWAKE',
  'DELETE',
] as const;

/**
 * Events operators can send to a server: all commands except a player's JOIN, replaced by START, and KEEP_AWAKE, which
 * only the owner sends. The only fact is ALARM, which brings a due timeout forward or retries. DOWN, UP and `done` are
 * excluded because a false report about a running game would lead to two games on one world, or an unbilled game. KILL
 * has the same effect but goes through the engine.
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
type OperatorEventType = (typeof OPERATOR_EVENTS)[number];

type OperatorEvent = { type: OperatorEventType; at: number; cause: Cause };

export type Intervention = Extract<ServerCommand, { type: OperatorEventType }> | (OperatorEvent & { type: 'ALARM' });

const PROBE: Cause = { kind: 'operator', id: '', note: '' };

/** Returns the commands that the machine accepts now. `at`: the present. */
export function acceptedCommands(snapshot: ServerSnapshot, at: number): string[] {
  return COMMANDS.filter((type) => {
    const command = { at, cause: UNKNOWN_CAUSE };
    return snapshot.can(type === 'KEEP_AWAKE' ? { type, ...command, until: at } : { type, ...command });
  });
}

/** Returns the events that would change the machine's state now. `at`: the present. */
export function operatorEvents(snapshot: ServerSnapshot, at: number): OperatorEventType[] {
  if (snapshot.status !== 'active') return [];
  return OPERATOR_EVENTS.filter((type) => {
    const event: Intervention = { type, at, cause: PROBE };
    const moves = serverMachine.getTransitionData(snapshot, event).some(({ target }) => target !== undefined);
    return moves || (snapshot.can(event) && worthStoring(snapshot, transition(serverMachine, snapshot, event)[0]));
  });
}

/**
 * Returns the error for an event that the machine does not accept now, or that would change nothing. Lists the accepted
 * ones.
 */
export function eventNotLegal(id: string, state: string, event: string, legal: readonly string[]): StatusError {
  const instead = legal.length === 0 ? 'It accepts no event now.' : `It accepts ${legal.join(', ')}.`;
  return new StatusError(
    'FAILED_PRECONDITION',
    'EVENT_NOT_LEGAL',
    `${event} does not apply to a machine that is ${state}. ${instead}`,
    { metadata: { id, state, event, legal: legal.join(' ') } },
  );
}

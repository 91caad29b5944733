import type { ServerCommand, ServerState } from '../../machines/server-types.ts';
import { inProgress } from '../jail/change-lock.ts';
import { type RefusalWords, StatusError, preconditionFailure } from '../kernel/status.ts';
import type { ServerNow } from './server-now.ts';

/** Returns the refusal of a command in the server's state, with a suggestion. */
export function notAllowed({ row, state, context }: ServerNow, command: ServerCommand): StatusError {
  if (command.type === 'MAINTAIN' && context.job !== null) return inProgress(row.id, context.job.kind);
  const sentence =
    REFUSALS[command.type]?.[state] ?? REFUSALS[command.type]?.other ?? `${command.type} is not possible now.`;
  const metadata = { server: row.id, state, command: command.type };
  return wrongState(`SERVER_${state.toUpperCase()}`, `${sentence} The server is ${state}.`, metadata, WORDS[state]);
}

/** Returns a FAILED_PRECONDITION refusal because of a server's state. */
export function wrongState(
  reason: string,
  sentence: string,
  metadata: { server: string; state: string; [more: string]: string },
  words?: RefusalWords,
): StatusError {
  const details = [preconditionFailure('SERVER_STATE', `server:${metadata.server}`, sentence)];
  return new StatusError('FAILED_PRECONDITION', reason, sentence, { metadata, details, ...(words && { words }) });
}

/** Returns the refusal of changes that must not happen during a run, such as its settings and price. */
export function notStopped({ row, state, context }: ServerNow): StatusError {
  if (context.job !== null) return inProgress(row.id, context.job.kind);
  const sentence = 'Stop the server to change this.';
  return wrongState('SERVER_NOT_STOPPED', sentence, { server: row.id, state });
}

/** Returns the refusal if no online player has this name. */
export function playerNotOnline({ row }: ServerNow, name: string): StatusError {
  return new StatusError('NOT_FOUND', 'PLAYER_NOT_ONLINE', `${name} is not playing right now.`, {
    metadata: { server: row.id, name },
  });
}

/** The kick message for a server that was never installed. */
export const NOT_INSTALLED = 'This server is not set up yet. Ask its owner.';

/** Kick messages by the state that refuses a join. */
const WORDS: Partial<Record<ServerState, RefusalWords>> = {
  installing: { player: 'This server is being set up. Come back in a few minutes.' },
  install_failed: { player: NOT_INSTALLED },
  start_failed: { player: 'This server has a problem. Ask its owner.' },
};

const REFUSALS: Partial<Record<ServerCommand['type'], Partial<Record<ServerState | 'other', string>>>> = {
  START: {
    installing: 'Wait until the install has finished, then start it.',
    install_failed: 'Retry the install first.',
  },
  JOIN: { start_failed: 'It failed to start too often. The owner must start it.' },
  RESTART: { other: 'Only an awake server can be restarted; start it instead.' },
  RETRY_INSTALL: { other: 'There is no failed install to retry.' },
  REINSTALL: { other: 'Stop the server first, then change what is installed.' },
  KEEP_AWAKE: { other: 'Only a running server can be kept awake; start it first.' },
  MAINTAIN: {
    installing: 'Wait until the install has finished.',
    install_failed: 'Retry the install, or restore a backup.',
  },
};

import { ConsoleError, type GameConsoles, MAX_COMMAND_BYTES } from '../engines/console/console.ts';
import { invalidFields } from '../http/errors.ts';
import type { Address } from '../kernel/address.ts';
import { StatusError } from '../kernel/status.ts';
import { wrongState } from './refusals.ts';
import type { ServerNow } from './server-now.ts';

export interface ConsoleAccess {
  consoles: GameConsoles;
}

/**
 * Runs one command on the game of a running server and returns its output. Rejects with FAILED_PRECONDITION
 * SERVER_NOT_RUNNING; RCON_UNAVAILABLE, as UNAVAILABLE if the console may answer later, or FAILED_PRECONDITION if the
 * game has none; DEADLINE_EXCEEDED RCON_TIMEOUT; INVALID_ARGUMENT COMMAND_INVALID.
 */
export async function runOnGame(access: ConsoleAccess, server: ServerNow, command: string): Promise<string> {
  const rcon = rconOf(server);
  try {
    return await access.consoles.run(server.row.id, rcon, command);
  } catch (error) {
    throw consoleStatus(error, server);
  }
}

/**
 * Returns a command without the leading slash players type. Throws INVALID_ARGUMENT on `command` if it cannot be sent.
 */
export function withoutSlash(given: string): string {
  const command = given.replace(/^\//, '');
  const description = commandProblem(command);
  if (description !== undefined) throw invalidFields([{ field: 'command', description }]);
  return command;
}

/** Returns the problem of a command; undefined if it can be sent. */
export function commandProblem(command: string): string | undefined {
  if (command.trim() === '') return 'is required';
  return Buffer.byteLength(command) > MAX_COMMAND_BYTES ? `must have at most ${MAX_COMMAND_BYTES} bytes` : undefined;
}

/** Returns the console address of a running server. Throws like `runOnGame`. */
export function rconOf({ row, state, context }: ServerNow): Address {
  if (state !== 'running') {
    const sentence = 'Start the server, then send it commands.';
    throw wrongState('SERVER_NOT_RUNNING', sentence, { server: row.id, state });
  }
  if (context.rcon === null) throw unavailable();
  return context.rcon;
}

function consoleStatus(error: unknown, server: ServerNow): unknown {
  if (!(error instanceof ConsoleError)) return error;
  switch (error.reason) {
    case 'absent':
      return noConsole(server, error);
    case 'unavailable':
    case 'refused':
      return unavailable(error);
    case 'timeout':
      return new StatusError('DEADLINE_EXCEEDED', 'RCON_TIMEOUT', 'The game did not answer in time.', { cause: error });
    case 'invalid':
      return new StatusError('INVALID_ARGUMENT', 'COMMAND_INVALID', 'The command cannot be sent to the console.', {
        cause: error,
      });
    default:
      return error.reason satisfies never;
  }
}

export function hasNoConsole(error: unknown): boolean {
  return error instanceof StatusError && error.code === 'FAILED_PRECONDITION' && error.reason === 'RCON_UNAVAILABLE';
}

function noConsole({ row }: ServerNow, cause: unknown): StatusError {
  const sentence =
    'The console is not available, because the RCON port of the game is not open. Enter commands in the game itself, ' +
    'or change its files while the server is asleep.';
  return new StatusError('FAILED_PRECONDITION', 'RCON_UNAVAILABLE', sentence, { metadata: { server: row.id }, cause });
}

function unavailable(cause?: unknown): StatusError {
  return new StatusError('UNAVAILABLE', 'RCON_UNAVAILABLE', 'The console of the game cannot be reached. Try again.', {
    retryAfterSeconds: 2,
    cause,
  });
}

import { z } from 'zod';
import { ConsoleError } from '../ports.ts';
import type { Address } from '../ports.ts';
import { StatusError } from '../status.ts';
import type { ServerNow } from '../actors/effect-host.ts';
import { invalidFields } from './errors.ts';
import { line, message, reply } from './fields.ts';
import { serverOperation } from './operation.ts';
import { ServerParams } from './schemas.ts';
import { recordOnServer } from './services.ts';

/** What fits into one packet of RCON (https://minecraft.wiki/w/RCON): more, and the game drops the connection. */
const MAX_COMMAND_BYTES = 1446;

export const runCommand = serverOperation({
  id: 'RunCommand',
  method: 'post',
  path: '/v1/servers/{id}:command',
  scope: 'console',
  role: 'member',
  tag: 'control',
  summary: 'Run a console command',
  description: 'Runs it on the game and returns what the game says. Needs a running server; does not wake it.',
  params: ServerParams,
  body: message({ command: line(4096).min(1, 'is required') }).meta({ id: 'RunCommandRequest' }),
  example: { command: 'say hello' },
  reply: z.object({ output: reply.text.describe('The reply of RCON.') }).meta({ id: 'RunCommandResponse' }),
}).handle(async ({ params, server, body, principal }, services) => {
  const command = withoutSlash(body.command);
  const rcon = rconOf(server);
  // Before the command: what it does is done by the game, and may be the end of it. Its arguments may hold a secret.
  const deed = {
    action: 'console.command',
    detail: /^[\w:.-]{1,64}/.exec(command)?.[0] ?? '',
    at: services.clock.now(),
  };
  await services.store.write(recordOnServer(principal, server.row, deed));
  try {
    return { output: await services.console.run(rcon, await services.rconPassword(params.id), command) };
  } catch (error) {
    throw consoleStatus(error);
  }
});

/** As the console takes it: players' leading slash away. */
function withoutSlash(given: string): string {
  const command = given.replace(/^\//, '');
  if (command.trim() === '') throw invalidFields([{ field: 'command', description: 'is required' }]);
  if (Buffer.byteLength(command) > MAX_COMMAND_BYTES) {
    throw invalidFields([{ field: 'command', description: `must have at most ${MAX_COMMAND_BYTES} bytes` }]);
  }
  return command;
}

function rconOf({ row, state, context }: ServerNow): Address {
  if (state !== 'running') {
    throw new StatusError('FAILED_PRECONDITION', 'SERVER_NOT_RUNNING', 'Start the server, then send it commands.', {
      metadata: { server: row.id, state },
    });
  }
  if (context.rcon === null) throw unavailable();
  return context.rcon;
}

function consoleStatus(error: unknown): unknown {
  if (!(error instanceof ConsoleError)) return error;
  switch (error.reason) {
    case 'unavailable':
    case 'refused':
      return unavailable(error);
    case 'timeout':
      return new StatusError('DEADLINE_EXCEEDED', 'RCON_TIMEOUT', 'The game did not answer in time.', { cause: error });
    case 'invalid':
      return invalidFields([{ field: 'command', description: 'cannot be sent to the console' }]);
    default:
      return error.reason satisfies never;
  }
}

function unavailable(cause?: unknown): StatusError {
  return new StatusError('UNAVAILABLE', 'RCON_UNAVAILABLE', 'The console of the game cannot be reached. Try again.', {
    retryAfterSeconds: 2,
    cause,
  });
}

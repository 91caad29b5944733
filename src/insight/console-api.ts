import * as z from 'zod';
import { line, message, reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import { type TypedCommandAccess, runTyped } from '../players/typed-commands.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import { rconOf, withoutSlash } from '../servers/game-console.ts';
import type { Shared } from '../servers/shared.ts';

export const RunCommand = operation({
  id: 'RunCommand',
  method: 'post',
  path: '/v1/servers/{id}:command',
  auth: 'key',
  scope: 'console',
  role: 'member',
  section: 'Console, logs and insight',
  summary: 'Run a console command',
  description:
    'Runs a command on the game and returns its reply. The server must be running: this call does not wake it. ' +
    'The game sees the same address for all players, so `ban-ip` with the name of a player bans the player’s real ' +
    'address.',
  precondition: 'the server must be running, and its console must respond.',
  params: ServerParams,
  body: message({ command: line(4096).min(1, 'is required') }).meta({ id: 'RunCommandRequest' }),
  example: { command: 'say hello' },
  reply: z.object({ output: reply.text.describe('The reply of the game.') }).meta({ id: 'RunCommandResponse' }),
});

export const consoleOperations = (
  { serveServer, store, clock }: Shared,
  access: TypedCommandAccess,
): readonly Served[] => [
  serveServer(RunCommand, async ({ server, body, principal }) => {
    const command = withoutSlash(body.command);
    rconOf(server);
    // Recorded before the command, which may end the game. Without arguments, which may hold a secret.
    const entry = {
      action: 'console.command',
      detail: /^[\w:.-]{1,64}/.exec(command)?.[0] ?? '',
      at: clock.now(),
    };
    await store.write(recordOnServer(principal, server.row, entry));
    return { output: await runTyped(access, server, command) };
  }),
];

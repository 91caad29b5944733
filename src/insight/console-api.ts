import { z } from 'zod';
import { line, message, reply } from '../http/fields.ts';
import { runTyped } from '../players/typed-commands.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { serverOperation } from '../servers/api/operation.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import { rconOf, withoutSlash } from '../servers/game-console.ts';

export const runCommand = serverOperation({
  id: 'RunCommand',
  method: 'post',
  path: '/v1/servers/{id}:command',
  scope: 'console',
  role: 'member',
  tag: 'control',
  summary: 'Run a console command',
  description:
    'Runs it on the game and returns what the game says. Needs a running server; does not wake it. The game itself sees all ' +
    'players come from the same address: `ban-ip` with the name of a player bans the address that they really come from.',
  precondition: 'the server must run, and its console answer.',
  params: ServerParams,
  body: message({ command: line(4096).min(1, 'is required') }).meta({ id: 'RunCommandRequest' }),
  example: { command: 'say hello' },
  reply: z.object({ output: reply.text.describe('The reply of RCON.') }).meta({ id: 'RunCommandResponse' }),
}).handle(async ({ server, body, principal }, services) => {
  const command = withoutSlash(body.command);
  rconOf(server);
  // Before the command: what it does is done by the game, and may be the end of it. Its arguments may hold a secret.
  const deed = {
    action: 'console.command',
    detail: /^[\w:.-]{1,64}/.exec(command)?.[0] ?? '',
    at: services.clock.now(),
  };
  await services.store.write(recordOnServer(principal, server.row, deed));
  return { output: await runTyped(services, server, command) };
});

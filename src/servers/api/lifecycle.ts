import type { ServerCommand } from '../../../machines/server-types.ts';
import { int32, message } from '../../http/fields.ts';
import type { Role } from '../../http/roles.ts';
import { causeOf } from '../../people/caller.ts';
import { Server, ServerParams } from './messages.ts';
import { serverOperation } from './operation.ts';
import { serverView } from './view.ts';

const MINUTE_MS = 60_000;

interface Words {
  role: Role;
  summary: string;
  description: string;
  precondition?: string;
}

type Plain = Exclude<ServerCommand['type'], 'JOIN' | 'KEEP_AWAKE' | 'MAINTAIN' | 'DELETE' | 'REINSTALL'>;

export const startServer = command('StartServer', 'start', 'START', {
  role: 'limited',
  summary: 'Start a server',
  description:
    'Wakes the server; poll it until `state` is `running`. A server that starts or runs already is left as it is.',
  precondition: 'quota, funds and the operator must allow it, and nothing else be done with the server.',
});

export const stopServer = command('StopServer', 'stop', 'STOP', {
  role: 'limited',
  summary: 'Stop a server',
  description: 'Saves and stops; metered billing ends, data stays. A server that sleeps already is left as it is.',
});

export const restartServer = command('RestartServer', 'restart', 'RESTART', {
  role: 'member',
  summary: 'Restart a server',
  description: 'Stops the server and starts it again. Refused for one that sleeps.',
  precondition: 'the server must be awake.',
});

export const killServer = command('KillServer', 'kill', 'KILL', {
  role: 'member',
  summary: 'Kill a server',
  description: 'Ends a start or a stop that hangs, without saving.',
  precondition: 'the server must be awake.',
});

export const retryInstall = command('RetryInstall', 'retryInstall', 'RETRY_INSTALL', {
  role: 'member',
  summary: 'Retry an install',
  description: 'Runs the install again. Only in `install_failed`.',
  precondition: '`state` must be `install_failed`.',
});

export const keepAwake = serverOperation({
  id: 'KeepAwake',
  method: 'post',
  path: '/v1/servers/{id}:keepAwake',
  scope: 'servers:write',
  role: 'member',
  tag: 'control',
  summary: 'Keep a server awake',
  description: 'No stop for idleness for so many minutes, 0 to 1440; 0 ends it. Only while `running`.',
  precondition: '`state` must be `running`.',
  params: ServerParams,
  body: message({ minutes: int32({ min: 0, max: 1440 }).default(0) }),
  reply: Server,
}).handle(async ({ params, body, principal }, services) => {
  const at = services.clock.now();
  const until = at + body.minutes * MINUTE_MS;
  const now = await services.servers.send(params.id, { type: 'KEEP_AWAKE', at, until, cause: causeOf(principal) });
  return serverView(now, services);
});

/** An operation that is one command to a server, answered with the server as it is then. */
function command(id: string, verb: string, type: Plain, words: Words) {
  return serverOperation({
    id,
    method: 'post',
    path: `/v1/servers/{id}:${verb}`,
    scope: 'servers:write',
    tag: 'control',
    ...words,
    params: ServerParams,
    example: {},
    reply: Server,
  }).handle(async ({ params, principal }, services) => {
    const now = await services.servers.send(params.id, { type, at: services.clock.now(), cause: causeOf(principal) });
    return serverView(now, services);
  });
}

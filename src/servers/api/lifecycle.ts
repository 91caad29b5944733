import type { ServerCommand } from '../../../machines/server-types.ts';
import { int32, message } from '../../http/fields.ts';
import type { Operation } from '../../http/operation.ts';
import type { Role } from '../../http/roles.ts';
import type { Clock } from '../../kernel/clock.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { causeOf } from '../../access/caller.ts';
import type { Servers } from '../servers.ts';
import { Server, ServerParams } from './messages.ts';
import type { ServerOperation } from './operation.ts';
import { type ServerView, shownTo } from './view.ts';

/** Dependencies of these operations. */
interface Needs {
  serverView: ServerView;
  clock: Clock;
  serverOperation: ServerOperation;
  servers: Servers;
}

interface Words {
  role: Role;
  summary: string;
  description: string;
  precondition?: string;
}

type Plain = Exclude<ServerCommand['type'], 'JOIN' | 'KEEP_AWAKE' | 'MAINTAIN' | 'DELETE' | 'REINSTALL'>;

const startServer = command('StartServer', 'start', 'START', {
  role: 'limited',
  summary: 'Start a server',
  description:
    'Wakes the server. Poll it until `state` is `running`. Does nothing if the server is starting or running.',
  precondition:
    'quota, funds and the operator must allow it, no other operation may be running on the server, and the account ' +
    'must have agreed to the EULA if the server runs Mojang’s software (`AcceptEula`).',
});

const stopServer = command('StopServer', 'stop', 'STOP', {
  role: 'limited',
  summary: 'Stop a server',
  description: 'Saves and stops the server. Metered billing ends, data stays. Does nothing if it is asleep.',
});

const restartServer = command('RestartServer', 'restart', 'RESTART', {
  role: 'member',
  summary: 'Restart a server',
  description: 'Stops the server and starts it again. Fails if the server is asleep.',
  precondition: 'the server must be awake.',
});

const killServer = command('KillServer', 'kill', 'KILL', {
  role: 'member',
  summary: 'Kill a server',
  description: 'Ends the game without saving, also if a start or stop hangs. Does nothing if the server is asleep.',
});

const retryInstall = command('RetryInstall', 'retryInstall', 'RETRY_INSTALL', {
  role: 'member',
  summary: 'Retry an install',
  description: 'Runs the install again. Only in `install_failed`.',
  precondition: '`state` must be `install_failed`.',
});

const keepAwake = (needs: Needs) =>
  needs.serverOperation({
    id: 'KeepAwake',
    method: 'post',
    path: '/v1/servers/{id}:keepAwake',
    scope: 'servers:write',
    role: 'member',
    tag: 'control',
    summary: 'Keep a server awake',
    description: 'Prevents the idle stop for 0 to 1440 minutes. 0 cancels it. Only while `running`.',
    precondition: '`state` must be `running`.',
    params: ServerParams,
    body: message({ minutes: int32({ min: 0, max: 1440 }).default(0) }),
    reply: Server,
    async run({ params, body, principal }) {
      const at = needs.clock.now();
      const until = at + body.minutes * MINUTE_MS;
      const now = await needs.servers.send(params.id, { type: 'KEEP_AWAKE', at, until, cause: causeOf(principal) });
      return needs.serverView(now);
    },
  });

/** Declares an operation that sends one command and returns the server afterwards. */
function command(id: string, verb: string, type: Plain, words: Words) {
  return (needs: Needs) =>
    needs.serverOperation({
      id,
      method: 'post',
      path: `/v1/servers/{id}:${verb}`,
      scope: 'servers:write',
      tag: 'control',
      ...words,
      params: ServerParams,
      example: {},
      reply: Server,
      async run({ params, principal, role }) {
        const now = await needs.servers.send(params.id, { type, at: needs.clock.now(), cause: causeOf(principal) });
        return shownTo(role, needs.serverView(now));
      },
    });
}

/** Operations that start and stop servers. */
export const lifecycleOperations = (needs: Needs): readonly Operation[] => [
  startServer(needs),
  stopServer(needs),
  restartServer(needs),
  retryInstall(needs),
];

/** Operations that override the machine's own decisions. */
export const forcedOperations = (needs: Needs): readonly Operation[] => [killServer(needs), keepAwake(needs)];

import { int32, message } from '../../http/fields.ts';
import { operation } from '../../http/operation.ts';
import type { Served } from '../../http/serve.ts';
import type { Role } from '../../http/roles.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { causeOf } from '../../access/caller.ts';
import { Server, ServerParams } from './messages.ts';
import type { ServerNeeds } from './operation.ts';
import { shownTo } from './view.ts';

interface Words {
  role: Role;
  summary: string;
  description: string;
  precondition?: string;
}

const COMMON = {
  auth: 'key',
  method: 'post',
  scope: 'servers:write',
  section: 'Servers',
  params: ServerParams,
  reply: Server,
} as const;

type Plain = 'START' | 'KILL' | 'RETRY_INSTALL';

export const StartServer = command('StartServer', 'start', {
  role: 'limited',
  summary: 'Start a server',
  description:
    'Wakes the server. Poll it until `state` is `running`. If the server is starting or running, it only cancels a stop ' +
    'or restart that players are warned of.',
  precondition:
    'quota, funds and the operator must allow it, no other operation may be running on the server, and the account ' +
    'must have agreed to the EULA if the server runs Mojang’s software (`AcceptEula`).',
});

const WARNED = {
  example: {},
  body: message({
    warnSeconds: int32({ min: 0, max: 600 })
      .default(0)
      .describe(
        'If players are online, they are warned at once and 10 s before the end, which comes after this time or when ' +
          'the last one has left. See `stopsAt`. StartServer cancels it.',
      ),
  }),
};

export const StopServer = operation({
  ...COMMON,
  ...WARNED,
  id: 'StopServer',
  path: '/v1/servers/{id}:stop',
  role: 'limited',
  summary: 'Stop a server',
  description: 'Saves and stops the server. Metered billing ends, data stays. Does nothing if it is asleep.',
});

export const RestartServer = operation({
  ...COMMON,
  ...WARNED,
  id: 'RestartServer',
  path: '/v1/servers/{id}:restart',
  role: 'member',
  summary: 'Restart a server',
  description: 'Stops the server and starts it again. Fails if the server is asleep.',
  precondition: 'the server must be awake.',
});

export const KillServer = command('KillServer', 'kill', {
  role: 'member',
  summary: 'Kill a server',
  description: 'Ends the game without saving, also if a start or stop hangs. Does nothing if the server is asleep.',
});

export const RetryInstall = command('RetryInstall', 'retryInstall', {
  role: 'member',
  summary: 'Retry an install',
  description: 'Runs the install again. Only in `install_failed`.',
  precondition: '`state` must be `install_failed`.',
});

export const KeepAwake = operation({
  ...COMMON,
  id: 'KeepAwake',
  path: '/v1/servers/{id}:keepAwake',
  role: 'member',
  summary: 'Keep a server awake',
  description: 'Prevents the idle stop for 0 to 1440 minutes. 0 cancels it. Only while `running`.',
  precondition: '`state` must be `running`.',
  body: message({ minutes: int32({ min: 0, max: 1440 }).default(0) }),
});

/** Describes an operation that sends one command and returns the server afterwards. */
function command(id: string, verb: string, words: Words) {
  return operation({ ...COMMON, id, path: `/v1/servers/{id}:${verb}`, ...words, example: {} });
}

/** Operations that start and stop servers. */
export function lifecycleOperations({ serveServer, serverView, servers, clock }: ServerNeeds): readonly Served[] {
  const serveCommand = (operation: ReturnType<typeof command>, type: Plain) =>
    serveServer(operation, async ({ params, principal, role }) => {
      const now = await servers.send(params.id, { type, at: clock.now(), cause: causeOf(principal) });
      return shownTo(role, serverView(now));
    });
  const serveWarned = (operation: typeof StopServer | typeof RestartServer, type: 'STOP' | 'RESTART') =>
    serveServer(operation, async ({ params, body: { warnSeconds }, principal, role }) => {
      const at = clock.now();
      const warned = warnSeconds > 0 && { dueAt: at + warnSeconds * 1_000 };
      return shownTo(
        role,
        serverView(await servers.send(params.id, { type, at, cause: causeOf(principal), ...warned })),
      );
    });
  return [
    serveCommand(StartServer, 'START'),
    serveWarned(StopServer, 'STOP'),
    serveWarned(RestartServer, 'RESTART'),
    serveCommand(RetryInstall, 'RETRY_INSTALL'),
    serveCommand(KillServer, 'KILL'),
    serveServer(KeepAwake, async ({ params, body, principal }) => {
      const at = clock.now();
      const until = at + body.minutes * MINUTE_MS;
      return serverView(await servers.send(params.id, { type: 'KEEP_AWAKE', at, until, cause: causeOf(principal) }));
    }),
  ];
}

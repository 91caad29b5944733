import * as z from 'zod';
import { int32, message, reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import type { Clock } from '../kernel/clock.ts';
import type { WithKeyLock } from '../kernel/mutex.ts';
import { Motd } from '../servers/api/fields.ts';
import { ServerParams } from '../servers/api/messages.ts';
import type { ServeServer } from '../servers/api/operation.ts';
import { recordOnServer } from '../servers/api/reach.ts';
import type { Servers } from '../servers/servers.ts';
import type { WakePolicies } from './join-policy.ts';
import { WAKE_MODES } from './rows.ts';

/** Dependencies of these operations. */
interface Needs {
  clock: Clock;
  withLock: WithKeyLock;
  serveServer: ServeServer;
  servers: Servers;
  wakePolicies: WakePolicies;
}

const MODES =
  '`anyone`; `known`: players on the whitelist, operators, and players who have joined before; `whitelist`; ' +
  '`verified`: players whose Minecraft account the proxy has verified; `nobody`.';

export const SetWakePolicy = operation({
  id: 'SetWakePolicy',
  method: 'post',
  path: '/v1/servers/{id}:setWakePolicy',
  auth: 'key',
  scope: 'servers:write',
  role: 'member',
  section: 'Servers',
  summary: 'Set who can wake the server by joining',
  description:
    'Absent fields stay unchanged, so an empty body returns the policy. The policy is about joining only. It does ' +
    'not affect starts through API keys, schedules or the panel. The game decides who can play while the server is ' +
    'awake. Banned players never wake it.',
  params: ServerParams,
  body: message({
    mode: z.enum(WAKE_MODES).optional().describe(MODES),
    maxWakesPerDay: int32({ min: 0, max: 10_000 })
      .optional()
      .describe('Daily limit of wakes by joining, counted from midnight UTC. 0 = unlimited.'),
    asleepMotd: Motd.optional().describe('Shown in the server list while asleep. Empty = the default.'),
    maintenanceText: Motd.optional().describe(
      'Unless empty, joining does not wake the server and players get this message.',
    ),
  }).meta({ id: 'SetWakePolicyRequest' }),
  example: { mode: 'known', maxWakesPerDay: 20, asleepMotd: '<gray>Asleep. Friends may wake me.' },
  reply: z
    .object({
      mode: reply.text.describe(MODES),
      maxWakesPerDay: reply.int32,
      asleepMotd: reply.text,
      maintenanceText: reply.text,
    })
    .meta({ id: 'WakePolicy' }),
});

export const wakePolicyOperations = ({
  serveServer,
  wakePolicies,
  servers,
  clock,
  withLock,
}: Needs): readonly Served[] => [
  serveServer(SetWakePolicy, ({ server: now, body, principal }) =>
    withLock(`wakePolicy ${now.row.id}`, async () => {
      const before = wakePolicies.of(now.row.id);
      const policy = {
        mode: body.mode ?? before.mode,
        maxWakesPerDay: body.maxWakesPerDay ?? before.maxWakesPerDay,
        asleepMotd: body.asleepMotd ?? before.asleepMotd,
        maintenanceText: body.maintenanceText ?? before.maintenanceText,
      };
      if (Object.keys(body).length === 0) return policy;
      const detail = `${policy.mode}, ${policy.maxWakesPerDay || 'no'} wakes a day at most`.replace(
        'no wakes a day at most',
        'no cap',
      );
      const record = recordOnServer(principal, now.row, { action: 'server.wakePolicy', detail, at: clock.now() });
      await wakePolicies.set(now.row.id, policy, record);
      // An empty patch makes observers, such as the proxy's routes, update.
      await servers.patch(now.row.id, {});
      return policy;
    }),
  ),
];

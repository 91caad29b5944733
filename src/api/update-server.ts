import { StatusError } from '../status.ts';
import type { ServerNow } from '../actors/effect-host.ts';
import { invalidFields } from './errors.ts';
import { int32, message, text } from './fields.ts';
import { serverOperation } from './operation.ts';
import { Server, ServerName, ServerParams } from './schemas.ts';
import { checkPlan, checkRam } from './server-fields.ts';
import { recordOnServer } from './services.ts';
import { serverView } from './views.ts';

const AT_REST = new Set(['hibernated', 'start_failed', 'install_failed']);

export const updateServer = serverOperation({
  id: 'UpdateServer',
  method: 'post',
  path: '/v1/servers/{id}:update',
  scope: 'servers:write',
  role: 'member',
  tag: 'control',
  summary: 'Change name, RAM or plan',
  description: 'What is absent stays as it is. RAM and plan change only while the server is stopped.',
  params: ServerParams,
  body: message({
    name: ServerName.optional(),
    ramMb: int32({ min: 1 }).optional(),
    plan: text(16).optional().describe('`metered` or `flat`.'),
  }).meta({ id: 'UpdateServerRequest' }),
  reply: Server,
}).handle(async ({ server: now, body, principal }, services) => {
  const { name = now.row.name, ramMb = now.row.ramMb, plan = now.row.plan } = body;
  const violations = [...checkRam({ ...now.row, ramMb }, services), ...checkPlan(plan)];
  if (violations.length > 0) throw invalidFields(violations);
  if (ramMb !== now.row.ramMb || plan !== now.row.plan) requireStopped(now);
  const deed = { action: 'server.update', detail: Object.keys(body).join(', '), at: services.clock.now() };
  const record = recordOnServer(principal, now.row, deed);
  return serverView(await services.servers.patch(now.row.id, { name, ramMb, plan }, record), services);
});

function requireStopped({ row, state }: ServerNow): void {
  if (AT_REST.has(state)) return;
  throw new StatusError('FAILED_PRECONDITION', 'SERVER_NOT_STOPPED', 'Stop the server, then change its RAM or plan.', {
    metadata: { server: row.id, state },
  });
}

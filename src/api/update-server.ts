import { invalidFields } from './errors.ts';
import { int32, message, text } from './fields.ts';
import { serverOperation } from './operation.ts';
import { Server, ServerName, ServerParams } from './schemas.ts';
import { checkPlan, checkRam } from './server-fields.ts';
import { requireStopped, stillStopped } from './stopped.ts';
import { recordOnServer } from './services.ts';
import { serverView } from './views.ts';

const WHAT = 'its RAM or plan';

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
  const needsRest = ramMb !== now.row.ramMb || plan !== now.row.plan;
  if (needsRest) requireStopped(now, WHAT);
  const deed = { action: 'server.update', detail: Object.keys(body).join(', '), at: services.clock.now() };
  const record = recordOnServer(principal, now.row, deed);
  const patched = await services.servers.patch(now.row.id, { name, ramMb, plan }, async (tx) => {
    if (needsRest) await stillStopped(tx, now.row.id, WHAT);
    await record(tx);
  });
  return serverView(patched, services);
});

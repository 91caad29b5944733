import type { z } from 'zod';
import { reserves } from '../billing/reservations.ts';
import { int32, line, message } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Principal, credentialId } from '../http/principal.ts';
import type { Services } from '../http/services.ts';
import { doerOf, recordDeed } from '../people/audit/audit.ts';
import { Server, ServerParams } from '../servers/api/messages.ts';
import { serverView } from '../servers/api/view.ts';
import { warnPlayers } from '../servers/last-call.ts';
import { notFound } from '../servers/refusals.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Tx } from '../store/store.ts';

/** Why an operator does something; it goes into the audit log. */
export const Reason = line(256).trim().min(1, 'is required');

const of = { scope: 'operator', tag: 'operator', method: 'post', params: ServerParams, reply: Server } as const;

export const setDiskQuota = operation({
  ...of,
  id: 'SetDiskQuota',
  path: '/v1/operator/servers/{id}:setDiskQuota',
  summary: "Set a server's disk quota",
  description:
    'In place of the quota of the installation, in MB; 0 takes it away again. In force at once: a running server that ' +
    'takes more is stopped, one that was stopped for it may wake.',
  body: message({ quotaMb: int32({ min: 0 }), reason: Reason }).meta({ id: 'SetDiskQuotaRequest' }),
  example: { quotaMb: 20_480, reason: 'A large modpack' },
}).handle(async ({ principal, params, body: { quotaMb, reason } }, services) => {
  const now = await known(services, params.id);
  const detail = `${quotaMb} MB: ${reason}`;
  await services.disk.setOverride(params.id, quotaMb, record(services, principal, now, 'server.setDiskQuota', detail));
  return shown(services, params.id);
});

export const suspendServer = operation({
  ...of,
  id: 'SuspendServer',
  path: '/v1/operator/servers/{id}:suspend',
  summary: 'Suspend a server',
  description:
    'Saves and stops it, and lets nothing wake it until it is unsuspended; its data stays. The owner reads the reason ' +
    'as `startErrorSummary`, with the code `suspended`; players read that it is closed.',
  body: message({ reason: Reason.describe('Its owner reads it.') }).meta({ id: 'SuspendServerRequest' }),
  example: { reason: 'Abuse report 4711' },
}).handle(async ({ principal, params: { id }, body: { reason } }, services) => {
  const now = await known(services, id);
  const at = services.clock.now();
  const row = { serverId: id, reason, userId: principal.userId, at };
  await services.suspensions.set(row, record(services, principal, now, 'server.suspend', reason));
  await services.sftp.cut(id);
  const awake = await known(services, id);
  if (!reserves(awake)) return shown(services, id);
  // Said before the console is asked to save and stop; not waited for.
  if (awake.state === 'running')
    void warnPlayers([awake], 'This server is suspended. It saves and stops now.', services);
  const cause = { kind: 'operator', id: operatorOf(principal), note: `suspended: ${reason}` } as const;
  return serverView(await services.servers.send(id, { type: 'STOP', at, cause }), services);
});

export const unsuspendServer = operation({
  ...of,
  id: 'UnsuspendServer',
  path: '/v1/operator/servers/{id}:unsuspend',
  summary: 'End the suspension of a server',
  description: 'It may wake again, and is not started by this. Nothing happens to a server that is not suspended.',
  body: message({ reason: Reason }).meta({ id: 'UnsuspendServerRequest' }),
  example: { reason: 'Settled' },
}).handle(async ({ principal, params, body: { reason } }, services) => {
  const now = await known(services, params.id);
  await services.suspensions.lift(params.id, record(services, principal, now, 'server.unsuspend', reason));
  return shown(services, params.id);
});

/** What operators do with anybody's server. */
export const operatorServerOperations = [setDiskQuota, suspendServer, unsuspendServer] as const;

async function known({ servers }: Services, id: string): Promise<ServerNow> {
  const now = await servers.get(id);
  if (now === undefined) throw notFound(id);
  return now;
}

async function shown(services: Services, id: string): Promise<z.input<typeof Server>> {
  return serverView(await known(services, id), services);
}

function record(services: Services, principal: Principal, { row }: ServerNow, action: string, detail: string) {
  const deed = { action, accountId: row.accountId, serverId: row.id, detail, at: services.clock.now() };
  return (tx: Tx) => recordDeed(tx, doerOf(principal), deed);
}

/** As the cause of a transition names who is at work: the key, or the user. */
function operatorOf(principal: Principal): string {
  return principal.kind === 'session' ? principal.userId : credentialId(principal);
}

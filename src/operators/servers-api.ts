import type * as z from 'zod';
import { reserves } from '../billing/reservations.ts';
import type { DiskQuota } from '../disk/quota.ts';
import type { GameConsoles } from '../engines/console/console.ts';
import { int32, message } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import { type Principal, credentialId } from '../http/principal.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import { Reason } from '../accounts/fields.ts';
import { Server, ServerParams } from '../servers/api/messages.ts';
import type { ServerView } from '../servers/api/view.ts';
import { warnPlayers } from '../servers/stopping.ts';
import { type ServerNow, waitsForRoom } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import type { Sftp } from '../sftp/sftp.ts';
import type { Tx } from '../store/store.ts';
import type { Suspensions } from './suspensions.ts';

/** Dependencies of these operations. */
interface Needs {
  serverView: ServerView;
  clock: Clock;
  consoles: GameConsoles;
  disk: DiskQuota;
  log: Log;
  servers: Servers;
  sftp: Sftp;
  suspensions: Suspensions;
}

const COMMON = { auth: 'key', scope: 'operator', method: 'post', params: ServerParams, reply: Server } as const;

export const SetDiskQuota = operation({
  ...COMMON,
  id: 'SetDiskQuota',
  path: '/v1/operator/servers/{id}:setDiskQuota',
  summary: "Set a server's disk quota",
  description:
    "Sets a quota in MB that replaces the installation's; 0 restores the default. Applies immediately: a running " +
    'server over its quota is stopped, and a server that was stopped for its old quota can wake again.',
  body: message({ quotaMb: int32({ min: 0 }), reason: Reason }).meta({ id: 'SetDiskQuotaRequest' }),
  example: { quotaMb: 20_480, reason: 'A large modpack' },
});

export const SuspendServer = operation({
  ...COMMON,
  id: 'SuspendServer',
  path: '/v1/operator/servers/{id}:suspend',
  summary: 'Suspend a server',
  description:
    'Saves and stops the server. It cannot wake until the suspension ends. Its data stays. The owner sees the ' +
    'reason in `startErrorSummary`, with the code `suspended`. Players see that the server is suspended.',
  body: message({ reason: Reason.describe('Shown to the owner.') }).meta({ id: 'SuspendServerRequest' }),
  example: { reason: 'Abuse report 4711' },
});

export const UnsuspendServer = operation({
  ...COMMON,
  id: 'UnsuspendServer',
  path: '/v1/operator/servers/{id}:unsuspend',
  summary: 'End the suspension of a server',
  description: 'The server can wake again, but does not start. Does nothing for a server that is not suspended.',
  body: message({ reason: Reason }).meta({ id: 'UnsuspendServerRequest' }),
  example: { reason: 'Settled' },
});

/** Operators' actions on any server. */
export const operatorServerOperations = (needs: Needs): readonly Served[] => [
  serve(SetDiskQuota, async ({ principal, params, body: { quotaMb, reason } }) => {
    const now = await known(needs, params.id);
    const detail = `${quotaMb} MB: ${reason}`;
    await needs.disk.setOverride(params.id, quotaMb, record(needs, principal, now, 'server.setDiskQuota', detail));
    return shown(needs, params.id);
  }),
  serve(SuspendServer, async ({ principal, params: { id }, body: { reason } }) => {
    const now = await known(needs, id);
    const at = needs.clock.now();
    const row = { serverId: id, reason, userId: principal.userId, at };
    await needs.suspensions.set(row, record(needs, principal, now, 'server.suspend', reason));
    await needs.sftp.cut(id);
    const awake = await known(needs, id);
    if (!reserves(awake) && !waitsForRoom(awake)) return shown(needs, id);
    // Sent before the game saves and stops; not awaited.
    if (awake.state === 'running')
      void warnPlayers([awake], 'This server is suspended. It saves and stops now.', needs);
    const cause = { kind: 'operator', id: operatorOf(principal), note: `suspended: ${reason}` } as const;
    return needs.serverView(await needs.servers.send(id, { type: 'STOP', at, cause }));
  }),
  serve(UnsuspendServer, async ({ principal, params, body: { reason } }) => {
    const now = await known(needs, params.id);
    await needs.suspensions.lift(params.id, record(needs, principal, now, 'server.unsuspend', reason));
    return shown(needs, params.id);
  }),
];

async function known({ servers }: Needs, id: string): Promise<ServerNow> {
  const now = await servers.get(id);
  if (now === undefined) throw serverNotFound(id);
  return now;
}

async function shown(needs: Needs, id: string): Promise<z.input<typeof Server>> {
  return needs.serverView(await known(needs, id));
}

function record(needs: Needs, principal: Principal, { row }: ServerNow, action: string, detail: string) {
  const entry = { action, accountId: row.accountId, serverId: row.id, detail, at: needs.clock.now() };
  return (tx: Tx) => recordAudit(tx, auditActorOf(principal), entry);
}

/** Returns the operator's id for the cause of a transition: the key's or the user's. */
function operatorOf(principal: Principal): string {
  return principal.kind === 'session' ? principal.userId : credentialId(principal);
}

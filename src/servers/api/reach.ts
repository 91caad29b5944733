import type { Principal } from '../../http/principal.ts';
import { type Role, isAtLeast } from '../../http/roles.ts';
import { StatusError } from '../../kernel/status.ts';
import { auditActorOf, recordAudit } from '../../audit/audit.ts';
import { roleOn } from '../../access/members.ts';
import { serverNotFound } from '../../access/owned-servers.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { ServerNow } from '../server-now.ts';
import type { Servers } from '../servers.ts';

/**
 * Returns a server and the caller's role on it. Throws NOT_FOUND if the caller has no role, exactly as if the server
 * did not exist, so that ids cannot be probed; PERMISSION_DENIED ROLE_TOO_LOW if the role is below `least`.
 */
export async function reachServer(
  { servers, store }: { servers: Servers; store: Store },
  principal: Principal,
  id: string,
  least: Role,
): Promise<{ server: ServerNow; role: Role }> {
  const server = await servers.get(id);
  const role = server && (await roleOn(store, principal, server.row));
  if (!server || !role) throw serverNotFound(id);
  requireRole(role, least);
  return { server, role };
}

/** Throws PERMISSION_DENIED ROLE_TOO_LOW if `role` is below `least`. */
export function requireRole(role: Role, least: Role): void {
  if (isAtLeast(role, least)) return;
  throw new StatusError('PERMISSION_DENIED', 'ROLE_TOO_LOW', `This needs the role ${least}. Your role is ${role}.`, {
    metadata: { role, least },
  });
}

/** Adds an audit entry for the caller's change of a server; call it in the write of that change. */
export function recordOnServer(
  principal: Principal,
  { id: serverId, accountId }: { id: string; accountId: string },
  entry: { action: string; detail?: string; at: number },
): (tx: Tx) => Promise<void> {
  return (tx) => recordAudit(tx, auditActorOf(principal), { accountId, serverId, ...entry });
}

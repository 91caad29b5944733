import { serverPorts } from './server-ports-table.ts';
import type { ServerPortRow } from './server-ports-table.ts';
import type { Sql, Tx } from './writer.ts';

/** Rejects where the host port, the slot, or the port of the game is taken. */
export async function insertServerPort(tx: Tx, row: ServerPortRow): Promise<void> {
  await tx.manager.insert(serverPorts, row);
}

/** All of them, each server's by slot. */
export async function listServerPorts(db: Sql): Promise<ServerPortRow[]> {
  return db.query<ServerPortRow>('SELECT * FROM "server_ports" ORDER BY "serverId", "slot"');
}

export async function deleteServerPort(tx: Tx, hostPort: number): Promise<void> {
  await tx.run('DELETE FROM "server_ports" WHERE "hostPort" = $1', [hostPort]);
}

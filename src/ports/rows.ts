import { EntitySchema } from 'typeorm';
import { boolean } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** A published port of a game. */
export interface ServerPortRow {
  /** The port on this machine. It has at most one row, for either protocol. */
  hostPort: number;
  serverId: string;
  /** The lowest number free among a server's ports. */
  slot: number;
  /** The port inside the container. */
  containerPort: number;
  proto: 'tcp' | 'udp';
  label: string;
  /** Whether Bedrock players can wake the server at this port. */
  wakes: boolean;
  /** The Bedrock version that the game last reported; 0 and '' before that. */
  bedrockProtocol: number;
  bedrockVersion: string;
}

export const serverPorts = new EntitySchema<ServerPortRow>({
  name: 'server_ports',
  columns: {
    hostPort: { type: 'integer', primary: true },
    serverId: { type: 'text' },
    slot: { type: 'integer' },
    containerPort: { type: 'integer' },
    proto: { type: 'text' },
    label: { type: 'text' },
    wakes: boolean,
    bedrockProtocol: { type: 'integer' },
    bedrockVersion: { type: 'text' },
  },
  uniques: [{ columns: ['serverId', 'slot'] }, { columns: ['serverId', 'containerPort', 'proto'] }],
  foreignKeys: [{ target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' }],
});

/** Inserts a port. Rejects if the host port, the slot, or the game's port is taken. */
export async function insertServerPort(tx: Tx, row: ServerPortRow): Promise<void> {
  await tx.manager.insert(serverPorts, row);
}

/** Returns all ports, each server's by slot. */
export async function listServerPorts(db: Sql): Promise<ServerPortRow[]> {
  type Stored = Omit<ServerPortRow, 'wakes'> & { wakes: number | boolean };
  const rows = await db.query<Stored>('SELECT * FROM "server_ports" ORDER BY "serverId", "slot"');
  // SQLite has no booleans.
  return rows.map((row) => Object.assign(row, { wakes: Boolean(row.wakes) }));
}

/** Stores the Bedrock version of the game at a port. */
export async function setBedrockVersion(tx: Tx, row: ServerPortRow): Promise<void> {
  const { hostPort, bedrockProtocol, bedrockVersion } = row;
  await tx.manager.update(serverPorts, { hostPort }, { bedrockProtocol, bedrockVersion });
}

export async function deleteServerPort(tx: Tx, hostPort: number): Promise<void> {
  await tx.run('DELETE FROM "server_ports" WHERE "hostPort" = $1', [hostPort]);
}

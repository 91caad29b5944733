import { EntitySchema } from 'typeorm';

/** A port of a game that this machine gives to the outside. */
export interface ServerPortRow {
  /** On this machine; one row each, whatever the protocol. */
  hostPort: number;
  serverId: string;
  /** Counts a server's ports; the lowest free number. */
  slot: number;
  /** Where the game listens. */
  containerPort: number;
  proto: 'tcp' | 'udp';
  label: string;
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
  },
  uniques: [{ columns: ['serverId', 'slot'] }, { columns: ['serverId', 'containerPort', 'proto'] }],
  foreignKeys: [{ target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' }],
});

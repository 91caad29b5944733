import { EntitySchema } from 'typeorm';
import type { EntitySchemaColumnOptions } from 'typeorm';
import { exact } from './exact.ts';

/** What a server's files take, as last measured, and what an operator has granted it. */
export interface ServerDiskRow {
  serverId: string;
  /** 0: none. */
  quotaOverrideMb: number;
  /** Allocated, when last measured; null: never measured. */
  realBytes: number | null;
  /** The same by the lengths of the files. */
  logicalBytes: number | null;
  measuredAt: number | null;
}

const bigint: EntitySchemaColumnOptions = {
  type: 'bigint',
  transformer: { to: exact, from: <T>(value: T): T => value },
};

export const serverDisks = new EntitySchema<ServerDiskRow>({
  name: 'server_disks',
  columns: {
    serverId: { type: 'text', primary: true },
    quotaOverrideMb: bigint,
    realBytes: { ...bigint, nullable: true },
    logicalBytes: { ...bigint, nullable: true },
    measuredAt: { ...bigint, nullable: true },
  },
  foreignKeys: [{ target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' }],
});

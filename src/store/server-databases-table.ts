import { EntitySchema } from 'typeorm';

/** A database on the database server, or one that is on its way in or out. What it says is a wish; `settled` says whether it is so. */
export interface ServerDatabaseRow {
  /** Of the database and of its user; never used twice. */
  name: string;
  /** Null: it is nobody's any more and is to be removed. */
  serverId: string | null;
  /** Counts passwords: each is derived from its number, none is stored. */
  generation: number;
  /** The database server has been seen to agree with this row. */
  settled: boolean;
  createdAt: number;
}

// No foreign key: the row outlives its server until the database is really gone.
export const serverDatabases = new EntitySchema<ServerDatabaseRow>({
  name: 'server_databases',
  columns: {
    name: { type: 'text', primary: true },
    serverId: { type: 'text', nullable: true },
    generation: { type: 'integer' },
    settled: { type: 'boolean' },
    createdAt: { type: 'bigint' },
  },
  uniques: [{ columns: ['serverId'] }],
});

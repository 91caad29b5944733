import { EntitySchema, type EntitySchemaColumnOptions } from 'typeorm';
import { text } from '../store/columns.ts';
import { exact } from '../store/exact.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** A mod or plugin of a server. The server's folder follows these rows. */
export interface ServerModRow {
  serverId: string;
  /** `modrinth` or `curseforge`. */
  source: string;
  /** The registry's own id. */
  projectId: string;
  slug: string;
  /** Display name. */
  name: string;
  /** The requested version: '' = the newest that fits, a channel, or one version's id or number. */
  versionSpec: string;
  /** Whether it was requested; the others are dependencies of those. */
  wished: boolean;
  /** The chosen version. */
  versionId: string;
  versionNumber: string;
  /** `mods/fabric-api-0.116.jar`, relative to the data root. */
  path: string;
  /** JSON: download URLs of the file. */
  urls: string;
  sizeBytes: number;
  /** In hex; one of the two may be ''. */
  sha512: string;
  sha1: string;
  /** JSON: this version's dependencies, as `{ projectId, versionId }`. */
  requires: string;
}

const key: EntitySchemaColumnOptions = { type: 'text', primary: true };

export const serverMods = new EntitySchema<ServerModRow>({
  name: 'server_mods',
  columns: {
    serverId: key,
    source: key,
    projectId: key,
    slug: text,
    name: text,
    versionSpec: text,
    wished: { type: 'boolean' },
    versionId: text,
    versionNumber: text,
    path: text,
    urls: text,
    sizeBytes: { type: 'bigint', transformer: { to: exact, from: <T>(value: T): T => value } },
    sha512: text,
    sha1: text,
    requires: text,
  },
  foreignKeys: [{ target: 'servers', columnNames: ['serverId'], referencedColumnNames: ['id'], onDelete: 'CASCADE' }],
});

/** Returns a server's mods, requested ones first, by name. */
export async function listMods(db: Sql, serverId: string): Promise<ServerModRow[]> {
  const sql = 'SELECT * FROM "server_mods" WHERE "serverId" = $1 ORDER BY "wished" DESC, "name", "projectId"';
  return (await db.query<Stored>(sql, [serverId])).map(asRow);
}

/** Replaces a server's mods. */
export async function replaceMods(tx: Tx, serverId: string, rows: readonly ServerModRow[]): Promise<void> {
  await tx.run('DELETE FROM "server_mods" WHERE "serverId" = $1', [serverId]);
  for (const row of rows) await tx.manager.insert(serverMods, row);
}

/** SQLite returns booleans as 0 and 1. */
type Stored = Omit<ServerModRow, 'wished'> & { wished: boolean | number };

function asRow(stored: Stored): ServerModRow {
  return { ...stored, wished: Boolean(stored.wished) };
}

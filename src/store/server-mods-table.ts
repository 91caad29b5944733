import { EntitySchema } from 'typeorm';
import type { EntitySchemaColumnOptions } from 'typeorm';
import { exact } from './exact.ts';

/** A mod or plugin that a server is to have. What lies in its folder follows from these rows. */
export interface ServerModRow {
  serverId: string;
  /** `modrinth` or `curseforge`. */
  source: string;
  /** The registry's own id. */
  projectId: string;
  slug: string;
  /** For people. */
  name: string;
  /** What was asked for: '' = the newest that fits, a channel, or one version's id or number. */
  versionSpec: string;
  /** Asked for by somebody; the others are there because these need them. */
  wished: boolean;
  /** What was chosen for it. */
  versionId: string;
  versionNumber: string;
  /** `mods/fabric-api-0.116.jar`, relative to the data root. */
  path: string;
  /** JSON: where the file can be had. */
  urls: string;
  sizeBytes: number;
  /** In hex; one of both may be ''. */
  sha512: string;
  sha1: string;
  /** JSON: what this version needs, as `{ projectId, versionId }`. */
  requires: string;
}

const text: EntitySchemaColumnOptions = { type: 'text' };
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

import { EntitySchema } from 'typeorm';
import { text, transformer } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** A server's setup, stored under a name to create others like it. */
export interface TemplateRow {
  id: string;
  accountId: string;
  name: string;
  description: string;
  motd: string;
  plan: string;
  serverType: string;
  version: string;
  ramMb: number;
  properties: Record<string, string>;
  modpackPlatform: string;
  modpackRef: string;
  modpackVersion: string;
  createdAt: number;
}

export const templates = new EntitySchema<TemplateRow>({
  name: 'templates',
  columns: {
    id: { type: 'text', primary: true },
    accountId: text,
    name: text,
    description: text,
    motd: text,
    plan: text,
    serverType: text,
    version: text,
    ramMb: { type: 'integer', transformer },
    properties: { type: 'simple-json' },
    modpackPlatform: text,
    modpackRef: text,
    modpackVersion: text,
    createdAt: { type: 'bigint', transformer },
  },
  indices: [{ columns: ['accountId'] }],
  foreignKeys: [{ target: 'accounts', columnNames: ['accountId'], referencedColumnNames: ['id'] }],
});

export async function insertTemplate(tx: Tx, row: TemplateRow): Promise<void> {
  await tx.manager.insert(templates, row);
}

/** Returns a template of this account; undefined for those of others. */
export async function getTemplate(db: Sql, accountId: string, id: string): Promise<TemplateRow | undefined> {
  const sql = 'SELECT * FROM "templates" WHERE "accountId" = $1 AND "id" = $2';
  return (await db.query<Stored>(sql, [accountId, id])).map(asRow)[0];
}

/** Returns an account's templates, oldest first. */
export async function listTemplates(db: Sql, accountId: string): Promise<TemplateRow[]> {
  const sql = 'SELECT * FROM "templates" WHERE "accountId" = $1 ORDER BY "createdAt", "id"';
  return (await db.query<Stored>(sql, [accountId])).map(asRow);
}

/** Returns false if the account has no such template. */
export async function deleteTemplate(tx: Tx, accountId: string, id: string): Promise<boolean> {
  return (await tx.run('DELETE FROM "templates" WHERE "accountId" = $1 AND "id" = $2', [accountId, id])) === 1;
}

type Stored = Omit<TemplateRow, 'properties'> & { properties: string };

function asRow(stored: Stored): TemplateRow {
  return { ...stored, properties: JSON.parse(stored.properties) as Record<string, string> };
}

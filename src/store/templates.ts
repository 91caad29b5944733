import { templates } from './templates-table.ts';
import type { TemplateRow } from './templates-table.ts';
import type { Sql, Tx } from './writer.ts';

export async function insertTemplate(tx: Tx, row: TemplateRow): Promise<void> {
  await tx.manager.insert(templates, row);
}

/** Only among the account's own. */
export async function getTemplate(db: Sql, accountId: string, id: string): Promise<TemplateRow | undefined> {
  const sql = 'SELECT * FROM "templates" WHERE "accountId" = $1 AND "id" = $2';
  return (await db.query<Stored>(sql, [accountId, id])).map(asRow)[0];
}

/** An account's own, oldest first. */
export async function listTemplates(db: Sql, accountId: string): Promise<TemplateRow[]> {
  const sql = 'SELECT * FROM "templates" WHERE "accountId" = $1 ORDER BY "createdAt", "id"';
  return (await db.query<Stored>(sql, [accountId])).map(asRow);
}

/** False where the account has no such template. */
export async function deleteTemplate(tx: Tx, accountId: string, id: string): Promise<boolean> {
  return (await tx.run('DELETE FROM "templates" WHERE "accountId" = $1 AND "id" = $2', [accountId, id])) === 1;
}

type Stored = Omit<TemplateRow, 'properties'> & { properties: string };

function asRow(stored: Stored): TemplateRow {
  return { ...stored, properties: JSON.parse(stored.properties) as Record<string, string> };
}

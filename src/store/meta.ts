import { EntitySchema } from 'typeorm';
import { id, text } from './columns.ts';
import type { Sql, Tx } from './writer.ts';

/** One fact about the installation itself. */
export interface MetaRow {
  key: string;
  value: string;
}

export const meta = new EntitySchema<MetaRow>({ name: 'meta', columns: { key: id, value: text } });

/** Returns a fact about the installation; undefined if it was never set. */
export async function getMeta(db: Sql, key: string): Promise<string | undefined> {
  const [row] = await db.query<{ value: string }>('SELECT "value" FROM "meta" WHERE "key" = $1', [key]);
  return row?.value;
}

export async function setMeta(tx: Tx, key: string, value: string): Promise<void> {
  await tx.run(
    'INSERT INTO "meta" ("key", "value") VALUES ($1, $2) ON CONFLICT ("key") DO UPDATE SET "value" = excluded."value"',
    [key, value],
  );
}

export async function deleteMeta(tx: Tx, key: string): Promise<void> {
  await tx.run('DELETE FROM "meta" WHERE "key" = $1', [key]);
}

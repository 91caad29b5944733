import { EntitySchema } from 'typeorm';
import { bigint, id, json, maybeAt, text } from '../../store/columns.ts';
import type { Sql, Tx } from '../../store/writer.ts';

/** A third-party app that an operator has registered. */
export interface ClientRow {
  /** The `client_id`. No secret. */
  id: string;
  name: string;
  homepage: string;
  scopes: string[];
  createdAt: number;
  disabledAt: number | null;
}

export const clients = new EntitySchema<ClientRow>({
  name: 'clients',
  columns: { id, name: text, homepage: text, scopes: json, createdAt: bigint, disabledAt: maybeAt },
});

export async function insertClient(tx: Tx, row: ClientRow): Promise<void> {
  await tx.manager.insert(clients, row);
}

/** Disabled ones too: the caller looks at the row. */
export async function getClient(db: Sql, id: string): Promise<ClientRow | undefined> {
  return (await db.query<StoredClient>('SELECT * FROM "clients" WHERE "id" = $1', [id])).map(clientRow)[0];
}

/** Oldest first, disabled ones too. */
export async function listClients(db: Sql): Promise<ClientRow[]> {
  return (await db.query<StoredClient>('SELECT * FROM "clients" ORDER BY "createdAt", "id"')).map(clientRow);
}

/** Null enables. Use `disableClient` and `enableClient` of `clients.ts`. */
export async function setClientDisabledAt(tx: Tx, id: string, disabledAt: number | null): Promise<void> {
  await tx.run('UPDATE "clients" SET "disabledAt" = $1 WHERE "id" = $2', [disabledAt, id]);
}

/** A row as raw SQL gives it: JSON is still text. */
type StoredClient = Omit<ClientRow, 'scopes'> & { scopes: string };

function clientRow(row: StoredClient): ClientRow {
  return { ...row, scopes: JSON.parse(row.scopes) as string[] };
}

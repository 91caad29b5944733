import { EntitySchema } from 'typeorm';
import { bigint, id, json, maybeAt, text } from '../../store/columns.ts';
import type { Sql, Tx } from '../../store/writer.ts';

/** A registered third-party app. */
export interface ClientRow {
  /** The `client_id`, which is not secret. */
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

/** Returns an app, even if disabled: the caller checks the row. */
export async function getClient(db: Sql, id: string): Promise<ClientRow | undefined> {
  return (await db.query<StoredClient>('SELECT * FROM "clients" WHERE "id" = $1', [id])).map(clientRow)[0];
}

/** Returns all apps, oldest first, including disabled ones. */
export async function listClients(db: Sql): Promise<ClientRow[]> {
  return (await db.query<StoredClient>('SELECT * FROM "clients" ORDER BY "createdAt", "id"')).map(clientRow);
}

/** Null enables the app. Use `disableClient` and `enableClient` of `clients.ts`. */
export async function setClientDisabledAt(tx: Tx, id: string, disabledAt: number | null): Promise<void> {
  await tx.run('UPDATE "clients" SET "disabledAt" = $1 WHERE "id" = $2', [disabledAt, id]);
}

/** A row as returned by raw SQL, with JSON still as text. */
type StoredClient = Omit<ClientRow, 'scopes'> & { scopes: string };

function clientRow(row: StoredClient): ClientRow {
  return { ...row, scopes: JSON.parse(row.scopes) as string[] };
}

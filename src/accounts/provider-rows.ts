import { EntitySchema } from 'typeorm';
import { bigint, boolean, id, ofUser, text } from '../store/columns.ts';
import type { Sql, Tx } from '../store/writer.ts';

/** A user's account at a sign-in provider. A user has at most one at each provider. */
export interface ProviderLinkRow {
  issuer: string;
  /** The account's id at the provider, which never changes. */
  subject: string;
  userId: string;
  /** The confirmed address there when the accounts were linked. */
  email: string;
  /** Whether the user is an operator because of a group at the provider. */
  operator: boolean;
  createdAt: number;
}

export const providerLinks = new EntitySchema<ProviderLinkRow>({
  name: 'provider_links',
  columns: { issuer: id, subject: id, userId: text, email: text, operator: boolean, createdAt: bigint },
  uniques: [{ columns: ['userId', 'issuer'] }],
  foreignKeys: [ofUser],
});

type StoredLink = Omit<ProviderLinkRow, 'operator'> & { operator: number | boolean };

export async function insertProviderLink(tx: Tx, row: ProviderLinkRow): Promise<void> {
  await tx.manager.insert(providerLinks, row);
}

export async function findProviderLink(db: Sql, issuer: string, subject: string): Promise<ProviderLinkRow | undefined> {
  const sql = 'SELECT * FROM "provider_links" WHERE "issuer" = $1 AND "subject" = $2';
  return (await db.query<StoredLink>(sql, [issuer, subject])).map(linkRow)[0];
}

/** Returns a user's account at the provider; undefined without one. */
export async function providerLinkOf(db: Sql, issuer: string, userId: string): Promise<ProviderLinkRow | undefined> {
  const sql = 'SELECT * FROM "provider_links" WHERE "issuer" = $1 AND "userId" = $2';
  return (await db.query<StoredLink>(sql, [issuer, userId])).map(linkRow)[0];
}

export async function setLinkOperator(tx: Tx, { issuer, subject }: ProviderLinkRow, operator: boolean): Promise<void> {
  await tx.manager.update(providerLinks, { issuer, subject }, { operator });
}

export async function deleteProviderLink(tx: Tx, { issuer, subject }: ProviderLinkRow): Promise<void> {
  await tx.manager.delete(providerLinks, { issuer, subject });
}

/** SQLite has no booleans. */
function linkRow(row: StoredLink): ProviderLinkRow {
  return { ...row, operator: Boolean(row.operator) };
}

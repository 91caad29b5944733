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

export async function insertProviderLink(tx: Tx, row: ProviderLinkRow): Promise<void> {
  await tx.manager.insert(providerLinks, row);
}

/** Returns the link of an account at the provider, or of a user; undefined without one. */
export async function findProviderLink(
  db: Sql,
  issuer: string,
  of: 'subject' | 'userId',
  id: string,
): Promise<ProviderLinkRow | undefined> {
  const sql = `SELECT * FROM "provider_links" WHERE "issuer" = $1 AND "${of}" = $2`;
  // SQLite has no booleans.
  const [row] = await db.query<Omit<ProviderLinkRow, 'operator'> & { operator: number | boolean }>(sql, [issuer, id]);
  return row && { ...row, operator: Boolean(row.operator) };
}

export async function setLinkOperator(tx: Tx, { issuer, subject }: ProviderLinkRow, operator: boolean): Promise<void> {
  await tx.manager.update(providerLinks, { issuer, subject }, { operator });
}

/** Makes a user's operator rights independent of groups at providers. */
export async function detachFromGroup(tx: Tx, userId: string): Promise<void> {
  await tx.manager.update(providerLinks, { userId }, { operator: false });
}

export async function deleteProviderLink(tx: Tx, { issuer, subject }: ProviderLinkRow): Promise<void> {
  await tx.manager.delete(providerLinks, { issuer, subject });
}

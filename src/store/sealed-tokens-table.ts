import { EntitySchema } from 'typeorm';
import type { EntitySchemaColumnOptions } from 'typeorm';
import { exact } from './exact.ts';

/** The token of a grant that was redeemed within the last minute and whose answer may be lost. */
export interface SealedTokenRow {
  grantId: string;
  /** Encrypted under a key that only the device code yields, which is stored nowhere. */
  sealed: string;
  /** When the grant was redeemed. */
  at: number;
}

const text: EntitySchemaColumnOptions = { type: 'text' };

export const sealedTokens = new EntitySchema<SealedTokenRow>({
  name: 'sealed_tokens',
  columns: {
    grantId: { ...text, primary: true },
    sealed: text,
    at: { type: 'bigint', transformer: { to: exact, from: <T>(value: T): T => value } },
  },
});

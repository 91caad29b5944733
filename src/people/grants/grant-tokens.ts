import { FULL_SCOPES } from '../../http/scopes.ts';
import type { Tx } from '../../store/store.ts';
import { mintAppToken } from '../apps/app-tokens.ts';
import { insertAppToken } from '../apps/token-rows.ts';
import { recordAudit } from '../audit/audit.ts';
import { mintKey } from '../keys/keys.ts';
import { insertKey } from '../keys/rows.ts';
import { getUser } from '../rows.ts';

/** The result of an approved device grant: an app's token, or an API key for the command-line client. */
export interface GrantedToken {
  kind: 'app' | 'key';
  /** Not stored, except encrypted for the minute in which its answer may turn out to be lost (`issued-tokens.ts`). */
  token: string;
  /** Scopes separated by blanks (RFC 6749 §3.3). */
  scope: string;
}

/** An approved grant when it is redeemed. */
export interface Redemption {
  /** Null: the command-line client. */
  clientId: string | null;
  scope: string;
  /** The user who approved. */
  userId: string;
  /** The device's own name, used as the key's name. */
  userAgent: string;
  at: number;
}

const KEY_NAME_CHARS = 64;

/** Creates the token of a grant in the write that redeems it. */
export async function redeem(tx: Tx, { clientId, scope, userId, userAgent, at }: Redemption): Promise<GrantedToken> {
  const user = await getUser(tx, userId);
  if (!user) throw new Error('the user who approved the grant no longer exists');
  const { accountId } = user;
  if (clientId === null) {
    const name = (userAgent || 'command line').slice(0, KEY_NAME_CHARS).toWellFormed();
    const { key, row } = mintKey({ name, userId, accountId, scopes: FULL_SCOPES, createdAt: at, expiresAt: null });
    await insertKey(tx, row);
    await recordAudit(tx, { userId, through: 'device grant' }, { action: 'key.mint', accountId, detail: row.id, at });
    return { kind: 'key', token: key, scope: FULL_SCOPES.join(' ') };
  }
  const { token, row } = mintAppToken({ clientId, userId, scope, createdAt: at });
  await insertAppToken(tx, row);
  const entry = { action: 'app.connect', accountId, detail: `${row.id} for ${scope}`, at };
  await recordAudit(tx, { userId, through: `app ${clientId}` }, entry);
  return { kind: 'app', token, scope };
}

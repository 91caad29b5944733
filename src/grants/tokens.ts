import { ASK_AGAIN_MS } from '../../machines/device-grant.ts';
import { insertKey } from '../access/key-rows.ts';
import { mintKey } from '../access/keys.ts';
import { getUser } from '../accounts/rows.ts';
import { openSealedText, sealText } from '../accounts/sealed-text.ts';
import { recordAudit } from '../audit/audit.ts';
import { FULL_SCOPES } from '../http/scopes.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { Sql, Store, Tx } from '../store/store.ts';
import { insertAppToken } from './app-rows.ts';
import { mintAppToken } from './app-tokens.ts';
import { type GrantRow, deleteOldSealedTokens, deleteSealedToken, getSealedToken, insertSealedToken } from './rows.ts';

/** The result of an approved device grant: an app's token, or an API key for the command-line client. */
export interface GrantedToken {
  kind: 'app' | 'key';
  /** Not stored, except encrypted for the minute in which its answer may turn out to be lost. */
  token: string;
  /** Scopes separated by blanks (RFC 6749 §3.3). */
  scope: string;
}

const PURPOSE = 'token of a device grant';

/**
 * Tracks which tokens of device grants were received. Each token is stored from the write that creates it until its
 * answer is received, for a minute at most. It is encrypted under a key derived from its device code. The database has
 * only the hash of that code.
 */
export class IssuedTokens {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  /**
   * This process's answers of the last minute by grant, oldest first. It is empty after a restart, so unfinished
   * answers count as lost.
   */
  readonly #begun = new Map<string, { answer: symbol; at: number }>();

  constructor(store: Store, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Returns the token of a redeemed grant if it was not received and is not being sent by this process. */
  async lost(db: Sql, { id, state }: GrantRow, deviceCode: string): Promise<GrantedToken | undefined> {
    if (state !== 'redeemed' || this.#begun.has(id)) return undefined;
    const kept = await getSealedToken(db, id);
    const text = kept && openSealedText(deviceCode, PURPOSE, kept.sealed);
    return text === undefined ? undefined : (JSON.parse(text) as GrantedToken);
  }

  /** Stores a new token, encrypted, in the write that creates it. */
  async keep(tx: Tx, grantId: string, deviceCode: string, token: GrantedToken, at: number): Promise<void> {
    const sealed = sealText(deviceCode, PURPOSE, JSON.stringify(token));
    await insertSealedToken(tx, { grantId, sealed, at });
  }

  /** Marks an answer as the one being sent. */
  begin(grantId: string, answer: symbol): void {
    const at = this.#clock.now();
    this.#begun.delete(grantId);
    for (const [id, old] of this.#begun) {
      if (Math.abs(at - old.at) < ASK_AGAIN_MS) break;
      this.#begun.delete(id);
    }
    this.#begun.set(grantId, { answer, at });
  }

  /** Ends an answer: deletes a received token, or allows another request for a lost one. */
  async end(grantId: string, answer: symbol, received: boolean): Promise<void> {
    // It may never have begun. Another answer may have replaced it, which was then never stored.
    if (this.#begun.get(grantId)?.answer !== answer) return;
    if (received) {
      await this.#store.write((tx) => deleteSealedToken(tx, grantId)).catch(() => this.sweepLater());
      return;
    }
    this.#begun.delete(grantId);
    this.sweepLater();
  }

  /** Within a minute, removes tokens that can no longer be requested. */
  sweepLater(): void {
    this.#clock.at(this.#clock.now() + ASK_AGAIN_MS, () => {
      const now = this.#clock.now();
      this.#store
        .write((tx) => deleteOldSealedTokens(tx, now - ASK_AGAIN_MS, now))
        .catch((error: unknown) => this.#log.warn({ err: error }, 'could not delete tokens that were not received'));
    });
  }
}

const KEY_NAME_CHARS = 64;

/**
 * Creates the token of an approved grant in the write that redeems it: a key for the command-line client (`clientId` is
 * null), named after the device's `userAgent`. `userId` is the user who approved.
 */
export async function redeem(
  tx: Tx,
  {
    clientId,
    scope,
    userId,
    userAgent,
    at,
  }: { clientId: string | null; scope: string; userId: string; userAgent: string; at: number },
): Promise<GrantedToken> {
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

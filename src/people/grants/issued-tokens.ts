import { openSealedText, sealText } from '../sealed-text.ts';
import { ASK_AGAIN_MS } from '../../../machines/device-grant.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/log.ts';
import type { Sql, Store, Tx } from '../../store/store.ts';
import type { GrantedToken } from './grant-tokens.ts';
import type { GrantRow } from './rows.ts';
import { deleteOldSealedTokens, deleteSealedToken, getSealedToken, insertSealedToken } from './token-rows.ts';

/** One answer with a token, from its write until it is received or lost. */
export interface IssuedToken {
  /** Returns the token of a redeemed grant if it was not received and is not being sent by this process. */
  lost(db: Sql, row: Pick<GrantRow, 'id' | 'state'>): Promise<GrantedToken | undefined>;
  /** Stores a new token, encrypted, in the write that creates it. */
  keep(tx: Tx, grantId: string, token: GrantedToken, at: number): Promise<void>;
  /** Marks this answer as the one being sent. */
  begin(grantId: string): void;
  /** Ends the answer: deletes a received token, or allows another request for a lost one. */
  end(received: boolean): Promise<void>;
}

/** Tracks answers that carry tokens of device grants. */
export interface IssuedTokens {
  /** Returns the token issued to one poll. */
  of(deviceCode: string): IssuedToken;
  /** Within a minute, removes tokens that can no longer be requested. */
  sweepLater(): void;
}

const PURPOSE = 'token of a device grant';

/**
 * Tracks which tokens of device grants were received. Each token is stored from the write that creates it until its
 * answer is received, for a minute at most. It is encrypted under a key derived from its device code. The database has
 * only the hash of that code.
 */
export function createIssuedTokens({ store, clock, log }: { store: Store; clock: Clock; log: Log }): IssuedTokens {
  /**
   * This process's answers of the last minute by grant, oldest first. It is empty after a restart, so unfinished
   * answers count as lost.
   */
  const begun = new Map<string, { issued: IssuedToken; at: number }>();

  function note(grantId: string, issued: IssuedToken): void {
    const at = clock.now();
    begun.delete(grantId);
    for (const [id, old] of begun) {
      if (Math.abs(at - old.at) < ASK_AGAIN_MS) break;
      begun.delete(id);
    }
    begun.set(grantId, { issued, at });
  }

  function sweepLater(): void {
    clock.at(clock.now() + ASK_AGAIN_MS, () => {
      const now = clock.now();
      store
        .write((tx) => deleteOldSealedTokens(tx, now - ASK_AGAIN_MS, now))
        .catch((error: unknown) => log.warn({ err: error }, 'could not delete tokens that were not received'));
    });
  }

  function of(deviceCode: string): IssuedToken {
    let grantId: string | undefined;
    const issued: IssuedToken = {
      async lost(db, { id, state }) {
        if (state !== 'redeemed' || begun.has(id)) return undefined;
        const kept = await getSealedToken(db, id);
        const text = kept && openSealedText(deviceCode, PURPOSE, kept.sealed);
        return text === undefined ? undefined : (JSON.parse(text) as GrantedToken);
      },
      async keep(tx, id, token, at) {
        const sealed = sealText(deviceCode, PURPOSE, JSON.stringify(token));
        await insertSealedToken(tx, { grantId: id, sealed, at });
      },
      begin(id) {
        grantId = id;
        note(id, issued);
      },
      async end(received) {
        const id = grantId;
        // Another answer may have replaced this one, which was then never stored.
        if (id === undefined || begun.get(id)?.issued !== issued) return;
        if (!received) {
          begun.delete(id);
          sweepLater();
          return;
        }
        await store.write((tx) => deleteSealedToken(tx, id)).catch(sweepLater);
      },
    };
    return issued;
  }

  return { of, sweepLater };
}

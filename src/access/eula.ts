/**
 * Mojang's software runs only if a person has accepted Mojang's EULA: for all servers of an account, or by a setting
 * for the whole installation. Never accepts it on anyone's behalf.
 */
import { EntitySchema } from 'typeorm';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { EULA_URL, needsEula } from '../game/eula.ts';
import type { Principal } from '../http/principal.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError, preconditionFailure } from '../kernel/status.ts';
import { bigint, id, ofAccount, ofUser, text } from '../store/columns.ts';
import type { Store } from '../store/store.ts';
import type { Sql } from '../store/writer.ts';

/** The columns that decide whether a server needs the EULA. */
interface Licensed {
  accountId: string;
  type: string;
}

/** Acceptances of Mojang's EULA. */
export class Eula {
  /** The operator has accepted it for every server of the installation. */
  readonly byOperator: boolean;
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(store: Store, clock: Clock, setting: 'ask' | 'accept') {
    this.#store = store;
    this.#clock = clock;
    this.byOperator = setting === 'accept';
  }

  /** Returns the account's acceptance; undefined without one. */
  of(accountId: string): Promise<EulaAcceptanceRow | undefined> {
    return getEulaAcceptance(this.#store, accountId);
  }

  /** Whether the server needs the EULA and it is accepted. */
  async isAccepted({ accountId, type }: Licensed): Promise<boolean> {
    return needsEula(type) && (this.byOperator || (await this.of(accountId)) !== undefined);
  }

  /** Throws FAILED_PRECONDITION EULA_NOT_ACCEPTED for a server that needs an acceptance and has none. */
  async require(server: Licensed): Promise<void> {
    if (needsEula(server.type) && !(await this.isAccepted(server))) throw notAccepted(server);
  }

  /** Accepts the EULA for the caller's account. The first acceptance stays. */
  async accept(principal: Principal): Promise<EulaAcceptanceRow> {
    const { accountId, userId } = principal;
    const acceptedAt = this.#clock.now();
    return this.#store.write(async (tx) => {
      const before = await getEulaAcceptance(tx, accountId);
      if (before) return before;
      const row = { accountId, userId, url: EULA_URL, acceptedAt };
      await tx.manager.insert(eulaAcceptances, row);
      const entry = { action: 'account.acceptEula', accountId, detail: EULA_URL, at: acceptedAt };
      await recordAudit(tx, auditActorOf(principal), entry);
      return row;
    });
  }
}

function notAccepted({ accountId, type }: Licensed): StatusError {
  const message =
    `Minecraft's licence (EULA, ${EULA_URL}) is not accepted for this account yet. Its owner can accept it once for ` +
    `all servers, on the server's page or with POST /v1/accounts/${accountId}/eula.`;
  return new StatusError('FAILED_PRECONDITION', 'EULA_NOT_ACCEPTED', message, {
    metadata: { accountId, type, eula: EULA_URL },
    details: [preconditionFailure('EULA', `account:${accountId}`, message)],
    words: {
      player: "This server's owner must accept the Minecraft EULA before it can start.",
      list: '§7Asleep: §fEULA not accepted yet',
      owner: {
        title: 'Minecraft’s EULA is not accepted yet',
        mend: ['owner', '#eula', 'read it and agree'],
        others: 'ask its owner to accept',
      },
    },
  });
}

/** An account's acceptance of Mojang's EULA. */
export interface EulaAcceptanceRow {
  accountId: string;
  /** The user who accepted. */
  userId: string;
  /** The address of the accepted text. */
  url: string;
  acceptedAt: number;
}

export const eulaAcceptances = new EntitySchema<EulaAcceptanceRow>({
  name: 'eula_acceptances',
  columns: { accountId: id, userId: text, url: text, acceptedAt: bigint },
  foreignKeys: [ofAccount, ofUser],
});

async function getEulaAcceptance(db: Sql, accountId: string): Promise<EulaAcceptanceRow | undefined> {
  const sql = 'SELECT * FROM "eula_acceptances" WHERE "accountId" = $1';
  return (await db.query<EulaAcceptanceRow>(sql, [accountId]))[0];
}

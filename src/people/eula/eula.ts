/**
 * Mojang's software runs only if a person has accepted Mojang's EULA: for all servers of an account, or by a setting
 * for the whole installation. Never accepts it on anyone's behalf.
 */
import { EULA_URL, needsEula } from '../../game/eula.ts';
import type { Principal } from '../../http/principal.ts';
import type { Clock } from '../../kernel/clock.ts';
import { StatusError, preconditionFailure } from '../../kernel/status.ts';
import type { Store } from '../../store/store.ts';
import { auditActorOf, recordAudit } from '../audit/audit.ts';
import { type EulaAcceptanceRow, getEulaAcceptance, insertEulaAcceptance } from './rows.ts';

/** The columns that decide whether a server needs the EULA. */
export interface Licensed {
  accountId: string;
  type: string;
}

export interface Eula {
  /** The operator has accepted it for every server of the installation. */
  readonly byOperator: boolean;
  /** Returns the account's acceptance; undefined without one. */
  of(accountId: string): Promise<EulaAcceptanceRow | undefined>;
  /** Whether the server needs the EULA and it is accepted. */
  isAccepted(server: Licensed): Promise<boolean>;
  /** Throws FAILED_PRECONDITION EULA_NOT_ACCEPTED for a server that needs an acceptance and has none. */
  require(server: Licensed): Promise<void>;
  /** Accepts the EULA for the caller's account. The first acceptance stays. */
  accept(principal: Principal): Promise<EulaAcceptanceRow>;
}

export interface EulaOptions {
  store: Store;
  clock: Clock;
  settings: { minecraftEula: 'ask' | 'accept' };
}

export function createEula({ store, clock, settings }: EulaOptions): Eula {
  const byOperator = settings.minecraftEula === 'accept';
  const of = (accountId: string) => getEulaAcceptance(store, accountId);
  const isAccepted = async ({ accountId, type }: Licensed) =>
    needsEula(type) && (byOperator || (await of(accountId)) !== undefined);
  return {
    byOperator,
    of,
    isAccepted,
    async require(server) {
      if (needsEula(server.type) && !(await isAccepted(server))) throw notAccepted(server);
    },
    async accept(principal) {
      const { accountId, userId } = principal;
      const acceptedAt = clock.now();
      return store.write(async (tx) => {
        const before = await getEulaAcceptance(tx, accountId);
        if (before) return before;
        const row = { accountId, userId, url: EULA_URL, acceptedAt };
        await insertEulaAcceptance(tx, row);
        const entry = { action: 'account.acceptEula', accountId, detail: EULA_URL, at: acceptedAt };
        await recordAudit(tx, auditActorOf(principal), entry);
        return row;
      });
    },
  };
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

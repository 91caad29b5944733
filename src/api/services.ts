import type { ServerNow, Servers } from '../actors/servers.ts';
import type { Principal } from '../access/keys.ts';
import type { Config } from '../config.ts';
import type { Cause } from '../../machines/server.ts';
import type { Catalogue, Clock, Console, Engine } from '../ports.ts';
import { StatusError } from '../status.ts';
import type { UserRow } from '../store/rows.ts';

/** The settings that show in replies or bound requests. */
export type ApiConfig = Pick<
  Config,
  'baseUrl' | 'publicHost' | 'region' | 'nodeLabel' | 'maxRamMb' | 'maxServersPerAccount'
>;

/** What handlers work with. */
export interface Services {
  config: ApiConfig;
  clock: Clock;
  servers: Servers;
  engine: Pick<Engine, 'inspect' | 'logs'>;
  console: Pick<Console, 'run'>;
  catalogue: Catalogue;
  /** The port players connect to; a function, as the proxy may be given any free one. */
  playersPort: () => number;
  findUser: (id: string) => Promise<UserRow | undefined>;
  rconPassword: (serverId: string) => string | Promise<string>;
  /** Runs `work` after all earlier work of the same key has ended, so that a check holds until what it allows is done. */
  inTurn: <T>(key: string, work: () => Promise<T>) => Promise<T>;
}

/** The caller's own server. NOT_FOUND for others' exactly as for none, so that ids cannot be probed. */
export async function ownServer({ servers }: Services, principal: Principal, id: string): Promise<ServerNow> {
  const now = await servers.get(id);
  if (!now || now.row.accountId !== principal.accountId) {
    throw new StatusError('NOT_FOUND', 'SERVER_NOT_FOUND', 'There is no such server.', { metadata: { id } });
  }
  return now;
}

/** Throws ACCOUNT_MISMATCH unless an account named by the caller is its own; '' means its own. */
export function ownAccount(principal: Principal, accountId: string): string {
  if (accountId === '' || accountId === principal.accountId) return principal.accountId;
  throw new StatusError('PERMISSION_DENIED', 'ACCOUNT_MISMATCH', 'This key belongs to another account.', {
    metadata: { accountId },
  });
}

/** The caller, as the cause of what it asked for. */
export function causeOf(principal: Principal): Cause {
  return { kind: 'key', id: principal.keyId, note: 'asked over the API' };
}

/** An `inTurn`. Keys without work under way take no memory. */
export function createTurns(): Services['inTurn'] {
  const last = new Map<string, Promise<unknown>>();
  return async function inTurn(key, work) {
    const turn = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (last.get(key) === turn) last.delete(key);
    }
  };
}

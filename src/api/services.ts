import type { IncomingMessage } from 'node:http';
import type { Backups } from '../actors/backups.ts';
import type { Grants } from '../actors/grants.ts';
import type { Machines } from '../actors/machines.ts';
import type { Metrics } from '../actors/metrics.ts';
import type { ServerEvents } from '../actors/server-events.ts';
import type { ServerNow } from '../actors/effect-host.ts';
import type { Schedules } from '../actors/schedules.ts';
import type { Servers } from '../actors/servers.ts';
import type { Worlds } from '../actors/worlds.ts';
import { doerOf, recordDeed } from '../access/audit.ts';
import { createAccessChanges } from '../access/changes.ts';
import { createLoginLimits } from '../access/login-limits.ts';
import { isAtLeast, roleOn } from '../access/members.ts';
import type { Role } from '../access/members.ts';
import type { People } from '../access/people.ts';
import type { Principal } from '../access/principal.ts';
import { createStreamSlots, TRANSFER_LIMITS } from '../access/stream-slots.ts';
import type { StreamSlots } from '../access/stream-slots.ts';
import { createGuessLimit } from '../access/user-codes.ts';
import type { GuessLimit } from '../access/user-codes.ts';
import type { Prices } from '../billing/prices.ts';
import type { Config } from '../config.ts';
import type { ServerDatabases } from '../hosting/databases.ts';
import type { Players } from '../actors/players.ts';
import type { Joined } from '../actors/typed-commands.ts';
import type { Files } from '../hosting/files.ts';
import type { LogStreams } from '../hosting/log-streams.ts';
import type { Mods } from '../hosting/mods.ts';
import type { ServerPorts } from '../hosting/server-ports.ts';
import { createTurns } from '../turns.ts';
import type { Turns } from '../turns.ts';
import type { Cause } from '../../machines/server-types.ts';
import type { Catalogue, Clock, Console, Engine } from '../ports.ts';
import type { PublicStatuses } from '../hosting/public-statuses.ts';
import type { WakePolicies } from '../hosting/wake-policies.ts';
import type { Sftp } from '../sftp/sftp.ts';
import type { MoneyServices } from './money-services.ts';
import type { NodeServices } from './node-services.ts';
import type { PublicBoard } from './public-board.ts';
import { StatusError } from '../status.ts';
import type { ServerRow, UserRow } from '../store/rows.ts';
import type { Tx } from '../store/store.ts';

/** The settings that show in replies or bound requests. */
export type ApiConfig = Pick<
  Config,
  'baseUrl' | 'publicHost' | 'region' | 'nodeLabel' | 'maxRamMb' | 'maxServersPerAccount' | 'mysqlAddress'
> &
  Pick<People['config'], 'signup'>;

/** What handlers work with. */
export interface Services extends People, MoneyServices, NodeServices {
  config: ApiConfig;
  prices: Prices;
  servers: Servers;
  grants: Pick<Grants, 'find' | 'approve' | 'deny'>;
  machines: Machines;
  /** Counts wrong user codes, wherever they are taken. */
  guessLimit: GuessLimit;
  engine: Pick<Engine, 'inspect' | 'logs' | 'proxyAddresses'>;
  /** Who is joined to a game, as the proxy knows them. */
  joined: (serverId: string) => readonly Joined[];
  logStreams: LogStreams;
  streamSlots: StreamSlots;
  players: Players;
  publicStatuses: PublicStatuses;
  publicBoard: PublicBoard;
  wakePolicies: WakePolicies;
  /** Of uploads, downloads and work on whole trees of files. */
  transferSlots: StreamSlots;
  files: Files;
  /** Its next start takes the newest build of its core. For a server at rest. */
  forgetBuild: (serverId: string) => Promise<void>;
  mods: Mods;
  metrics: Pick<Metrics, 'latest' | 'series'>;
  serverEvents: Pick<ServerEvents, 'follow'>;
  sftp: Pick<Sftp, 'port' | 'fingerprint' | 'sessions' | 'cut' | 'cutKey'>;
  console: Pick<Console, 'run'>;
  backups: Backups;
  worlds: Worlds;
  catalogue: Catalogue;
  serverPorts: Pick<ServerPorts, 'of' | 'add' | 'remove'>;
  schedules: Pick<Schedules, 'changed' | 'runNow'>;
  /** Absent where no database server is set. */
  databases?: ServerDatabases | undefined;
  /** Minecraft versions of the sandbox core, newest first. */
  sandboxVersions: readonly string[];
  /** The port players connect to; a function, as the proxy may be given any free one. */
  playersPort: () => number;
  /** Whose request it is, as limits and audit know it: through trusted proxies only. */
  clientAddress: (request: IncomingMessage) => string;
  findUser: (id: string) => Promise<UserRow | undefined>;
  rconPassword: (serverId: string) => string | Promise<string>;
  inTurn: Turns;
}

/** The part of the services that only this process's memory holds: one for all of them. */
export function createPeopleMemory(
  clock: Clock,
): Pick<Services, 'loginLimits' | 'accessChanges' | 'guessLimit' | 'inTurn' | 'streamSlots' | 'transferSlots'> {
  return {
    guessLimit: createGuessLimit(clock),
    loginLimits: createLoginLimits(clock),
    accessChanges: createAccessChanges(),
    streamSlots: createStreamSlots(),
    transferSlots: createStreamSlots(TRANSFER_LIMITS),
    inTurn: createTurns(),
  };
}

/**
 * A server and what the caller is on it. NOT_FOUND where they are nothing there, exactly as where there is no server, so
 * that ids cannot be probed; PERMISSION_DENIED ROLE_TOO_LOW where they are less than `least`.
 */
export async function reachServer(
  { servers, store }: Pick<Services, 'servers' | 'store'>,
  principal: Principal,
  id: string,
  least: Role,
): Promise<{ server: ServerNow; role: Role }> {
  const server = await servers.get(id);
  const role = server && (await roleOn(store, principal, server.row));
  if (!server || !role) {
    throw new StatusError('NOT_FOUND', 'SERVER_NOT_FOUND', 'There is no such server.', { metadata: { id } });
  }
  requireRole(role, least);
  return { server, role };
}

/** PERMISSION_DENIED ROLE_TOO_LOW for who is less than `least`. */
export function requireRole(role: Role, least: Role): void {
  if (isAtLeast(role, least)) return;
  throw new StatusError('PERMISSION_DENIED', 'ROLE_TOO_LOW', `This needs the role ${least}; yours is ${role}.`, {
    metadata: { role, least },
  });
}

/** Throws ACCOUNT_MISMATCH unless an account named by the caller is its own; '' means its own. */
export function ownAccount(principal: Principal, accountId: string): string {
  if (accountId === '' || accountId === principal.accountId) return principal.accountId;
  throw new StatusError('PERMISSION_DENIED', 'ACCOUNT_MISMATCH', 'This key belongs to another account.', {
    metadata: { accountId },
  });
}

/** Refuses a key that is limited to some servers what is about the whole account. PERMISSION_DENIED KEY_LIMITED. */
export function requireWholeAccount({ serverIds }: Principal): void {
  if (serverIds === null) return;
  throw new StatusError('PERMISSION_DENIED', 'KEY_LIMITED', 'This key is limited to certain servers.');
}

/** The caller, as the cause of what it asked for. */
export function causeOf(principal: Principal): Cause {
  return principal.kind === 'key'
    ? { kind: 'key', id: principal.keyId, note: 'asked over the API' }
    : { kind: 'user', id: principal.userId, note: 'asked in the dashboard' };
}

/** The same as the cause of what an operator does to what is not theirs. */
export function operatorCause(principal: Principal, reason: string): Cause {
  return { kind: 'operator', id: principal.kind === 'key' ? principal.keyId : principal.userId, note: reason };
}

/** Writes what the caller does with a server into the audit log; to be called in the write of what is done. */
export function recordOnServer(
  principal: Principal,
  { id: serverId, accountId }: Pick<ServerRow, 'id' | 'accountId'>,
  deed: { action: string; detail?: string; at: number },
): (tx: Tx) => Promise<void> {
  return (tx) => recordDeed(tx, doerOf(principal), { accountId, serverId, ...deed });
}

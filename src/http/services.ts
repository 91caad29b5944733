import type { IncomingMessage } from 'node:http';
import type { Backups } from '../backups/backups.ts';
import type { Prices } from '../billing/prices.ts';
import type { Config } from '../config.ts';
import type { ServerDatabases } from '../databases/databases.ts';
import type { Console } from '../engines/console/console.ts';
import type { Engine } from '../engines/engine.ts';
import type { Files } from '../files/files.ts';
import type { Catalogue } from '../game/catalogue/catalogue.ts';
import type { ServerEvents } from '../insight/events.ts';
import type { LogStreams } from '../insight/log-streams.ts';
import type { Metrics } from '../insight/metrics.ts';
import type { PublicBoard } from '../joining/public-server.ts';
import type { PublicStatuses } from '../joining/public-statuses.ts';
import type { WakePolicies } from '../joining/wake-policies.ts';
import type { Clock } from '../kernel/clock.ts';
import { type Turns, createTurns } from '../kernel/mutex.ts';
import type { Mods } from '../mods/mods.ts';
import type { Machines } from '../operators/machines.ts';
import type { NodeServices } from '../operators/node-services.ts';
import type { Grants } from '../people/grants/grants.ts';
import { type GuessLimit, createGuessLimit } from '../people/grants/user-codes.ts';
import { createLoginLimits } from '../people/login-limits.ts';
import type { People } from '../people/people.ts';
import type { UserRow } from '../people/rows.ts';
import type { Players } from '../players/players.ts';
import type { Joined } from '../players/typed-commands.ts';
import type { ServerPorts } from '../ports/ports.ts';
import type { Schedules } from '../schedules/schedules.ts';
import type { Servers } from '../servers/servers.ts';
import type { Sftp } from '../sftp/sftp.ts';
import type { Worlds } from '../worlds/worlds.ts';
import { createAccessChanges } from './access-changes.ts';
import type { MoneyServices } from './money-services.ts';
import { type StreamSlots, TRANSFER_LIMITS, createStreamSlots } from './stream-slots.ts';

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

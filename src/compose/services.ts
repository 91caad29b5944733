import type { Console } from '../engines/console/console.ts';
import { sandboxVersions } from '../engines/sandbox.ts';
import { forgetBuild } from '../game/installed-build.ts';
import { createPlayerListFiles } from '../game/players/list-files.ts';
import type { Profiles } from '../game/players/minecraft-accounts.ts';
import { createAccessChanges } from '../http/access-changes.ts';
import type { AnsweredRequest } from '../http/app.ts';
import type { Streams } from '../http/mount.ts';
import { openapiDocument } from '../http/openapi.ts';
import type { Browsers } from '../http/session-mount.ts';
import { dataFrame } from '../http/sse.ts';
import { TRANSFER_LIMITS, createStreamSlots } from '../http/stream-slots.ts';
import { createLogStreams } from '../insight/log-streams.ts';
import type { ChangeLock } from '../jail/change-lock.ts';
import { dataRoot } from '../jail/data-root.ts';
import { createPublicStatusReader } from '../joining/public-server.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { createKeyedMutex } from '../kernel/mutex.ts';
import { createMachines } from '../operators/machines.ts';
import type { Grants } from '../people/grants/grants.ts';
import { createStartLimit } from '../people/grants/start-limit.ts';
import { createGuessLimit } from '../people/grants/user-codes.ts';
import { createLoginLimits } from '../people/login-limits.ts';
import { getUser } from '../people/rows.ts';
import { findBrowserSession } from '../people/browser-sessions.ts';
import { createPlayers } from '../players/players.ts';
import { stopSchedulesOf } from '../schedules/authors.ts';
import { createServerOperation } from '../servers/api/operation.ts';
import { type ServerViewParts, createServerView } from '../servers/api/view.ts';
import type { Servers } from '../servers/servers.ts';
import { type ApiNeeds, describeApi } from './operations.ts';
import type { PagesOptions } from './pages.ts';

/** What operations and pages work with, and what their calls are known and held to by. */
export type Services = ApiNeeds &
  PagesOptions &
  Streams &
  Browsers &
  ServerViewParts & {
    /** What operators see at `/metrics`, and who counts the calls for it. */
    telemetry: { answered: (request: AnsweredRequest) => void };
  };

/** What follows from the rest. */
type Derived =
  | keyof ReturnType<typeof createPeopleMemory>
  | 'players'
  | 'forgetBuild'
  | 'publicStatusReader'
  | 'machines'
  | 'logStreams'
  | 'sandboxVersions'
  | 'startLimit'
  | 'findUser'
  | 'serverOperation'
  | 'serverView'
  | 'findSession'
  | 'openapi';

/** The rest, and what the derived ones are made of beside it. */
export type ServicesOptions = Omit<Services, Derived> & {
  log: Log;
  servers: Servers;
  console: Console;
  grants: Grants;
  profiles: Profiles;
  dataDir: string;
  lock: ChangeLock;
  owner?: FileOwner | undefined;
};

/** Completes what operations and pages work with by what serves nobody else. */
export function createServices({ profiles, dataDir, lock, owner, ...given }: ServicesOptions): Services {
  const { store, clock, log, servers, files, console, rconPassword, joined, engine, grants } = given;
  const listFiles = createPlayerListFiles({ files, dataDir, lock, owner });
  const memory = createPeopleMemory(clock);
  memory.accessChanges.onWrite(stopSchedulesOf);
  return {
    ...given,
    ...memory,
    players: createPlayers({ servers, files: listFiles, profiles, store, clock, joined, console, rconPassword }),
    forgetBuild: (id) => forgetBuild(dataRoot(dataDir, id), owner),
    publicStatusReader: createPublicStatusReader(given),
    machines: createMachines({ store, clock, servers, grants }),
    logStreams: createLogStreams(engine, dataFrame, log),
    sandboxVersions: sandboxVersions(),
    startLimit: createStartLimit({ store, clock }),
    findUser: (id) => getUser(store, id),
    serverOperation: createServerOperation({ servers, store }),
    serverView: createServerView(given),
    findSession: (token) => findBrowserSession(store, clock, token),
    openapi: () => openapiDocument(given.config, describeApi()),
  };
}

/** What only this process's memory holds: one for all who use it. */
function createPeopleMemory(clock: Clock) {
  return {
    guessLimit: createGuessLimit(clock),
    loginLimits: createLoginLimits(clock),
    accessChanges: createAccessChanges(),
    streamSlots: createStreamSlots(),
    transferSlots: createStreamSlots(TRANSFER_LIMITS),
    withLock: createKeyedMutex(),
  };
}

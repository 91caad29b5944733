import type { Grants } from '../actors/grants.ts';
import { createMachines } from '../actors/machines.ts';
import { createPlayers } from '../actors/players.ts';
import { createPublicBoard } from '../api/public-board.ts';
import { createPeopleMemory, type Services } from '../api/services.ts';
import { dataFrame } from '../api/sse.ts';
import type { ChangeLock } from '../hosting/change-lock.ts';
import { dataRoot } from '../hosting/data-root.ts';
import { createLogStreams } from '../hosting/log-streams.ts';
import { createPlayerListFiles } from '../hosting/player-list-files.ts';
import { forgetBuild } from '../hosting/installed-build.ts';
import type { FileOwner } from '../hosting/properties.ts';
import type { Console, Profiles } from '../ports.ts';
import { sandboxVersions } from '../sandbox/versions.ts';
import { getUser } from '../store/accounts.ts';

/** What follows from the rest. */
type Derived =
  | keyof ReturnType<typeof createPeopleMemory>
  | 'players'
  | 'forgetBuild'
  | 'publicBoard'
  | 'machines'
  | 'logStreams'
  | 'sandboxVersions'
  | 'findUser';

/** The rest, and what the derived ones are made of beside it. */
export interface ServicesOptions extends Omit<Services, Derived> {
  console: Console;
  grants: Grants;
  profiles: Profiles;
  dataDir: string;
  lock: ChangeLock;
  owner?: FileOwner | undefined;
}

/** Completes what handlers and pages work with by what serves nobody else. */
export function createServices({ profiles, dataDir, lock, owner, ...given }: ServicesOptions): Services {
  const { store, clock, log, servers, files, console, rconPassword, joined, engine, grants } = given;
  const listFiles = createPlayerListFiles({ files, dataDir, lock, owner });
  return {
    ...given,
    ...createPeopleMemory(clock),
    players: createPlayers({ servers, files: listFiles, profiles, store, clock, joined, console, rconPassword }),
    forgetBuild: (id) => forgetBuild(dataRoot(dataDir, id), owner),
    publicBoard: createPublicBoard(given),
    machines: createMachines({ store, clock, servers, grants }),
    logStreams: createLogStreams(engine, dataFrame, log),
    sandboxVersions: sandboxVersions(),
    findUser: (id) => getUser(store, id),
  };
}

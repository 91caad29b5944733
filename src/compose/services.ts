import type { Console } from '../engines/console/console.ts';
import { sandboxVersions } from '../engines/sandbox.ts';
import { forgetBuild } from '../game/installed-build.ts';
import { createPlayerListFiles } from '../game/players/list-files.ts';
import type { Profiles } from '../game/players/minecraft-accounts.ts';
import { type Services, createPeopleMemory } from '../http/services.ts';
import { dataFrame } from '../http/sse.ts';
import { createLogStreams } from '../insight/log-streams.ts';
import type { ChangeLock } from '../jail/change-lock.ts';
import { dataRoot } from '../jail/data-root.ts';
import { createPublicBoard } from '../joining/public-server.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { createMachines } from '../operators/machines.ts';
import type { Grants } from '../people/grants/grants.ts';
import { getUser } from '../people/rows.ts';
import { createPlayers } from '../players/players.ts';
import { stopSchedulesOf } from '../schedules/authors.ts';

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
  const memory = createPeopleMemory(clock);
  memory.accessChanges.onWrite(stopSchedulesOf);
  return {
    ...given,
    ...memory,
    players: createPlayers({ servers, files: listFiles, profiles, store, clock, joined, console, rconPassword }),
    forgetBuild: (id) => forgetBuild(dataRoot(dataDir, id), owner),
    publicBoard: createPublicBoard(given),
    machines: createMachines({ store, clock, servers, grants }),
    logStreams: createLogStreams(engine, dataFrame, log),
    sandboxVersions: sandboxVersions(),
    findUser: (id) => getUser(store, id),
  };
}

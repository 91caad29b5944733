import type { Files } from '../files/files.ts';
import { createPlayerListFiles } from '../game/players/list-files.ts';
import type { ChangeLock } from '../jail/change-lock.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { ServerOperation } from '../servers/api/operation.ts';
import type { Feature } from '../web/feature.ts';
import { playerOperations } from './api.ts';
import { mountPlayerPages } from './pages/players.ts';
import { type PlayersOptions, createPlayers } from './players.ts';

export interface OpenPlayersOptions extends Omit<PlayersOptions, 'files'> {
  files: Files;
  dataDir: string;
  lock: ChangeLock;
  owner: FileOwner | undefined;
  serverOperation: ServerOperation;
}

/** Who may come in and command, and who is in. */
export function openPlayers(options: OpenPlayersOptions): Feature {
  const { files, dataDir, lock, owner, serverOperation, ...rest } = options;
  const players = createPlayers({ ...rest, files: createPlayerListFiles({ files, dataDir, lock, owner }) });
  return { operations: playerOperations({ players, serverOperation, clock: rest.clock }), panel: mountPlayerPages };
}

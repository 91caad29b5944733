/**
 * Player lists of a game, whether it sleeps or runs. Never: a list's file written while its game runs, because the game
 * would overwrite it.
 */
import type { Files } from '../files/files.ts';
import type { PlayerFiles } from '../game/players/files.ts';
import { createPlayerListFiles } from '../game/players/list-files.ts';
import type { ChangeLock } from '../jail/change-lock.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';
import type { ServerOperation } from '../servers/api/operation.ts';
import type { Feature } from '../web/feature.ts';
import { playerOperations } from './api.ts';
import { type EndedBansOptions, liftEndedBans } from './ended-bans.ts';
import { mountPlayerPages } from './pages/players.ts';
import { Players, type PlayersOptions } from './players.ts';

export interface OpenPlayersOptions extends Omit<PlayersOptions, 'files' | 'servers'> {
  servers: PlayersOptions['servers'] & EndedBansOptions['servers'];
  log: Log;
  onClose: OnClose;
  files: Files;
  playerFiles: PlayerFiles;
  dataDir: string;
  lock: ChangeLock;
  owner: FileOwner | undefined;
  serverOperation: ServerOperation;
}

/** Player lists and online players. */
export function openPlayers(options: OpenPlayersOptions): Feature {
  const { files, playerFiles, dataDir, lock, owner, serverOperation, log, onClose, ...rest } = options;
  const players = new Players({ ...rest, files: createPlayerListFiles({ files, dataDir, lock, owner }) });
  onClose(liftEndedBans({ ...rest, log, files: playerFiles }));
  return { operations: playerOperations({ players, serverOperation, clock: rest.clock }), panel: mountPlayerPages };
}

import { Blocks } from './blocks.ts';
import { Chunks } from './chunks.ts';
import { LaunchRefused } from './environment.ts';
import { Game } from './game.ts';
import { difficultyId } from './join-packets.ts';
import type { Log } from './log.ts';
import { PlayerLists } from './player-lists.ts';
import { gameMode, gameModeId } from './player.ts';
import type { ServerProperties } from './properties.ts';
import { Protocol } from './protocol.ts';
import { Storage, levelDirectory } from './storage.ts';
import type { GameVersion } from './versions.ts';
import { World, SURFACE_Y } from './world.ts';

/** Reads a game from the working directory. Throws where something there cannot be read, before anything is written. */
export function loadGame(version: GameVersion, properties: ServerProperties, log: Log): Game {
  const name = properties.get('level-name');
  const directory = levelDirectory(process.cwd(), name);
  if (!directory) throw new LaunchRefused(`level-name leads out of the data directory: ${JSON.stringify(name)}`);
  const protocol = new Protocol(version);
  const blocks = new Blocks(protocol.data);
  const world = new World(blocks, protocol.supports('tallWorld'));
  const lists = new PlayerLists('.', log);
  log.info(`Preparing level "${name}"`);
  const facts = {
    name,
    versionName: version.name,
    dataVersion: Math.max(0, protocol.data.version.dataVersion ?? 0),
    gameType: gameModeId(gameMode(properties.get('gamemode'))),
    difficulty: difficultyId(properties.get('difficulty')),
    spawnY: SURFACE_Y,
  };
  const storage = new Storage(directory, world, blocks, facts, log);
  const chunks = new Chunks(world, protocol);
  return new Game({ protocol, blocks, world, chunks, storage, lists, properties, log });
}

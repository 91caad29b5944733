import type { Server as NetServer } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { Blocks } from './blocks.ts';
import { Chunks } from './chunks.ts';
import { runCommand } from './commands/index.ts';
import { type Launch, LaunchRefused } from './environment.ts';
import {
  CRASH_AT_START_STACK,
  CRASH_WHILE_RUNNING_STACK,
  type Faults,
  OUT_OF_MEMORY_STACK,
  allocateUntilKilled,
  growWithoutEnd,
} from './faults.ts';
import { Game } from './game.ts';
import { difficultyId } from './join-packets.ts';
import { type Listener, listen } from './listener.ts';
import type { Log } from './log.ts';
import { type ManagementServer, openManagement } from './management.ts';
import { PlayerLists } from './player-lists.ts';
import { gameMode, gameModeId } from './player.ts';
import type { ServerProperties } from './properties.ts';
import { Protocol } from './protocol.ts';
import { startRcon } from './rcon.ts';
import { Storage, levelDirectory } from './storage.ts';
import type { GameVersion } from './versions.ts';
import { SURFACE_Y, World } from './world.ts';

/** Time for players' clients to receive the reason of the disconnection. */
const GOODBYE_MS = 150;
/** The longest wait for players whose connections do not end. */
const MOST_GOODBYE_MS = 2_000;

/** The inputs of a run. */
export interface Run {
  launch: Launch;
  properties: ServerProperties;
  log: Log;
}

/** Starts the server and runs it until it is stopped. Then the process exits: with 0, or with 1 after a failure. */
export async function runServer({ launch, properties, log }: Run): Promise<void> {
  const { faults, version } = launch;
  let shutDown: () => void = () => process.exit(0);
  const stop = () => {
    if (faults.ignoreStop) log.warn('Ignoring the request to stop, because SANDBOX_IGNORE_STOP is set');
    else shutDown();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  process.on('uncaughtException', (error) =>
    log.error(`Encountered an unexpected exception\n${error.stack ?? error.message}`),
  );

  log.info(`Starting minecraft server version ${version.name}`);
  log.info('Loading properties');
  log.info(`Default game type: ${gameMode(properties.get('gamemode')).toUpperCase()}`);
  log.info(`Starting Minecraft server on ${properties.get('server-ip') || '*'}:${properties.get('server-port')}`);
  try {
    const game = loadGame(version, properties, log);
    const management = await openManagement(game);
    let listener = faults.earlyPort ? await open(game) : undefined;
    await prepareSpawnArea(faults, log);
    listener ??= await open(game);
    game.save();
    listener.ready();
    game.ticks.start();
    log.info(`Done (${(performance.now() / 1_000).toFixed(3)}s)! For help, type "help"`);
    const rcon = await openRcon(game);
    management?.started();
    shutDown = once(() => end(game, { listener, rcon, management }));
    game.stop = stop;
    readConsole(game);
    if (faults.growMb > 0) growWithoutEnd(game.storage.directory, faults.growMb);
  } catch (error) {
    const lines =
      error instanceof LaunchRefused ? error.lines : [`Failed to start the minecraft server\n${stackOf(error)}`];
    for (const line of lines) log.error(line);
    process.exit(1);
  }
  if (faults.crashAfterMs !== undefined) {
    setTimeout(() => {
      log.error(`Encountered an unexpected exception\n${CRASH_WHILE_RUNNING_STACK}`);
      process.exit(1);
    }, faults.crashAfterMs);
  }
}

async function open(game: Game): Promise<Listener> {
  const listener = listen(game);
  const port = await listener.opened.catch((error: Error) => {
    const hint = 'Perhaps a server is already running on that port?';
    throw new LaunchRefused('**** FAILED TO BIND TO PORT!', `The exception was: ${error.message}`, hint);
  });
  if (game.properties.get('server-port') === '0') game.log.info(`Listening on port ${port}`);
  return listener;
}

/** Opens the remote console. If that fails, the game runs without it, as in vanilla. */
async function openRcon(game: Game): Promise<NetServer | undefined> {
  const { properties, log } = game;
  if (!properties.is('enable-rcon')) return undefined;
  const password = properties.get('rcon.password');
  if (!password) {
    log.warn('No rcon password set in server.properties, rcon disabled!');
    return undefined;
  }
  const host = properties.get('server-ip') || '0.0.0.0';
  try {
    const rcon = await startRcon({
      host,
      port: properties.number('rcon.port', 0, 65_535),
      password,
      run: (line) => runCommand(game, line, { kind: 'rcon', name: 'Rcon' }),
      log,
    });
    const address = rcon.address();
    log.info(`RCON running on ${host}:${typeof address === 'object' ? address?.port : address}`);
    return rcon;
  } catch (error) {
    log.warn(`Unable to initialise RCON on ${host}: ${String(error)}`);
    return undefined;
  }
}

function readConsole(game: Game): void {
  createInterface({ input: process.stdin }).on('line', (line) => {
    if (line.trim() === '') return;
    const reply = runCommand(game, line, { kind: 'console', name: 'Server' });
    if (reply) for (const text of reply.split('\n')) game.log.info(text);
  });
}

/** The open ports. */
interface Ports {
  listener: Listener;
  rcon: NetServer | undefined;
  management: ManagementServer | undefined;
}

function end(game: Game, { listener, rcon, management }: Ports): void {
  const { log, storage } = game;
  log.info('Stopping server');
  game.ticks.stop();
  storage.close();
  rcon?.close();
  log.info('Saving players');
  for (const player of game.players.values()) player.kick('Server closed');
  log.info('Saving worlds');
  log.info("Saving chunks for level 'ServerLevel[world]'/minecraft:overworld");
  let exitCode = 0;
  try {
    game.save();
    log.info('ThreadedAnvilChunkStorage: All dimensions are saved');
  } catch (error) {
    log.error(`Failed to save the world: ${stackOf(error)}`);
    exitCode = 1;
  }
  listener.close();
  management?.close();
  const leaveBy = Date.now() + MOST_GOODBYE_MS;
  const leave = () => {
    if (game.players.size > 0 && Date.now() < leaveBy) {
      setTimeout(leave, 20);
      return;
    }
    // Clients that have not closed their connections are recorded as having left, too.
    for (const player of game.players.values()) game.leave(player);
    process.exit(exitCode);
  };
  setTimeout(leave, GOODBYE_MS);
}

function once(action: () => void): () => void {
  let done = false;
  return () => {
    if (!done) action();
    done = true;
  };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/**
 * Loads a game from the working directory. Throws if a file of the world cannot be read, before any of them is written.
 */
function loadGame(version: GameVersion, properties: ServerProperties, log: Log): Game {
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

const STEPS = 12;

/**
 * Simulates the part of a start in which a vanilla server generates the land around the spawn. Its duration and its
 * failures depend on `faults`. Throws LaunchRefused if the start must fail.
 */
async function prepareSpawnArea(faults: Faults, log: Log): Promise<void> {
  const begunAt = performance.now();
  log.info('Preparing start region for dimension minecraft:overworld');
  if (faults.crashAtStart) throw new LaunchRefused(`Encountered an unexpected exception\n${CRASH_AT_START_STACK}`);
  if (faults.outOfMemory === 'report')
    throw new LaunchRefused(`Encountered an unexpected exception\n${OUT_OF_MEMORY_STACK}`);
  if (faults.outOfMemory !== '') {
    allocateUntilKilled(faults.outOfMemory);
    await never();
  }
  const shown = faults.startMs > 0 || faults.neverReady ? STEPS : 1;
  for (let step = 0; step < shown; step++) {
    log.info(`Preparing spawn area: ${Math.round((step / STEPS) * 100)}%`, 'Worker-Main-1');
    if (faults.startMs > 0) await delay(faults.startMs / STEPS);
  }
  if (faults.neverReady) await never();
  log.info('Preparing spawn area: 100%', 'Worker-Main-1');
  log.info(`Time elapsed: ${Math.round(performance.now() - begunAt)} ms`);
}

/** Returns a promise that never settles. Its timer keeps the process alive. */
function never(): Promise<never> {
  return new Promise(() => setInterval(() => undefined, 60_000));
}

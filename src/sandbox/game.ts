import type { Blocks } from './blocks.ts';
import type { Chunks } from './chunks.ts';
import { type Welcome, listAdd, listRemove, sendLogin, sendPosition, sendSpawn } from './join-packets.ts';
import type { Log } from './log.ts';
import { loadPlayer, savePlayer } from './player-file.ts';
import { type PlayerLists, sameName } from './player-lists.ts';
import type { Player } from './player.ts';
import type { ServerProperties } from './properties.ts';
import type { Protocol } from './protocol.ts';
import type { Storage } from './storage.ts';
import { Ticks } from './ticks.ts';
import { View } from './view.ts';
import type { BlockPosition, World } from './world.ts';

const DAY_LENGTH_TICKS = 24_000;

/** The parts of a game. */
export interface GameParts {
  protocol: Protocol;
  blocks: Blocks;
  world: World;
  chunks: Chunks;
  storage: Storage;
  lists: PlayerLists;
  properties: ServerProperties;
  log: Log;
}

/** The running game: its players, and the events that concern all of them. */
export class Game {
  readonly protocol: Protocol;
  readonly blocks: Blocks;
  readonly world: World;
  readonly storage: Storage;
  readonly lists: PlayerLists;
  readonly properties: ServerProperties;
  readonly log: Log;
  readonly view: View;
  readonly ticks: Ticks;
  readonly players = new Map<string, Player>();
  /** Ends the server; set by the program that runs it. */
  stop: () => void = () => undefined;
  /** Called for each player who joins or leaves; set by the part that notifies others. */
  onPlayer: (change: 'joined' | 'left', player: Player) => void = () => undefined;
  #entities = 0;

  constructor(parts: GameParts) {
    this.protocol = parts.protocol;
    this.blocks = parts.blocks;
    this.world = parts.world;
    this.storage = parts.storage;
    this.lists = parts.lists;
    this.properties = parts.properties;
    this.log = parts.log;
    this.view = new View(parts.chunks, parts.world, this.properties.number('view-distance', 2, 32));
    this.ticks = new Ticks(() => this.#tick());
  }

  get maxPlayers(): number {
    return this.properties.number('max-players', 0, 100_000);
  }

  nextEntityId(): number {
    return ++this.#entities;
  }

  online(name: string): Player | undefined {
    return [...this.players.values()].find((player) => sameName(player.name, name));
  }

  isOperator(player: Player): boolean {
    return this.lists.operator(player) !== undefined;
  }

  /** Shows a line to all players. */
  broadcast(text: string): void {
    for (const player of this.players.values()) player.tell(text);
  }

  /** Adds a player whose login is complete. Kicks a player with the same UUID who is already in the game. */
  join(player: Player): void {
    this.players.get(player.uuid)?.kick('You logged in from another location');
    this.leave(this.players.get(player.uuid));
    this.log.info(`UUID of player ${player.name} is ${player.uuid}`, 'User Authenticator #1');
    loadPlayer(this.storage.directory, player, this);
    this.lists.remember(player);
    const welcome = this.#welcome();
    sendLogin(player, welcome);
    this.view.begin(player);
    sendSpawn(player, welcome);
    this.players.set(player.uuid, player);
    player.client.write(...listAdd(this.protocol, this.players.values()));
    for (const other of this.players.values()) {
      if (other !== player) other.client.write(...listAdd(this.protocol, [player]));
    }
    const { x, y, z } = player.position;
    this.log.info(
      `${player.name}[${player.address}] logged in with entity id ${player.entityId} at (${x}, ${y}, ${z})`,
    );
    this.log.info(`${player.name} joined the game`);
    this.broadcast(`${player.name} joined the game`);
    this.onPlayer('joined', player);
  }

  /** Removes a player whose connection has ended. Does nothing if the player is not in the game. */
  leave(player: Player | undefined): void {
    if (!player || this.players.get(player.uuid) !== player) return;
    this.players.delete(player.uuid);
    this.log.info(`${player.name} lost connection: ${player.leaveReason}`);
    this.log.info(`${player.name} left the game`);
    this.#save(player);
    for (const other of this.players.values()) other.client.write(...listRemove(this.protocol, player));
    this.broadcast(`${player.name} left the game`);
    this.onPlayer('left', player);
  }

  /** Changes a block for all players. Returns false if nothing changed. */
  setBlock(position: BlockPosition, state: number): boolean {
    if (!this.world.setBlock(position, state)) return false;
    this.storage.noteChange();
    for (const player of this.players.values()) this.showBlock(player, position);
    return true;
  }

  /** Sends a player the block at a position, sometimes only to correct the client. */
  showBlock({ client }: Player, location: BlockPosition): void {
    if (this.world.holds(location)) client.write('block_change', { location, type: this.world.blockAt(location) });
  }

  /** Moves a player. Outside the world, puts the player back to where the step began. */
  move(player: Player, to: { x: number; y: number; z: number }): void {
    if (!this.view.allows(to)) return this.#fetchBack(player);
    const from = { x: Math.floor(player.position.x), z: Math.floor(player.position.z) };
    player.position = { x: to.x, y: to.y, z: to.z };
    this.view.moved(player, from);
  }

  /** Saves the world and all players. Throws the file system's error. */
  save(): void {
    this.storage.save();
    for (const player of this.players.values()) savePlayer(this.storage.directory, player, this);
  }

  #fetchBack(player: Player): void {
    const from = { x: Math.floor(player.position.x), z: Math.floor(player.position.z) };
    if (!Number.isFinite(player.position.y) || player.position.y < this.world.minY) {
      player.position = { x: 0.5, y: this.world.layers.length, z: 0.5 };
    }
    this.view.moved(player, from);
    sendPosition(player);
  }

  #save(player: Player): void {
    try {
      savePlayer(this.storage.directory, player, this);
    } catch (error) {
      this.log.warn(`Failed to save player data for ${player.name}: ${String(error)}`);
    }
  }

  #tick(): void {
    this.storage.ageTicks++;
    this.storage.dayTicks = (this.storage.dayTicks + 1) % DAY_LENGTH_TICKS;
    for (const player of this.players.values()) {
      if (player.chatHeat > 0) player.chatHeat--;
      this.view.tick(player);
    }
  }

  #welcome(): Welcome {
    return {
      difficulty: this.properties.get('difficulty'),
      viewDistance: this.view.radius,
      maxPlayers: this.maxPlayers,
      hardcore: this.properties.is('hardcore'),
      ageTicks: this.storage.ageTicks,
      dayTicks: this.storage.dayTicks,
    };
  }
}

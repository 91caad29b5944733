import type { ServerClient } from 'minecraft-protocol';
import type { Packet } from './chunks.ts';
import { encodeSlot } from './inventory.ts';
import { type Player, gameModeId } from './player.ts';
import type { Protocol } from './protocol.ts';
import { SURFACE_Y } from './world.ts';

const DIFFICULTIES = ['peaceful', 'easy', 'normal', 'hard'];

/** The data of the server that a joining player receives. */
export interface Welcome {
  difficulty: string;
  viewDistance: number;
  maxPlayers: number;
  hardcore: boolean;
  ageTicks: number;
  dayTicks: number;
}

/** Returns the number of a difficulty's name; easy if unknown. */
export function difficultyId(name: string): number {
  const id = DIFFICULTIES.indexOf(name.toLowerCase());
  return id < 0 ? 1 : id;
}

/** Sends everything between the login and the first chunk. */
export function sendLogin(player: Player, welcome: Welcome): void {
  const { client, protocol } = player;
  const difficulty = difficultyId(welcome.difficulty);
  client.write('login', loginPacket(player, welcome));
  if (protocol.supports('difficultySentSeparately'))
    client.write('difficulty', { difficulty, difficultyLocked: false });
  client.write('held_item_slot', { slot: 0 });
  client.write('spawn_position', spawnPosition(protocol));
  // Creative: invulnerable, may fly, breaks at once.
  client.write('abilities', { flags: player.isCreative ? 0x0d : 0, flyingSpeed: 0.05, walkingSpeed: 0.1 });
  if (protocol.sends('chunk_batch_start')) {
    const reason = protocol.shape('game_state_change').includes('level_chunks_load_start')
      ? 'level_chunks_load_start'
      : 13;
    client.write('game_state_change', { reason, gameMode: 0 });
  }
}

/** Sends everything after the first chunks: position, time, health and inventory. */
export function sendSpawn(player: Player, welcome: Welcome): void {
  const { client, protocol } = player;
  sendPosition(player);
  client.write('update_time', updateTime(protocol, welcome));
  const items = player.inventory.all().map((stack) => encodeSlot(protocol, stack));
  client.write('window_items', { windowId: 0, stateId: 0, items, carriedItem: encodeSlot(protocol, undefined) });
  client.write('experience', { experienceBar: 0, level: 0, totalExperience: 0 });
  client.write('update_health', { health: 20, food: 20, foodSaturation: 5 });
}

/** Moves the player in the client to the server's position. */
export function sendPosition(player: Player): void {
  const flags = player.protocol.shape('position').includes('PositionUpdateRelatives') ? {} : 0;
  const still = { dx: 0, dy: 0, dz: 0, yaw: 0, pitch: 0 };
  player.client.write('position', { ...player.position, ...still, flags, teleportId: 1, dismountVehicle: false });
}

/** Returns the packet that adds players to the player list (tab). */
export function listAdd(protocol: Protocol, players: Iterable<Player>): Packet {
  const rows = [...players].map((player) => ({
    uuid: player.uuid,
    name: player.name,
    player: { name: player.name, properties: [] },
    properties: [],
    gamemode: gameModeId(player.mode),
    listed: 1,
    latency: player.latency,
    ping: player.latency,
  }));
  const action = protocol.supports('playerInfoActionIsBitfield')
    ? { add_player: true, update_listed: true, update_latency: true, update_game_mode: true }
    : 'add_player';
  return ['player_info', { action, data: rows }];
}

export function listRemove(protocol: Protocol, { uuid }: Player): Packet {
  if (protocol.sends('player_remove')) return ['player_remove', { players: [uuid] }];
  return ['player_info', { action: 'remove_player', data: [{ uuid }] }];
}

/** Enables the features of the vanilla game. Without this packet, clients since 1.20.2 disable all of them. */
export function sendFeatures(client: ServerClient): void {
  client.write('feature_flags', { features: ['minecraft:vanilla'] });
}

function loginPacket({ protocol, entityId, mode }: Player, welcome: Welcome): object {
  const recorded = (protocol.data.loginPacket ?? {}) as unknown as Record<string, unknown>;
  const named = protocol.supports('dimensionIsAString') || protocol.supports('dimensionIsAWorld');
  return {
    ...recorded,
    entityId,
    isHardcore: welcome.hardcore,
    levelType: 'flat',
    gameMode: gameModeId(mode),
    previousGameMode: recorded.previousGameMode ?? 255,
    dimension: named ? recorded.dimension : 0,
    worldState: { ...(recorded.worldState as object | undefined), gamemode: mode, isFlat: true, hashedSeed: [0, 0] },
    hashedSeed: [0, 0],
    difficulty: difficultyId(welcome.difficulty),
    viewDistance: welcome.viewDistance,
    simulationDistance: welcome.viewDistance,
    maxPlayers: Math.min(welcome.maxPlayers, 255),
    reducedDebugInfo: false,
    enableRespawnScreen: true,
    isDebug: false,
    isFlat: true,
    enforcesSecureChat: false,
  };
}

function spawnPosition(protocol: Protocol): object {
  const location = { x: 0, y: SURFACE_Y, z: 0 };
  if (!protocol.supports('spawnPositionIsGlobal')) return { location, angle: 0 };
  return { globalPos: { dimensionName: 'minecraft:overworld', location }, location, yaw: 0, pitch: 0, angle: 0 };
}

function updateTime(protocol: Protocol, { ageTicks, dayTicks }: Welcome): object {
  const age = [0, ageTicks | 0];
  if (protocol.fields('update_time').includes('clockUpdates')) return { age, clockUpdates: [] };
  return { age, time: [0, dayTicks], tickDayTime: true };
}

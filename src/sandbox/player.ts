import type { ServerClient } from 'minecraft-protocol';
import { Inventory, encodeSlot } from './inventory.ts';
import { disconnect, tell } from './messages.ts';
import type { Profile } from './player-lists.ts';
import type { Protocol } from './protocol.ts';
import { SURFACE_Y } from './world.ts';

const MODES = ['survival', 'creative', 'adventure', 'spectator'] as const;

/** A player's game mode. */
export type GameMode = (typeof MODES)[number];

/** Returns the mode of a name or number; survival if unknown. */
export function gameMode(text: string): GameMode {
  return MODES.find((mode, id) => mode === text.toLowerCase() || String(id) === text) ?? 'survival';
}

/** Returns the number of a mode in packets. */
export function gameModeId(mode: GameMode): number {
  return MODES.indexOf(mode);
}

/** A player in the game: a connection in the state "play", with the player's data. */
export class Player implements Profile {
  readonly client: ServerClient;
  readonly protocol: Protocol;
  readonly name: string;
  readonly uuid: string;
  readonly entityId: number;
  readonly mode: GameMode;
  readonly ip: string;
  /** As vanilla logs write it: `/127.0.0.1:54321`. */
  readonly address: string;
  readonly inventory = new Inventory();
  readonly seen = new Set<string>();
  position = { x: 0.5, y: SURFACE_Y, z: 0.5 };
  /** Why the connection ended, for the log. */
  leaveReason = 'Disconnected';
  /** Rises with each message, falls with each tick: vanilla's measure of spam. */
  chatHeat = 0;

  constructor(client: ServerClient, protocol: Protocol, entityId: number, mode: GameMode) {
    this.client = client;
    this.protocol = protocol;
    this.name = client.username;
    this.uuid = client.uuid;
    this.entityId = entityId;
    this.mode = mode;
    this.ip = remoteIp(client);
    this.address = `/${this.ip}:${client.socket.remotePort}`;
  }

  get isCreative(): boolean {
    return this.mode === 'creative';
  }

  /** Milliseconds, as measured by the last keep-alive. */
  get latency(): number {
    return Math.trunc(this.client.latency) || 0;
  }

  tell(text: string): void {
    for (const line of text.split('\n')) tell(this.client, this.protocol, line);
  }

  /** Ends the connection; the player sees the reason. */
  kick(reason: string): void {
    this.leaveReason = reason;
    disconnect(this.client, this.protocol, reason);
  }

  /** Sends the player the content of these slots. */
  showSlots(slots: Iterable<number>): void {
    for (const slot of slots) {
      const item = encodeSlot(this.protocol, this.inventory.get(slot));
      this.client.write('set_slot', { windowId: 0, stateId: 0, slot, item });
    }
  }
}

/** Returns a client's address, with IPv4 in its usual form. */
export function remoteIp(client: ServerClient): string {
  return (client.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
}

import type { Address } from '../../kernel/address.ts';
import type { Profile } from './profile.ts';

/**
 * The management port of running games (https://minecraft.wiki/w/Minecraft_Server_Management_Protocol). One kept
 * connection per address; after a loss the next call opens a new one. Calls reject with ManagementError: callers have
 * other ways to find out.
 */
export interface Management {
  /** Whether the game takes players. */
  started(address: Address, secret: string): Promise<boolean>;
  /** Returns the online players. */
  players(address: Address, secret: string): Promise<readonly Profile[]>;
  /**
   * Calls `listener` when a player has joined or left, while there is a connection; `players` then says who. Returns a
   * function that ends the watch.
   */
  watch(address: Address, listener: () => void): () => void;
  /** Drops the kept connection to an address, if any. */
  release(address: Address): void;
  close(): void;
}

export class ManagementError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ManagementError';
  }
}

import type { Address } from '../../kernel/address.ts';
import type { Profile } from './profile.ts';

/**
 * The management port of running games (https://minecraft.wiki/w/Minecraft_Server_Management_Protocol). Keeps one
 * connection per address. After a loss, the next call opens a new one. Calls reject with ManagementError, and callers
 * then use other sources.
 */
export interface Management {
  /** Returns whether the game accepts players. */
  started(address: Address, secret: string): Promise<boolean>;
  /** Returns the online players. */
  players(address: Address, secret: string): Promise<readonly Profile[]>;
  /**
   * Calls `listener` when a player has joined or left, while there is a connection. `players` returns the new list.
   * Returns a function that ends the watch.
   */
  watch(address: Address, listener: () => void): () => void;
  /** Closes the connection to an address, if there is one. */
  release(address: Address): void;
  close(): void;
}

export class ManagementError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ManagementError';
  }
}

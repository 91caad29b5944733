import type { Address } from '../../kernel/address.ts';
import type { Profile } from './profile.ts';

/**
 * The management port of running games (https://minecraft.wiki/w/Minecraft_Server_Management_Protocol). One kept connection
 * per address, made anew by the next question where it broke. Rejects with ManagementError: there are other ways to ask.
 */
export interface Management {
  /** Whether the game takes players. */
  started(address: Address, secret: string): Promise<boolean>;
  /** Who is in the game. */
  players(address: Address, secret: string): Promise<readonly Profile[]>;
  /**
   * Calls `listener` when somebody came or left, as long as there is a connection; it is for `players` to say who. Returns
   * the end of it.
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

import type { Address } from '../../kernel/address.ts';
import type { Engine } from '../engine.ts';

/**
 * The longest command, in bytes. A game reads packets of 1 460 bytes, including 14 beside the command
 * (https://minecraft.wiki/w/RCON), and drops the connection for a longer one.
 */
export const MAX_COMMAND_BYTES = 1_446;

/** The console of running games (RCON). Keeps one connection per address, with one command in flight on it. */
export interface Console {
  /** Returns the whole reply, even if it took several packets. Rejects with ConsoleError. */
  run(address: Address, password: string, command: string): Promise<string>;
  /** Closes the connection to an address, if there is one. */
  release(address: Address): void;
  close(): void;
}

/** The consoles of all games, with their passwords. */
export interface GameConsoles {
  /**
   * Runs a command on a server's game, whose console is at `address`. Same as `Console.run`, with the server's
   * password.
   */
  run(serverId: string, address: Address, command: string): Promise<string>;
}

export function gameConsoles(console: Console, passwordOf: (serverId: string) => string): GameConsoles {
  return { run: (serverId, address, command) => console.run(address, passwordOf(serverId), command) };
}

/** `absent`: no program listens there. A game that does not respond now is `unavailable`. */
export class ConsoleError extends Error {
  readonly reason: 'absent' | 'unavailable' | 'timeout' | 'refused' | 'invalid';
  constructor(reason: ConsoleError['reason'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ConsoleError';
    this.reason = reason;
  }
}

/**
 * A console that also reaches games without RCON. If no program listens at a game's address, the engine writes the
 * command to the game's standard input, provided that it owns it. The reply is then the game's next output.
 */
export function withStandardInput(console: Console, engine: Engine): Console {
  return {
    async run(address: Address, password: string, command: string) {
      try {
        return await console.run(address, password, command);
      } catch (error) {
        if (!(error instanceof ConsoleError) || error.reason !== 'absent') throw error;
        const printed = await engine.type?.(address, command);
        if (printed === undefined) throw error;
        return printed;
      }
    },
    release: (address) => console.release(address),
    close: () => console.close(),
  };
}

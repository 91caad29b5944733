import type { Address } from '../../kernel/address.ts';
import type { Engine } from '../engine.ts';
import { type Console, ConsoleError } from './console.ts';

/**
 * A console that also reaches games without RCON: if no program listens at a game's address, the engine types the
 * command into the game's standard input, if it owns that. The reply is then the game's next output.
 */
export function withStandardInput(console: Console, engine: Pick<Engine, 'type'>): Console {
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

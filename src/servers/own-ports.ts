import { type Engine, EngineError, type Game, type Listeners } from '../engines/engine.ts';
import type { Pinger } from '../engines/pinger.ts';
import type { Address } from '../kernel/address.ts';
import type { Clock } from '../kernel/clock.ts';
import { sleep } from '../kernel/sleep.ts';

export interface OwnPortsOptions {
  engine: Engine;
  pinger: Pinger;
  clock: Clock;
  game: Game;
  /** Ports of the game that its owner has opened, for other purposes than players. */
  published: readonly number[];
}

/**
 * Distinguishes a game from other programs that answer at its address, on engines whose games share this machine's
 * addresses.
 */
export interface OwnPorts {
  /** Whether the program listening at the address is the game. */
  owns(address: Address): Promise<boolean>;
  /**
   * Resolves once the game, which has reported that it is ready, listens on the players' port. Rejects with EngineError
   * `wrong_port`.
   */
  untilItListens(signal: AbortSignal): Promise<void>;
  /**
   * Rejects with EngineError once players can never join: `wrong_port` if the game accepts them on another port,
   * `port_in_use` if another program listens on its own. Never resolves.
   */
  untilWrong(signal: AbortSignal): Promise<never>;
}

const LOOK_EVERY_MS = 3_000;
/** Longest time between the game's ready message and its first open port. */
const LISTEN_WITHIN_MS = 30_000;
const LISTEN_EVERY_MS = 500;
const PING_TIMEOUT_MS = 1_000;
/** Limit on a game's open ports that are pinged in search of the players' port. */
const MOST_PINGED = 8;

export function createOwnPorts({ engine, pinger, clock, game, published }: OwnPortsOptions): OwnPorts {
  const { serverId } = game;

  async function readListeners(): Promise<Listeners | undefined> {
    return await engine.listeners?.(serverId).catch(() => undefined);
  }

  async function owns({ port }: Address): Promise<boolean> {
    const listeners = await readListeners();
    return listeners === undefined || listeners.own.includes(port);
  }

  /** Returns another port on which the game accepts players. */
  async function elsewhere({ own }: Listeners, { host, port }: Address): Promise<number | undefined> {
    const known = new Set([port, game.rcon?.port, game.management?.port, ...published]);
    const others = own.filter((each) => !known.has(each)).slice(0, MOST_PINGED);
    for (const other of others) {
      const answer = await pinger.status({ host, port: other }, PING_TIMEOUT_MS).catch(() => undefined);
      if (answer) return other;
    }
    return undefined;
  }

  return {
    owns,
    async untilItListens(signal) {
      if (game.game === null) return;
      for (const end = clock.now() + LISTEN_WITHIN_MS; !(await owns(game.game));) {
        if (clock.now() >= end)
          throw wrongPort(`The game reports that it is ready, but it does not listen on port ${game.game.port}.`);
        await sleep(clock, LISTEN_EVERY_MS, signal);
      }
    },
    async untilWrong(signal) {
      for (;;) {
        await sleep(clock, LOOK_EVERY_MS, signal);
        const listeners = await readListeners();
        if (listeners === undefined || game.game === null) continue;
        const { port } = game.game;
        if (listeners.taken.includes(port)) throw taken(port);
        if (listeners.own.includes(port)) continue;
        const other = await elsewhere(listeners, game.game);
        if (other !== undefined) throw wrongPort(`The game listens on port ${other} instead of ${port}.`);
      }
    },
  };
}

function wrongPort(message: string): EngineError {
  return new EngineError('wrong_port', message, {
    suggestion:
      'The game must use the port in server-port of server.properties, or in the environment variable SERVER_PORT.',
  });
}

function taken(port: number): EngineError {
  return new EngineError(
    'port_in_use',
    `Another program on this machine already listens on port ${port}, which the game needs.`,
    {
      suggestion: 'Start the server again. It gets another port.',
    },
  );
}

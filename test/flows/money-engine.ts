import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock, Engine, EngineEvent, Game } from '../../src/ports.ts';

/** Games without processes that outlive whoever started them: each is a file that says since when it runs, or when it ended. */
export interface LastingEngine extends Engine {
  crash(serverId: string): void;
}

export function lastingEngine(directory: string, clock: Clock): LastingEngine {
  mkdirSync(directory, { recursive: true });
  const listeners = new Set<(event: EngineEvent) => void>();

  function read(serverId: string): Game | undefined {
    try {
      return JSON.parse(readFileSync(join(directory, `${serverId}.json`), 'utf8')) as Game;
    } catch {
      return undefined;
    }
  }

  function write(game: Game): void {
    const file = join(directory, `${game.serverId}.json`);
    writeFileSync(`${file}.new`, JSON.stringify(game));
    renameSync(`${file}.new`, file);
    for (const listener of listeners) listener({ type: game.up ? 'up' : 'down', game });
  }

  function end(serverId: string, code: number): void {
    const game = read(serverId);
    if (!game?.up) return;
    write({ ...game, up: false, game: null, rcon: null, exit: { code, oomKilled: false, at: clock.now() } });
  }

  return {
    kind: 'memory',
    install: async () => {},
    async boot({ serverId }) {
      const running = read(serverId);
      if (running?.up) return running;
      const address = { host: '127.0.0.1', port: 1 };
      const game = { serverId, up: true, installer: false, game: address, rcon: null, exit: null };
      write({ ...game, startedAt: clock.now() });
      return read(serverId)!;
    },
    halt: async (serverId) => end(serverId, 0),
    kill: async (serverId) => end(serverId, 137),
    erase: async (serverId) => end(serverId, 137),
    list: async () =>
      readdirSync(directory).flatMap((file) => (file.endsWith('.json') ? (read(file.slice(0, -5)) ?? []) : [])),
    inspect: async (serverId) => read(serverId),
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stats: async () => undefined,
    async *logs() {},
    crash: (serverId) => end(serverId, 1),
  };
}

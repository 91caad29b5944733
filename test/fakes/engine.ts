import { EventEmitter, once } from 'node:events';
import {
  type Engine,
  EngineError,
  type EngineErrorCode,
  type EngineEvent,
  type Exit,
  type Game,
  type GameSpec,
  type GameStats,
  type LogLine,
  type LogQuery,
} from '../../src/engines/engine.ts';
import type { Address } from '../../src/kernel/address.ts';
import type { Clock } from '../../src/kernel/clock.ts';

/**
 * The behaviour of a server's program in its next runs. Default: starts at once, prints nothing, and ends when it is
 * stopped.
 */
export interface Script {
  /** Lines to print at the start. */
  print?: string[];
  /** Ends right after printing, with this code. */
  exitCode?: number;
  /** Exceeds its memory right after printing. */
  outOfMemory?: boolean;
  /** Ignores requests to stop. */
  ignoreStop?: boolean;
  /** The time it takes to end after a request to stop, by the clock. */
  stopMs?: number;
  /** Lines to print at a request to stop. */
  farewell?: string[];
  /** Refuses `boot` or `install` with this code. */
  refuse?: EngineErrorCode;
}

/** An engine without processes that a test controls. Passes the conformance suite of engines. */
export interface FakeEngine extends Omit<Engine, 'nodes'> {
  readonly kind: 'memory';
  /** Ids of servers in the order of real starts. A boot of a running game does not count. */
  readonly boots: string[];
  /** Ids of servers in the order in which installers started. */
  readonly installs: string[];
  /** Specifications of games and installers, in the order they started. */
  readonly specs: GameSpec[];
  /** Sets the behaviour of a server's next runs. */
  script(serverId: string, script: Script): void;
  /** Delays further boots of the server until the returned function is called. */
  hold(serverId: string): () => void;
  print(serverId: string, ...lines: string[]): void;
  /** Ends the running game as the loss of its machine does. Watchers receive only `resync`. */
  vanish(serverId: string): void;
  /** Ends the running game or installer. */
  crash(serverId: string, exit?: { code?: number | null; oomKilled?: boolean }): void;
  /**
   * Makes the engine unreachable: every method rejects, events are lost, and games keep running. Watchers receive
   * `away`.
   */
  away(): void;
  /** Makes the engine reachable again. Watchers receive `resync`. */
  back(): void;
  /** Returns another instance on the same games, as a restarted service creates one. */
  again(): FakeEngine;
}

/** The address from which games of a fake engine see all players. */
export const PROXY_ADDRESS = '10.9.8.1';

export interface FakeEngineOptions {
  clock?: Clock;
  /** Returns the addresses of a game. Default: addresses without a listener. */
  address?: (serverId: string) => { game: Address; rcon: Address };
}

interface Run {
  spec: GameSpec;
  game: Game;
}

interface World {
  runs: Map<string, Run>;
  logs: Map<string, LogLine[]>;
  scripts: Map<string, Script>;
  held: Map<string, Promise<void>>;
  boots: string[];
  installs: string[];
  specs: GameSpec[];
  away: boolean;
  lines: number;
  /** `event` carries EngineEvents. `change` wakes all waiting calls. */
  bus: EventEmitter<{ event: [EngineEvent]; change: [] }>;
}

const KEPT_LINES = 2_000;
const NOWHERE = (): { game: Address; rcon: Address } => ({
  game: { host: '127.0.0.1', port: 1 },
  rcon: { host: '127.0.0.1', port: 2 },
});
const REAL: Clock = {
  now: Date.now,
  at(at, fire) {
    const timer = setTimeout(fire, Math.max(0, at - Date.now()));
    return () => clearTimeout(timer);
  },
};

/** Creates an engine in memory. With a fake clock, an ignored stop ends when the clock has passed its grace. */
export function fakeEngine(options: FakeEngineOptions = {}): FakeEngine {
  const bus: World['bus'] = new EventEmitter();
  bus.setMaxListeners(0);
  return engineOn(
    {
      runs: new Map(),
      logs: new Map(),
      scripts: new Map(),
      held: new Map(),
      boots: [],
      installs: [],
      specs: [],
      away: false,
      lines: 0,
      bus,
    },
    { clock: REAL, address: NOWHERE, ...options },
  );
}

function engineOn(world: World, options: Required<FakeEngineOptions>): FakeEngine {
  const { runs, bus } = world;
  const { clock } = options;

  function reach(): void {
    if (world.away) throw new EngineError('engine_unavailable', 'The engine does not answer.');
  }

  function tell(event: EngineEvent): void {
    if (!world.away) bus.emit('event', structuredClone(event));
    bus.emit('change');
  }

  function print(serverId: string, ...lines: string[]): void {
    const log = world.logs.get(serverId) ?? [];
    for (const text of lines) log.push({ position: String((world.lines += 1)), text });
    world.logs.set(serverId, log.slice(-KEPT_LINES));
    bus.emit('change');
  }

  function end(run: Run | undefined, exit: Exit, isSeen = true): void {
    if (!run?.game.up) return;
    run.game = { ...run.game, up: false, game: null, rcon: null, management: null, exit };
    tell(isSeen ? { type: 'down', game: run.game } : { type: 'resync' });
  }

  function begin(spec: GameSpec, installer: boolean): Run {
    const { serverId } = spec;
    const script = world.scripts.get(serverId) ?? {};
    if (script.refuse) throw new EngineError(script.refuse, `Refused by script: ${script.refuse}.`);
    const address = installer ? { game: null, rcon: null } : options.address(serverId);
    const ports = { ...address, management: null };
    const game: Game = { serverId, up: true, installer, ...ports, startedAt: clock.now(), exit: null };
    const run: Run = { spec, game };
    runs.set(serverId, run);
    (installer ? world.installs : world.boots).push(serverId);
    world.specs.push(spec);
    tell({ type: 'up', game });
    print(serverId, ...(script.print ?? []));
    if (script.outOfMemory) end(run, { code: 137, oomKilled: true, at: clock.now() });
    if (script.exitCode !== undefined) end(run, { code: script.exitCode, oomKilled: false, at: clock.now() });
    return run;
  }

  async function gone(run: Run, signal?: AbortSignal): Promise<void> {
    while (run.game.up) {
      if (signal?.aborted) return;
      await once(bus, 'change', { signal }).catch(() => undefined);
    }
  }

  return {
    kind: 'memory',
    boots: world.boots,
    installs: world.installs,
    specs: world.specs,
    print,
    script: (serverId, script) => void world.scripts.set(serverId, script),
    hold(serverId) {
      const { promise, resolve } = Promise.withResolvers<void>();
      world.held.set(serverId, promise);
      return () => {
        world.held.delete(serverId);
        resolve();
      };
    },
    vanish(serverId) {
      end(runs.get(serverId), { code: null, oomKilled: false, at: clock.now() }, false);
    },
    crash(serverId, { code = 1, oomKilled = false } = {}) {
      end(runs.get(serverId), { code, oomKilled, at: clock.now() });
    },
    away() {
      tell({ type: 'away' });
      world.away = true;
    },
    back() {
      world.away = false;
      tell({ type: 'resync' });
    },
    again: () => engineOn(world, options),
    proxyAddresses: async () => [PROXY_ADDRESS],

    async install(spec, signal) {
      reach();
      signal.throwIfAborted();
      const old = runs.get(spec.serverId);
      if (old?.game.up && !old.game.installer) throw new EngineError('install_failed', 'The server is running.');
      const run = old?.game.up ? old : begin(spec, true);
      // Without a script, an installer ends at once. With an empty script, it runs until `crash`.
      if (!world.scripts.has(spec.serverId)) end(run, { code: 0, oomKilled: false, at: clock.now() });
      await gone(run, signal);
      if (signal.aborted) {
        end(run, { code: 137, oomKilled: false, at: clock.now() });
        runs.delete(spec.serverId);
        throw signal.reason;
      }
      if (run.game.exit?.code !== 0) throw new EngineError('install_failed', 'The installer failed.');
      runs.delete(spec.serverId);
    },

    async boot(spec, signal) {
      reach();
      signal.throwIfAborted();
      const held = world.held.get(spec.serverId);
      if (held) await Promise.race([held, once(signal, 'abort')]);
      signal.throwIfAborted();
      reach();
      const old = runs.get(spec.serverId);
      if (old?.game.up && !old.game.installer) return structuredClone(old.game);
      end(old, { code: 137, oomKilled: false, at: clock.now() });
      return structuredClone(begin(spec, false).game);
    },

    async halt(serverId, graceMs, signal) {
      reach();
      signal?.throwIfAborted();
      const run = runs.get(serverId);
      if (!run) return;
      const script = world.scripts.get(serverId) ?? {};
      const obey = () => {
        print(serverId, ...(script.farewell ?? []));
        end(run, { code: 0, oomKilled: false, at: clock.now() });
      };
      const { stopMs = 0 } = script;
      const late = run.game.up && !script.ignoreStop && stopMs > 0 ? clock.at(clock.now() + stopMs, obey) : () => {};
      if (run.game.up && !script.ignoreStop && stopMs === 0) obey();
      const cancel = clock.at(clock.now() + graceMs, () => end(run, { code: 137, oomKilled: false, at: clock.now() }));
      await gone(run, signal);
      cancel();
      if (run.game.up && signal?.aborted) throw signal.reason;
      late();
      if (runs.get(serverId) === run) runs.delete(serverId);
    },

    async kill(serverId) {
      reach();
      end(runs.get(serverId), { code: 137, oomKilled: false, at: clock.now() });
      runs.delete(serverId);
    },

    async erase(serverId) {
      reach();
      end(runs.get(serverId), { code: 137, oomKilled: false, at: clock.now() });
      runs.delete(serverId);
      world.logs.delete(serverId);
      bus.emit('change');
    },

    async list() {
      reach();
      return structuredClone([...runs.values()].map((run) => run.game));
    },

    async inspect(serverId) {
      reach();
      return structuredClone(runs.get(serverId)?.game);
    },

    watch(listener) {
      bus.on('event', listener);
      return () => void bus.off('event', listener);
    },

    async stats(serverId): Promise<GameStats | undefined> {
      reach();
      const run = runs.get(serverId);
      return run?.game.up ? { cpuPercent: 0, memUsedMb: 1, memLimitMb: run.spec.ramMb } : undefined;
    },

    async *logs(serverId: string, query: LogQuery = {}): AsyncGenerator<LogLine> {
      reach();
      const kept = () => world.logs.get(serverId) ?? [];
      let last = kept().some((line) => line.position === query.after) ? Number(query.after) : 0;
      const fresh = () => kept().filter((line) => Number(line.position) > last);
      let lines =
        query.tail === undefined ? fresh() : fresh().slice(fresh().length - Math.min(fresh().length, query.tail));
      last = Math.max(last, Number(kept().at(-1)?.position ?? 0));
      for (;;) {
        for (const line of lines) {
          if (query.signal?.aborted) return;
          yield line;
        }
        lines = fresh();
        last = Number(lines.at(-1)?.position ?? last);
        if (lines.length > 0) continue;
        if (!query.follow || query.signal?.aborted || !runs.get(serverId)?.game.up) return;
        await once(bus, 'change', { signal: query.signal }).catch(() => undefined);
      }
    },
  };
}

/** Returns the answer of an engine that hangs: a promise that rejects once the caller gives up. */
export function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
}

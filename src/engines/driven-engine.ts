import type { Logger } from 'pino';
import { createKeyedMutex } from '../kernel/mutex.ts';
import { type Engine, EngineError, type Game, type GameSpec, type GameStats, type Preparation } from './engine.ts';

/** The members of an engine that need no choreography. Their errors are translated. */
type Direct = Pick<Engine, 'kind' | 'logs' | 'proxyAddresses' | 'type' | 'listeners' | 'nodes' | 'withoutConsoles'>;

/**
 * The technology under an engine. A run is one boot of a server's game or installer; it stays known after its end until
 * it is discarded. `drivenEngine` never overlaps calls of one server that change its runs, except for `kill`.
 */
export interface Driver<Run> extends Direct {
  /** Returns the server's current run, running or ended. */
  find(serverId: string): Promise<Run | undefined>;
  /** Returns the view of a run; undefined while it has none. */
  gameOf(run: Run): Game | undefined | Promise<Game | undefined>;
  list(): Promise<Game[]>;
  /** Whether a game runs, not an installer. */
  runsGame(run: Run): boolean;
  isSame(run: Run, other: Run): boolean;
  /** See `Engine.boot`. Replaces an ended run and an installer. */
  boot(spec: GameSpec, signal: AbortSignal, progress?: (progress: Preparation) => void): Promise<Game>;
  /** Installs a core that needs no installer, and returns true. Absent: each core has an installer. */
  prepare?(spec: GameSpec, signal: AbortSignal): Promise<boolean>;
  /** Starts the installer, or returns a running one, or one that has succeeded for this specification. */
  startInstaller(spec: GameSpec, signal: AbortSignal): Promise<Run>;
  /** Waits for the end of an installer. Returns its exit code; null if unknown. Rejects when `signal` fires. */
  ended(installer: Run, signal: AbortSignal): Promise<number | null>;
  /** Waits for the outcome of a start by another instance, so that no change misses its run. Absent: `find` shows it. */
  untilShown?(serverId: string): Promise<void>;
  /** Ends what an earlier process has left of the server. Called before each change, inside the lock. */
  settle?(serverId: string, graceMs?: number, signal?: AbortSignal): Promise<void>;
  /** Asks the run to stop and waits for its end. Kills it after `graceMs`. Rejects when `signal` fires. */
  stop(run: Run, graceMs: number, signal?: AbortSignal): Promise<void>;
  /** Kills the run, if it is running. */
  kill(run: Run): Promise<void>;
  /** Removes the run, but keeps its output. */
  discard(run: Run): Promise<void>;
  /** Removes the run, if there is one, and all else that is known of the server. */
  erase(serverId: string, run: Run | undefined): Promise<void>;
  /** Returns undefined unless the run is running. */
  stats(serverId: string, run: Run): Promise<GameStats | undefined>;
  /** See `Engine.watch`. The listener never throws. */
  watch(listener: Parameters<Engine['watch']>[0]): () => void;
  /** Converts a rejection to an EngineError. An EngineError or TypeError passes unchanged. */
  toError(error: unknown): Error;
}

/** Creates an engine over a technology. It runs the changes of one server one at a time, and translates errors. */
export function drivenEngine<Run>(driver: Driver<Run>, log: Logger): Engine {
  const withLock = createKeyedMutex();
  const { type, listeners, nodes, withoutConsoles } = driver;

  /** Converts a rejection to the signal's reason once that has fired, otherwise to an EngineError. */
  async function translated<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw signal?.aborted ? signal.reason : driver.toError(error);
    }
  }

  function changing<T>(serverId: string, work: () => Promise<T>, graceMs?: number, signal?: AbortSignal): Promise<T> {
    const change = async () => {
      await driver.untilShown?.(serverId);
      await driver.settle?.(serverId, graceMs, signal);
      return await work();
    };
    return withLock(serverId, change, signal);
  }

  async function killNow(serverId: string): Promise<Run | undefined> {
    await driver.untilShown?.(serverId);
    const found = await driver.find(serverId);
    if (found) await driver.kill(found);
    return found;
  }

  /** Discards this run, unless its server has another one by now. */
  async function discardOnly(serverId: string, run: Run): Promise<void> {
    const found = await driver.find(serverId);
    if (found && driver.isSame(found, run)) await driver.discard(found);
  }

  async function runInstaller(spec: GameSpec, signal: AbortSignal): Promise<void> {
    const { serverId } = spec;
    const installer = await changing(serverId, async () => {
      const found = await driver.find(serverId);
      if (found && driver.runsGame(found)) {
        throw new EngineError('install_failed', 'The server is running.', { suggestion: 'Stop it, then try again.' });
      }
      return await driver.startInstaller(spec, signal);
    });
    try {
      const code = await driver.ended(installer, signal);
      if (code !== 0) {
        throw new EngineError('install_failed', `The installer ended with code ${code ?? 'unknown'}.`, {
          suggestion: 'Read the log, then try again.',
        });
      }
    } catch (error) {
      if (signal.aborted) {
        await driver.kill(installer);
        await withLock(serverId, () => discardOnly(serverId, installer));
      }
      throw error;
    }
    await withLock(serverId, () => discardOnly(serverId, installer));
  }

  return {
    kind: driver.kind,
    ...(nodes && { nodes }),
    ...(withoutConsoles !== undefined && { withoutConsoles }),
    ...(type && { type: (rcon, line) => translated(() => type.call(driver, rcon, line)) }),
    ...(listeners && { listeners: (serverId) => translated(() => listeners.call(driver, serverId)) }),

    boot: (spec, signal, progress) =>
      translated(() => changing(spec.serverId, () => driver.boot(spec, signal, progress)), signal),

    install: (spec, signal) =>
      translated(async () => {
        if (!(await driver.prepare?.(spec, signal))) await runInstaller(spec, signal);
      }, signal),

    halt: (serverId, graceMs, signal) =>
      translated(() => {
        const work = async () => {
          const found = await driver.find(serverId);
          if (!found) return;
          signal?.throwIfAborted();
          await driver.stop(found, graceMs, signal);
          await discardOnly(serverId, found);
        };
        return changing(serverId, work, graceMs, signal);
      }, signal),

    // First kills outside the lock, which cuts a waiting halt short. Then discards just the killed run, inside the lock.
    kill: (serverId) =>
      translated(async () => {
        const killed = await killNow(serverId);
        // Without a run there is nothing to wait for.
        if (!killed && !driver.settle) return;
        await changing(serverId, async () => killed && (await discardOnly(serverId, killed)), 0);
      }),

    erase: (serverId) =>
      translated(async () => {
        await killNow(serverId);
        await changing(serverId, async () => driver.erase(serverId, await driver.find(serverId)), 0);
      }),

    list: () => translated(() => driver.list()),

    inspect: (serverId) =>
      translated(async () => {
        const found = await driver.find(serverId);
        return found && (await driver.gameOf(found));
      }),

    watch: (listener) =>
      driver.watch((event) => {
        try {
          listener(event);
        } catch (err) {
          log.error({ err }, 'a listener of the engine failed');
        }
      }),

    stats: (serverId) =>
      translated(async () => {
        const found = await driver.find(serverId);
        return found && (await driver.stats(serverId, found));
      }),

    async *logs(serverId, query) {
      try {
        yield* driver.logs(serverId, query);
      } catch (error) {
        throw driver.toError(error);
      }
    },

    proxyAddresses: () => translated(() => driver.proxyAddresses()),
  };
}

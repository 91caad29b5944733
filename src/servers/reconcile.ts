import type { Ending } from '../../machines/server-types.ts';
import { type Engine, EngineError, type EngineEvent, type Exit, type Game } from '../engines/engine.ts';
import { newestCrashReport } from '../game/diagnosis/crash-reports.ts';
import { dataRoot } from '../jail/data-root.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import { Diagnoser } from './diagnoser.ts';
import { linesBehind, sinceReady } from './run-log.ts';
import type { Servers } from './servers.ts';

export interface ReconcileOptions {
  engine: Engine;
  servers: Servers;
  clock: Clock;
  log: Log;
  dataDir: string;
  workers?: WorkerPool;
  /** Called each time the engine has come back. */
  onReturn?: () => void;
  /** Called each time the engine has become unreachable. */
  onAway?: () => void;
  /** Called with the engine's view of a server before the server is notified. */
  onLook?: (serverId: string, game: Game | undefined) => void;
}

/** Exit codes of a process killed from outside: by the runner, or by SIGKILL. */
const KILLED = new Set([255, 137]);
/**
 * Exit code after SIGTERM, which this service never sends to a wanted game. It indicates a shutdown of the machine, for
 * example.
 */
const TERMINATED = 143;
/** A game's log line after `stop` from its console or an operator. Chat begins with `<name>`. */
const TOLD_TO_STOP = /\]:? (?:\[[^\]]{1,64}: )?Stopping the server\]?$/;
const RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 30_000;
/** An unreported end is noticed within this time. */
const EVERY_MS = MINUTE_MS;

/**
 * Compares the engine's games with the actors: at the start, after an outage of the engine, at each of its events, and
 * once a minute. The machines decide what follows. Facts that could not be stored are sent again. Games without a
 * server are removed. Returns a function that ends the comparison.
 */
export async function startReconcile(options: ReconcileOptions): Promise<() => void> {
  const comparison = new Comparison(options);
  await comparison.resync();
  return () => comparison.close();
}

class Comparison {
  readonly #options: ReconcileOptions;
  readonly #diagnoser: Diagnoser;
  /** Servers whose last comparison failed, and whether their game's end was unreported. */
  readonly #pending = new Map<string, boolean>();
  readonly #unwatch: () => void;
  #closed = false;
  #retryMs = RETRY_MS;
  #cancelNext = () => {};

  constructor(options: ReconcileOptions) {
    this.#options = options;
    this.#diagnoser = new Diagnoser(options.dataDir, options.workers);
    this.#unwatch = options.engine.watch((event) => this.#heed(event));
  }

  close(): void {
    this.#closed = true;
    this.#cancelNext();
    this.#unwatch();
  }

  /** Compares everything, and again after a minute, or sooner after a failure. */
  async resync(thorough = true): Promise<void> {
    this.#cancelNext();
    if (this.#closed) return;
    try {
      await this.#everything(thorough);
      this.#retryMs = RETRY_MS;
      this.#resyncIn(EVERY_MS, false);
    } catch (error) {
      const first = this.#retryMs === RETRY_MS;
      const { log } = this.#options;
      log[first ? 'warn' : 'debug']({ err: error }, 'could not compare games and servers; trying again');
      this.#resyncIn(this.#retryMs, thorough);
      this.#retryMs = Math.min(2 * this.#retryMs, LONGEST_RETRY_MS);
    }
  }

  #heed(event: EngineEvent): void {
    const { log, onReturn, onAway } = this.#options;
    if (event.type === 'away') return onAway?.();
    if (event.type === 'resync') {
      onReturn?.();
      return void this.resync();
    }
    const { serverId, installer } = event.game;
    if (installer) return;
    this.#compare(serverId, false).catch((error: unknown) => {
      log.debug({ err: error, server: serverId }, 'could not check a game; comparing all games again');
      this.#pending.set(serverId, false);
      this.#resyncIn(RETRY_MS, true);
    });
  }

  /** `thorough`: inspects each game, even if the engine's list matches the actors. */
  async #everything(thorough: boolean): Promise<void> {
    const { engine, servers } = this.#options;
    const games = new Map(
      (await engine.list()).filter(({ installer }) => !installer).map((game) => [game.serverId, game]),
    );
    const live = new Map(servers.live().map((now) => [now.row.id, now]));
    const doubtful = new Map(this.#pending);
    for (const game of games.values()) {
      const { serverId, up } = game;
      const state = live.get(serverId)?.state;
      if (up && (thorough || state === undefined)) doubtful.set(serverId, this.#pending.get(serverId) ?? true);
      else if (!up && thorough && state === undefined) await this.#sweepUnowned(game);
    }
    for (const { row, state } of live.values()) {
      const asBelieved = !thorough && games.get(row.id)?.up === true;
      if (state === 'running' && !asBelieved) doubtful.set(row.id, this.#pending.get(row.id) ?? true);
    }
    await this.#compareAll(doubtful, games);
  }

  async #compareAll(doubtful: Map<string, boolean>, games: Map<string, Game>): Promise<void> {
    const failures: unknown[] = [];
    for (const [id, missed] of doubtful) {
      const game = games.get(id);
      try {
        if (game === undefined || !(await this.#sweepUnowned(game))) await this.#compare(id, missed);
        this.#pending.delete(id);
      } catch (error) {
        this.#pending.set(id, missed);
        // Only an unreachable engine affects the other servers.
        if (error instanceof EngineError && error.code === 'engine_unavailable') throw error;
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Removes a game whose server is gone. Returns false if the server exists. */
  async #sweepUnowned({ serverId, up }: Game): Promise<boolean> {
    const { engine, servers, log } = this.#options;
    if ((await servers.get(serverId)) !== undefined || this.#beingDeleted(serverId)) return false;
    log.warn({ server: serverId, up }, 'removing a game without a server');
    await removeGame(engine, serverId);
    return true;
  }

  #beingDeleted(id: string): boolean {
    return this.#options.servers.live().some(({ row, state }) => row.id === id && state === 'deleting');
  }

  /** Inspects the game again, because an event may be out of date. */
  async #compare(id: string, missed: boolean): Promise<void> {
    const { engine, servers, clock, dataDir, onLook } = this.#options;
    const before = await servers.get(id);
    const game = await engine.inspect(id);
    const at = clock.now();
    if (game?.up && game.game !== null) {
      return servers.notify(id, { type: 'UP', at, address: game.game, rcon: game.rcon });
    }
    const now = await servers.get(id);
    if (now?.state !== 'running' || game?.up) return;
    // The engine may have returned the run before this one.
    if (before?.state !== 'running' || before.context.readyAt !== now.context.readyAt) return this.#compare(id, missed);
    const { logAfter, wokenAt, readyAt } = now.context;
    const lines = sinceReady(await linesBehind(engine, id, logAfter));
    const report = await newestCrashReport(dataRoot(dataDir, id), wokenAt ?? at);
    const failure = await this.#diagnoser.diagnose(now.row, { lines, report, exit: game?.exit ?? null, phase: 'run' });
    // Reading the log took time; the run must still be the same.
    if ((await servers.get(id))?.context.readyAt !== now.context.readyAt) return;
    onLook?.(id, game);
    const how = endingOf(game?.exit ?? null, missed, lines);
    const endedAt = missed ? endWithin(readyAt ?? at, game?.exit?.at ?? at, at) : at;
    return servers.notify(id, { type: 'DOWN', at: endedAt, how, failure });
  }

  #resyncIn(ms: number, thorough: boolean): void {
    const { clock } = this.#options;
    this.#cancelNext();
    if (!this.#closed) this.#cancelNext = clock.at(clock.now() + ms, () => void this.resync(thorough));
  }
}

/** Kills a game without a server and removes its data from the engine. */
export async function removeGame(engine: Pick<Engine, 'kill' | 'erase'>, serverId: string): Promise<void> {
  await engine.kill(serverId);
  await engine.erase(serverId);
}

/**
 * Returns the engine's time of an unseen end. A time outside the run comes from a node with a wrong clock; the result
 * is then `now`.
 */
function endWithin(readyAt: number, exitAt: number, now: number): number {
  return exitAt >= readyAt && exitAt <= now ? exitAt : now;
}

/**
 * Classifies the end of a game. An end that was missed may be due to the engine or the machine. An orderly end is
 * intended only if the game received a stop command; otherwise its engine may be shutting down, or the game ended on
 * its own.
 */
function endingOf(exit: Exit | null, missed: boolean, lines: string[]): Ending {
  const code = exit?.code ?? null;
  if (code === 0 && lines.slice(-200).some((line) => TOLD_TO_STOP.test(line))) return 'stopped';
  if (code === null || code === 0 || code === TERMINATED) return missed ? 'lost' : 'ended';
  return missed && !exit?.oomKilled && KILLED.has(code) ? 'lost' : 'crashed';
}

import type { Failure } from '../../machines/server.ts';
import { diagnose } from '../hosting/diagnosis.ts';
import type { Log } from '../log.ts';
import type { Clock, Engine, Game } from '../ports.ts';
import { tailOf } from './effects.ts';
import type { ServerNow, Servers } from './servers.ts';

export interface ReconcileOptions {
  engine: Engine;
  servers: Servers;
  clock: Clock;
  log: Log;
}

/** What the outside does to a process ends with these codes: the runner's own kill, SIGKILL, SIGTERM. */
const KILLED = new Set([255, 137, 143]);
const RETRY_MS = 5_000;

/**
 * Holds what the engine shows against what the actors believe, at the start, after the engine was away, and at each of its
 * events; the machines decide what follows. Games without a server are removed. Returns the function that ends it.
 */
export async function startReconcile({ engine, servers, clock, log }: ReconcileOptions): Promise<() => void> {
  let closed = false;
  let cancelRetry = () => {};

  async function everything(): Promise<void> {
    const games = new Map(
      (await engine.list()).filter(({ installer }) => !installer).map((game) => [game.serverId, game]),
    );
    for (const game of games.values()) {
      if ((await servers.get(game.serverId)) === undefined && !beingDeleted(game.serverId)) await sweep(game);
      else if (game.up) await compare(game.serverId, true);
    }
    for (const now of servers.live()) if (now.state === 'running') await compare(now.row.id, true);
  }

  function beingDeleted(id: string): boolean {
    return servers.live().some(({ row, state }) => row.id === id && state === 'deleting');
  }

  async function sweep({ serverId, up }: Game): Promise<void> {
    log.warn({ server: serverId, up }, 'removing a game without a server');
    await engine.kill(serverId);
    await engine.erase(serverId);
  }

  /** Asks the engine anew, since an event may be older than what happened after it. */
  async function compare(id: string, missed: boolean): Promise<void> {
    const game = await engine.inspect(id);
    const at = clock.now();
    if (game?.up && game.game !== null) {
      return servers.tell(id, { type: 'UP', at, address: game.game, rcon: game.rcon });
    }
    const now = await servers.get(id);
    if (now?.state !== 'running' || game?.up) return;
    const code = game?.exit?.code ?? null;
    // Nobody saw it end, or it was ended while nobody watched: then its engine or machine went away, not the game.
    const lost = code === null || (missed && !game?.exit?.oomKilled && KILLED.has(code));
    const failure = await why(now, game);
    // Reading the log took a while: what is said must still be about the run that ended.
    if ((await servers.get(id))?.context.readyAt !== now.context.readyAt) return;
    return servers.tell(id, { type: 'DOWN', at: game?.exit?.at ?? at, lost, failure });
  }

  async function why({ row }: ServerNow, game: Game | undefined): Promise<Failure> {
    const lines = await tailOf(engine, row.id);
    const { code, summary, suggestion, raw } = diagnose(lines, game?.exit ?? null, {
      ...row,
      core: row.type,
      phase: 'run',
    });
    return { code, summary, suggestion, raw };
  }

  function resync(): void {
    cancelRetry();
    if (closed) return;
    everything().catch((error: unknown) => {
      log.warn({ err: error }, 'the engine cannot be asked; trying again');
      cancelRetry = clock.at(clock.now() + RETRY_MS, resync);
    });
  }

  const unwatch = engine.watch((event) => {
    if (event.type === 'resync') return resync();
    if (event.game.installer) return;
    compare(event.game.serverId, false).catch((error: unknown) => {
      log.debug({ err: error, server: event.game.serverId }, 'could not look at a game; everything is compared again');
      resync();
    });
  });
  await everything().catch((error: unknown) => {
    log.warn({ err: error }, 'the engine cannot be asked at the start; trying again');
    cancelRetry = clock.at(clock.now() + RETRY_MS, resync);
  });
  return () => {
    closed = true;
    cancelRetry();
    unwatch();
  };
}

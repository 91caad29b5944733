import type { Ending } from '../../machines/server-types.ts';
import { newestCrashReport } from '../hosting/crash-reports.ts';
import { dataRoot } from '../hosting/data-root.ts';
import { diagnose } from '../hosting/diagnosis.ts';
import type { Log } from '../log.ts';
import type { Clock, Engine, Exit, Game } from '../ports.ts';
import { linesBehind, sinceReady } from './run-log.ts';
import type { Servers } from './servers.ts';

export interface ReconcileOptions {
  engine: Engine;
  servers: Servers;
  clock: Clock;
  log: Log;
  dataDir: string;
  /** Called each time the engine has come back. */
  onReturn?: () => void;
  /** Called each time the engine has gone out of reach. */
  onAway?: () => void;
  /** Called with what the engine has just shown of a server, before the server hears of it. */
  onLook?: (serverId: string, game: Game | undefined) => void;
}

/** What the outside does to a process ends with these codes: the runner's own kill, SIGKILL, SIGTERM. */
const KILLED = new Set([255, 137, 143]);
/** What a game answers to `stop`, from its console or from somebody in charge. Chat begins with `<name>`. */
const TOLD_TO_STOP = /\]:? (?:\[[^\]]{1,64}: )?Stopping the server\]?$/;
const RETRY_MS = 5_000;

/**
 * Holds what the engine shows against what the actors believe, at the start, after the engine was away, and at each of its
 * events; the machines decide what follows. Games without a server are removed. Returns the function that ends it.
 */
export async function startReconcile(options: ReconcileOptions): Promise<() => void> {
  const { engine, servers, clock, log, dataDir, onReturn, onAway, onLook } = options;
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
    await removeGame(engine, serverId);
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
    const { logAfter, wokenAt } = now.context;
    const lines = sinceReady(await linesBehind(engine, id, logAfter));
    const report = await newestCrashReport(dataRoot(dataDir, id), wokenAt ?? at);
    const context = { ...now.row, core: now.row.type, phase: 'run' as const };
    const failure = diagnose(lines, game?.exit ?? null, context, report);
    // Reading the log took a while: what is said must still be about the run that ended.
    if ((await servers.get(id))?.context.readyAt !== now.context.readyAt) return;
    onLook?.(id, game);
    const how = endingOf(game?.exit ?? null, missed, lines);
    return servers.tell(id, { type: 'DOWN', at: game?.exit?.at ?? at, how, failure });
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
    if (event.type === 'away') return onAway?.();
    if (event.type === 'resync') {
      onReturn?.();
      return resync();
    }
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

/** Ends a game that has no server, and removes what the engine keeps of it. */
export async function removeGame(engine: Pick<Engine, 'kill' | 'erase'>, serverId: string): Promise<void> {
  await engine.kill(serverId);
  await engine.erase(serverId);
}

/**
 * It ended, or was ended from outside, while nobody watched: then its engine or machine went away, not the game. An end in
 * good order is somebody's wish only if the game was told so; else its engine may be going down, or the game ends by itself.
 */
function endingOf(exit: Exit | null, missed: boolean, lines: string[]): Ending {
  const code = exit?.code ?? null;
  if (code === 0 && lines.slice(-200).some((line) => TOLD_TO_STOP.test(line))) return 'stopped';
  if (code === null || code === 0) return missed ? 'lost' : 'ended';
  return missed && !exit?.oomKilled && KILLED.has(code) ? 'lost' : 'crashed';
}

import type { Cause, ServerCommand } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import { type GameConsoles, gameConsoles } from '../engines/console/console.ts';
import { onlinePlayers } from '../game/online-players.ts';
import { kickCommand } from '../game/players/changes.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { withTimeout } from '../kernel/timeout.ts';
import type { EffectHost, GameAccess } from './effect-host.ts';
import type { Presence } from './presence.ts';
import type { ServerNow } from './server-now.ts';

/** The servers that may be awake, and a way to send them commands. */
export interface LiveServers {
  live(): ServerNow[];
  send(id: string, command: ServerCommand): Promise<unknown>;
}

/** Servers that stop after a warning to their players. */
interface LastCall {
  /** Time between the warning and the stop. */
  graceMs: number;
  /** One line for the chat. */
  warning: string;
  /** Returns the servers concerned. Called again for the stop, so that servers woken since the warning stop, too. */
  servers: () => ServerNow[];
  /** Returns the cause of the stop when the grace is over; undefined if the reason no longer applies. */
  cause: () => Promise<Cause | undefined>;
}

/** Limits on kicks before a stop. Each kick lasts up to a tick, and the stop waits for it. */
const MOST_SENT_AWAY = 200;
const SENDING_AWAY_MS = 5_000;
/** Other sources of player names are skipped because the game is about to end. */
const NO_OTHER_NAMES = { joined: [], remembered: [], sample: async () => undefined };

export interface LastCallOptions {
  clock: Clock;
  servers: LiveServers;
  consoles: GameConsoles;
  log: Log;
}

/** Pending stops, one per key, that players have been warned of. */
export class LastCalls {
  readonly #options: LastCallOptions;
  readonly #begun = new Map<string, { call: LastCall; cancel: () => void }>();

  constructor(options: LastCallOptions) {
    this.#options = options;
  }

  /** Returns the keys whose stop is pending. */
  keys(): string[] {
    return [...this.#begun.keys()];
  }

  has(key: string): boolean {
    return this.#begun.has(key);
  }

  /** Warns players and stops the servers after the grace. A console that hangs does not delay the stop. */
  begin(key: string, call: LastCall): void {
    const { clock } = this.#options;
    this.cancel(key);
    this.#begun.set(key, { call, cancel: clock.at(clock.now() + call.graceMs, () => this.cutShort(key)) });
    void warnPlayers(call.servers(), call.warning, this.#options);
  }

  /** Ends the grace of a key now; no-op without one. */
  cutShort(key: string): void {
    void this.#stop(key);
  }

  /** Cancels the stop. */
  cancel(key: string): void {
    this.#begun.get(key)?.cancel();
    this.#begun.delete(key);
  }

  close(): void {
    for (const key of this.#begun.keys()) this.cancel(key);
  }

  async #stop(key: string): Promise<void> {
    const { clock, servers, log } = this.#options;
    const entry = this.#begun.get(key);
    if (entry === undefined) return;
    const { call } = entry;
    entry.cancel();
    // Keep the key until the stops are sent, so that players are not warned again.
    try {
      const cause = await call.cause();
      if (cause === undefined || this.#begun.get(key) !== entry) return;
      const at = clock.now();
      const stops = call.servers().map(({ row }) => servers.send(row.id, { type: 'STOP', at, cause }));
      for (const each of await Promise.allSettled(stops)) {
        if (each.status === 'rejected') log.warn({ about: key, err: each.reason as unknown }, 'server not stopped yet');
      }
    } catch (error) {
      log.error({ about: key, err: error }, 'could not stop servers that must stop; trying again at the next check');
    } finally {
      if (this.#begun.get(key) === entry) this.#begun.delete(key);
    }
  }
}

/** Kick messages for stops by the service itself, keyed by the id of the cause. */
export const STOP_TEXTS = {
  funds: 'This server is out of credit. Ask its owner.',
  spend_cap: 'This server has reached its spend cap for this month. Ask its owner.',
  quota: "This server's disk is full. Ask its owner.",
  shutdown: 'The host is shutting down. Join again later.',
} as const;

/** Returns the kick message for players of a server that stops or has stopped, and for those waiting for it. */
export function stopText({ row: { name }, state, context: { cause, job, queued } }: ServerNow): string {
  if (state === 'deleting') return 'This server was deleted.';
  if (job?.kind === 'backup.restore') return `A backup of ${name} is being restored. Join again in a few minutes.`;
  if (job !== null) return `A world of ${name} is being removed. Join again in a few minutes.`;
  if (queued !== null) return `${name} restarts. Join again in a moment.`;
  if (cause.kind === 'operator') return `The host has stopped ${name}. Ask its owner.`;
  const known = cause.kind === 'system' ? (STOP_TEXTS as Readonly<Record<string, string>>)[cause.id] : undefined;
  if (cause.kind === 'user' || cause.kind === 'key') return `${name} was stopped by its owner. Join again to wake it.`;
  return known ?? `${name} was put to sleep. Join again to wake it.`;
}

/**
 * Kicks all players of a game that is about to end with the reason, instead of "Server closed". Never rejects: a stuck
 * game, or a plugin that overrides `kick`, must not block the stop.
 */
export async function sendAway(
  now: ServerNow,
  run: (command: string) => Promise<string>,
  { presence, clock, log }: { presence: Presence; clock: Clock; log: Log },
): Promise<void> {
  const { inside, knocking } = presence.of(now.row.id);
  if (inside + knocking === 0) return;
  const kickAll = async () => {
    const names = await onlinePlayers(await run('list'), NO_OTHER_NAMES);
    for (const name of names.slice(0, MOST_SENT_AWAY)) await run(kickCommand(name, stopText(now)));
  };
  await withTimeout(kickAll(), SENDING_AWAY_MS, { clock }).catch((error: unknown) =>
    log.debug({ server: now.row.id, err: error }, 'players could not be kicked before the stop'),
  );
}

/**
 * Writes a line to the chat of the games that have a console, and shows `title` in large letters. Never rejects.
 */
export async function warnPlayers(
  concerned: readonly ServerNow[],
  warning: string,
  { consoles, log, title }: { consoles: GameConsoles; log: Log; title?: string },
): Promise<void> {
  await Promise.all(
    concerned.map(async ({ row, context }) => {
      if (context.rcon === null) return;
      try {
        await consoles.run(row.id, context.rcon, `say ${warning}`);
        if (title !== undefined)
          await consoles.run(row.id, context.rcon, `title @a title ${JSON.stringify({ text: title })}`);
      } catch (error) {
        log.debug({ server: row.id, err: error }, 'could not warn the players');
      }
    }),
  );
}

/** A server, and when it stops. */
export type StopWarning = { id: string; at: number };

/** The last warning comes this long before the stop. */
const LAST_WARNING_MS = 10_000;

/**
 * Warns a game's players of its announced stop now and 10 s before it (`at`, machine time). The returned function ends
 * the warnings; if the stop was cancelled, it tells the players so. Warns again after a restart of the service.
 */
export function announceStop(
  { console, passwords, clock, log }: GameAccess,
  host: EffectHost,
  { id, at }: StopWarning,
): () => void {
  const consoles = gameConsoles(console, (serverId) => passwords.of(serverId));
  let over = false;
  let said: 'restart' | 'stop' | undefined;
  const warn = () => {
    const now = host.now(id);
    const leftMs = at - clock.now();
    if (over || now?.context.announced == null || leftMs <= 0) return;
    said = now.context.announced.type === 'RESTART' ? 'restart' : 'stop';
    const title = `${said === 'restart' ? 'Restarts' : 'Stops'} in ${leftText(leftMs)}`;
    void warnPlayers([now], `${now.row.name}: ${title.toLowerCase()}.`, { consoles, log, title });
  };
  const cancel = at - clock.now() > LAST_WARNING_MS ? clock.at(at - LAST_WARNING_MS, warn) : () => {};
  // After a failed write the server is not announced.
  host.committed(id).then(warn, () => {});
  return () => {
    over = true;
    cancel();
    const noteCancelled = () => {
      const now = host.now(id);
      if (said === undefined || now?.state !== 'running' || now.context.announced !== null) return;
      void warnPlayers([now], `${now.row.name}: the ${said} is cancelled.`, { consoles, log });
    };
    host.committed(id).then(noteCancelled, () => {});
  };
}

/** Formats a span for players: `5 min`, `90 s`. */
export function leftText(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}

/** Longest time until a stop becomes a kill and is stored. */
const MOST_MS = 130_000;

/** Whether a server in this state has a game, or may have one. */
export const hasGame = (state: string): boolean => isTagged(state, 'awake') || state === 'stopping';

/**
 * Puts every server to sleep and records `note` as the reason. Call it once servers can no longer be woken. Resolves
 * when all are asleep, or after two minutes. Logs each server that it could not stop.
 */
export async function stopAll(
  servers: LiveServers & {
    until(id: string, satisfies: (now: ServerNow | null) => boolean, signal: AbortSignal): Promise<unknown>;
  },
  { note, clock, log }: { note: string; clock: Clock; log: Log },
): Promise<void> {
  const cause: Cause = { kind: 'system', id: 'shutdown', note };
  const signal = AbortSignal.timeout(MOST_MS);
  const awake = servers.live().filter(({ state }) => hasGame(state));
  await Promise.all(
    awake.map(async ({ row: { id }, state }) => {
      try {
        if (state !== 'stopping') await servers.send(id, { type: 'STOP', at: clock.now(), cause });
        await servers.until(id, (now) => now === null || isTagged(now.state, 'at-rest'), signal);
      } catch (error) {
        log.error({ server: id, err: error }, 'could not put the server to sleep');
      }
    }),
  );
}

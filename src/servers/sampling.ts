import type { ServerEvent } from '../../machines/server-types.ts';
import { ConsoleError } from '../engines/console/console.ts';
import { lostGame } from '../engines/lost-games.ts';
import type { GameStatus } from '../engines/pinger.ts';
import { type ManagedRow, hasManagement, managementSecret } from '../game/management-settings.ts';
import { ignoredIn, listedCount, onlinePlayers, sampledPlayers } from '../game/online-players.ts';
import type { Address } from '../kernel/address.ts';
import { INT32_MAX, KIB, MINUTE_MS } from '../kernel/units.ts';
import type { EffectHost, GameAccess } from './effect-host.ts';
import { awakeHoursUntil } from './awake-hours.ts';
import type { ServerNow } from './server-now.ts';

/** Interval at which the players of a running game are counted. */
export const SAMPLE_MS = 15_000;
/** Vanilla caches its status answer for 5 s, so it may miss newer changes of players. */
const STALE_MS = 5_000;
/**
 * Retry delay while the proxies have not reported their players. Without them, a reading could put a game to sleep
 * while players are connected.
 */
const UNKNOWN_MS = 250;
/** Joins and leaves within this time become one reading. */
const GATHER_MS = 100;
const PING_TIMEOUT_MS = 3_000;
/** How long a faulty management port is left alone; each attempt writes to the game's log. */
export const REST_MS = MINUTE_MS;
/** Limit of the stored bytes after a status. */
const MAX_TAIL_BYTES = 8 * KIB;

/**
 * Sends a SAMPLE regularly until the returned function is called. The service's own requests do not count as activity.
 * Players counted by the game do, and so do those the proxy has connected but the game may not count yet. The count
 * comes from the management port, which also reports changes at once; else from the status; else from the console's
 * `list`. If none of them answers, players is null. Between readings the count follows the proxies, which see joins and
 * leaves immediately.
 */
export function sampleEvery(
  games: GameAccess,
  host: EffectHost,
  id: string,
  send: (event: ServerEvent) => void,
): () => void {
  const { presence, clock, settings } = games;
  const listen = listenFor(games, id);
  const managed = new ManagedPlayers(games, id, gather);
  let cancel = () => {};
  let gathering: (() => void) | undefined;
  let over = false;
  /** The last count, and the players that the proxies saw at that time. */
  let counted: { online: number; inside: number } | undefined;
  let changedAt = -Infinity;
  const unfollow = presence.follow((serverId) => void (serverId === id && followProxies()));

  async function sample(): Promise<void> {
    const now = host.now(id);
    if (now === undefined || over) return;
    if (!presence.isKnown()) {
      cancel = clock.at(clock.now() + UNKNOWN_MS, () => void sample());
      return;
    }
    const { online, answered } = await playersOf(games, host, managed, now);
    const isStale = online !== null && counted !== undefined && clock.now() - changedAt < STALE_MS;
    report(isStale ? counted!.online : online, await listen(answered));
    if (!over) cancel = clock.at(clock.now() + SAMPLE_MS, () => void sample());
  }

  function gather(): void {
    if (!over) gathering ??= clock.at(clock.now() + GATHER_MS, () => void count());
  }

  async function count(): Promise<void> {
    gathering = undefined;
    const now = host.now(id);
    const online = now === undefined ? null : await managed.count(now.row);
    if (online !== null) report(online, { silentMs: null });
  }

  function followProxies(): void {
    changedAt = clock.now();
    if (counted !== undefined && !managed.isFollowed())
      report(counted.online + presence.of(id).inside - counted.inside, {});
  }

  function report(online: number | null, silence: Partial<Silence>): void {
    if (over || !presence.isKnown()) return;
    counted = online === null ? undefined : { online, inside: presence.of(id).inside };
    const row = host.now(id)?.row;
    const minutes = row?.idleTimeoutMinutes || settings.idleTimeoutMinutes;
    const at = clock.now();
    send({
      type: 'SAMPLE',
      at,
      // A plugin may report any number, in the status and in the reply to `list`.
      players: online === null ? null : Math.min(Math.max(0, online), INT32_MAX),
      joined: presence.of(id),
      idleAfterMs: Math.max(0, minutes) * MINUTE_MS,
      held: minutes < 0 || (row !== undefined && awakeHoursUntil(row, clock.wallOf(at)) !== undefined),
      hungAfterMs: settings.hungAfterSeconds * 1_000,
      ...silence,
    });
  }

  cancel = clock.at(clock.now(), () => void sample());
  return () => {
    over = true;
    cancel();
    gathering?.();
    unfollow();
    managed.end();
    presence.forget(id);
  };
}

interface Players {
  online: number | null;
  /** Whether one of the game's ports has answered. */
  answered: boolean;
}

/** Returns the number of players from the first source that answers: management port, status, console. */
async function playersOf(
  games: GameAccess,
  host: EffectHost,
  managed: ManagedPlayers,
  now: ServerNow,
): Promise<Players> {
  const status = await ping(games, host, now);
  const managedCount = await managed.count(now.row);
  if (managedCount !== null) return { online: managedCount, answered: true };
  if (status === undefined) return await listed(games, now);
  if (now.row.ignoredPlayers === '' || status.playersOnline === 0)
    return { online: status.playersOnline, answered: true };
  const names = sampledPlayers(status.raw);
  const counted = names === undefined ? await listed(games, now) : { online: counting(now.row, names).length };
  return { online: counted.online ?? status.playersOnline, answered: true };
}

/** Returns the players that keep the server awake. */
function counting({ ignoredPlayers }: { ignoredPlayers: string }, names: readonly string[]): readonly string[] {
  const isIgnored = ignoredIn(ignoredPlayers);
  return isIgnored === undefined ? names : names.filter((name) => !isIgnored(name));
}

async function ping(
  { pinger, log }: GameAccess,
  host: EffectHost,
  { row, context }: ServerNow,
): Promise<GameStatus | undefined> {
  if (context.address === null) return undefined;
  const status = await pinger.status(context.address, PING_TIMEOUT_MS).catch(() => undefined);
  if (status === undefined) return status;
  try {
    const lasting = lastingStatus(status);
    if (lasting !== row.lastStatus) await host.patch(row.id, { lastStatus: lasting });
  } catch (error) {
    log.debug({ server: row.id, err: error }, 'could not store a status');
  }
  return status;
}

/**
 * Returns the part of a status that the server list shows while the server sleeps: without players, and without the
 * description, which changes often. Bytes after the JSON follow on a separate line, in Base64.
 */
function lastingStatus({ raw, tail }: GameStatus): string {
  const shown = JSON.parse(raw) as { players?: { max?: number } };
  const players = { max: shown.players?.max ?? 0, online: 0 };
  const json = JSON.stringify({ ...shown, players, description: undefined });
  const hasTail = tail !== undefined && tail.length > 0 && tail.length <= MAX_TAIL_BYTES;
  return hasTail ? `${json}\n${tail.toString('base64')}` : json;
}

async function listed({ console, passwords }: GameAccess, { row, context }: ServerNow): Promise<Players> {
  if (context.rcon === null) return { online: null, answered: false };
  const reply = await console.run(context.rcon, passwords.of(row.id), 'list').catch(saidNo);
  const answer = reply ?? '';
  const count = listedCount(answer);
  const answered = reply !== undefined;
  if (row.ignoredPlayers === '' || count === null) return { online: count, answered };
  const names = await onlinePlayers(answer, { joined: [], remembered: [], sample: async () => undefined });
  // A player whose name cannot be read counts.
  return { online: count - (names.length - counting(row, names).length), answered };
}

/** A refusal by the game also counts as an answer. */
function saidNo(error: unknown): string | undefined {
  return error instanceof ConsoleError && error.reason === 'refused' ? '' : undefined;
}

/**
 * Counts the players of one running game through its management port. Once the port has answered, `changed` is called
 * when a player joins or leaves.
 */
class ManagedPlayers {
  readonly #games: GameAccess;
  readonly #id: string;
  readonly #changed: () => void;
  #address: Address | null = null;
  #unwatch = () => {};
  #restsUntil = 0;
  #over = false;

  constructor(games: GameAccess, id: string, changed: () => void) {
    this.#games = games;
    this.#id = id;
    this.#changed = changed;
  }

  /** Returns null if the game has no such port, or the port does not answer. */
  async count(row: ManagedRow & { ignoredPlayers: string }): Promise<number | null> {
    const { engine, management, clock, passwords } = this.#games;
    if (!hasManagement(row) || clock.now() < this.#restsUntil) return null;
    try {
      const asked = this.#address ?? (await engine.inspect(this.#id))?.management ?? null;
      if (asked === null) return null;
      const players = await management.players(asked, managementSecret(passwords.of(this.#id)));
      if (!this.#over && this.#address === null) {
        this.#address = asked;
        this.#unwatch = management.watch(asked, this.#changed);
      }
      const names = players.map(({ name }) => name);
      return counting(row, names).length;
    } catch {
      this.#unfollow();
      this.#restsUntil = clock.now() + REST_MS;
      return null;
    }
  }

  /** Whether the port reports each change. */
  isFollowed(): boolean {
    return this.#address !== null;
  }

  end(): void {
    this.#over = true;
    this.#unfollow();
  }

  #unfollow(): void {
    this.#address = null;
    this.#unwatch();
  }
}

/** How long a running game has shown no activity. */
interface Silence {
  /** How long the whole game has been silent; null if something answered, absent if it cannot be known. */
  silentMs?: number | null;
  /** A silent game's last lines. */
  lastLines?: string;
}

const LAST_LINES = 20;
/**
 * Limit of the silence added between two calls, so that a changed clock or a suspended machine does not count as
 * silence.
 */
const MOST_BETWEEN_MS = MINUTE_MS;

/**
 * Follows one running game. Call the returned function regularly with whether a port has answered; if none has, new log
 * lines also count as a sign of life. The silence is unknown while the engine or the game's node is unreachable, or
 * shows no game: the end is then about to be reported.
 */
function listenFor({ engine, clock }: GameAccess, id: string): (answered: boolean) => Promise<Silence> {
  let silentMs: number | undefined;
  let lookedAt = 0;
  let position: string | undefined;

  async function lastLines(): Promise<{ position: string; text: string }> {
    const lines: string[] = [];
    let last = '';
    for await (const line of engine.logs(id, { tail: LAST_LINES })) {
      lines.push(line.text);
      last = line.position;
    }
    return { position: last, text: lines.join('\n') };
  }

  return async (answered) => {
    const at = clock.now();
    const since = Math.min(Math.max(0, at - lookedAt), MOST_BETWEEN_MS);
    if (answered) {
      silentMs = undefined;
      position = undefined;
      return { silentMs: null };
    }
    lookedAt = at;
    if (lostGame(engine.nodes, id)) return {};
    try {
      if (!(await engine.inspect(id))?.up) return {};
      const log = await lastLines();
      const isNew = position !== undefined && position !== log.position;
      position = log.position;
      if (isNew) {
        silentMs = undefined;
        return { silentMs: null };
      }
      silentMs = silentMs === undefined ? 0 : silentMs + since;
      return { silentMs, lastLines: log.text };
    } catch {
      return {};
    }
  };
}

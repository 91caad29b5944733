import type { ServerEvent } from '../../machines/server-types.ts';
import { type Console, ConsoleError } from '../engines/console/console.ts';
import type { GameStatus, Pinger } from '../engines/pinger.ts';
import { listedCount } from '../game/online-players.ts';
import type { Log } from '../kernel/log.ts';
import { INT32_MAX, KIB, MINUTE_MS } from '../kernel/units.ts';
import type { EffectHost } from './effect-host.ts';
import { type ManagedPlayers, type ManagedPlayersOptions, managedPlayers } from './managed-players.ts';
import type { Presence } from './presence.ts';
import type { ServerNow } from './server-now.ts';
import { type Silence, type SilenceOptions, listenFor } from './silence.ts';

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
/** Limit of the stored bytes after a status. */
const MAX_TAIL_BYTES = 8 * KIB;

interface SamplingOptions extends ManagedPlayersOptions {
  pinger: Pinger;
  console: Console;
  presence: Presence;
  idleAfterMs: number;
  /** How long a game that used to answer may be silent; 0: unlimited. */
  hungAfterMs: number;
  engine: SilenceOptions['engine'];
  log: Log;
}

/**
 * Sends a SAMPLE regularly until the returned function is called. The service's own requests do not count as activity.
 * Players counted by the game do, and so do those the proxy has connected but the game may not count yet. The count
 * comes from the management port, which also reports changes at once; else from the status; else from the console's
 * `list`. If none of them answers, players is null. Between readings the count follows the proxies, which see joins and
 * leaves immediately.
 */
export function sampleEvery(
  options: SamplingOptions,
  host: EffectHost,
  id: string,
  send: (event: ServerEvent) => void,
): () => void {
  const { presence, clock, idleAfterMs, hungAfterMs } = options;
  const listen = listenFor(options, id);
  const managed = managedPlayers(options, id, gather);
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
    const { online, answered } = await playersOf(options, host, managed, now);
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
    const minutes = host.now(id)?.row.idleTimeoutMinutes ?? 0;
    send({
      type: 'SAMPLE',
      at: clock.now(),
      // A plugin may report any number, in the status and in the reply to `list`.
      players: online === null ? null : Math.min(Math.max(0, online), INT32_MAX),
      joined: presence.of(id),
      idleAfterMs: minutes > 0 ? minutes * MINUTE_MS : idleAfterMs,
      hungAfterMs,
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
  options: SamplingOptions,
  host: EffectHost,
  managed: ManagedPlayers,
  now: ServerNow,
): Promise<Players> {
  const status = await ping(options, host, now);
  const online = (await managed.count(now.row)) ?? status?.playersOnline ?? null;
  return online === null ? await listed(options, now) : { online, answered: true };
}

async function ping(
  { pinger, log }: SamplingOptions,
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

async function listed({ console, rconPassword }: SamplingOptions, { row, context }: ServerNow): Promise<Players> {
  if (context.rcon === null) return { online: null, answered: false };
  const reply = await console.run(context.rcon, rconPassword(row.id), 'list').catch(saidNo);
  return { online: listedCount(reply ?? ''), answered: reply !== undefined };
}

/** A refusal by the game also counts as an answer. */
function saidNo(error: unknown): string | undefined {
  return error instanceof ConsoleError && error.reason === 'refused' ? '' : undefined;
}

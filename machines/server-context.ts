/**
 * Helpers of the statechart in `server.ts`: they read a server's context, or return the fields with which a phase
 * begins.
 */
import { inLine } from './server-reasons.ts';
import type { Address, Cause, Live, NoRoom, Reading, ServerContext, ServerInput } from './server-types.ts';

const HOUR_MS = 3_600_000;
/** How often within an hour a game that ended by itself is restarted. */
const RESTARTS_AN_HOUR = 2;

/** A wake by a player is false if no player has joined after this long. */
export const FALSE_WAKE_MS = 180_000;
/**
 * How long a server is queued for room. For a wake by a player who has not joined, the limit is the time that players
 * wait.
 */
export const ROOM_MS = HOUR_MS;
export const UNCLAIMED_ROOM_MS = 600_000;
/**
 * If the engine has no room at a server's turn, the next attempt is delayed by the time waited so far, within these
 * bounds.
 */
const SOONEST_TRY_MS = 15_000;
const LATEST_TRY_MS = 600_000;

/** How much longer than its idle time a game waits while players are logging in. Games end a login after 30 s. */
export const KNOCK_MS = 60_000;

/** Returns the context of a new, sleeping server. */
export function initialContext({ id, limits, cause }: ServerInput): ServerContext {
  return {
    id,
    limits,
    cause,
    wokenAt: null,
    readyAt: null,
    address: null,
    rcon: null,
    bakedAt: null,
    startFailure: null,
    installFailure: null,
    announced: null,
    queued: null,
    job: null,
    maintained: null,
    crashes: [],
    hangs: [],
    answered: false,
    logAfter: null,
    noRoom: null,
    kill: false,
    retries: [],
    deadlineAt: null,
    keepAwakeUntil: 0,
    played: false,
    live: { phase: 'starting', percent: 0, players: null, lastActiveAt: null },
  };
}

/** Returns the context of a start from any earlier phase: asleep, stopped for a restart, or crashed. */
export function awakening(context: ServerContext, at: number, cause: Cause) {
  return {
    cause,
    wokenAt: at,
    deadlineAt: at + context.limits.startMs,
    announced: null,
    queued: null,
    startFailure: null,
    address: null,
    rcon: null,
    readyAt: null,
    keepAwakeUntil: 0,
    played: false,
    answered: false,
    live: {
      ...context.live,
      phase: 'starting' as const,
      percent: 0,
      players: null,
      lastActiveAt: at,
      silentSince: null,
    },
  };
}

/** Returns the context of going to sleep. From now on, players cannot join the game. */
export function leaving(context: ServerContext, at: number, cause: Cause) {
  return {
    cause,
    deadlineAt: at + context.limits.stopMs,
    announced: null,
    queued: null,
    noRoom: null,
    kill: false,
    startFailure: null,
    address: null,
    readyAt: null,
    live: { ...context.live, players: null },
  };
}

/** Returns the context of an announced stop that begins. A restart is queued behind it. */
export function leavingAsAnnounced(context: ServerContext, at: number) {
  const { type, cause } = context.announced ?? { type: 'STOP', cause: context.cause };
  return { ...leaving(context, at, cause), queued: type === 'RESTART' ? cause : null };
}

/** Returns the context of a wake that starts over. The original request remains its cause. */
export function awakeningAnew(context: ServerContext, at: number) {
  return { ...awakening(context, at, context.cause), played: context.played };
}

/** Returns the context of a server queued for room. Its place counts from the first failure for lack of room. */
export function withoutRoom(context: ServerContext, { at, ...failure }: NoRoom) {
  const foundAt = context.noRoom?.foundAt ?? at;
  const pauseMs = Math.min(LATEST_TRY_MS, Math.max(SOONEST_TRY_MS, at - foundAt));
  // A player who joins during the wait must not shorten it.
  const until = Math.max(context.noRoom?.until ?? 0, foundAt + (unclaimed(context) ? UNCLAIMED_ROOM_MS : ROOM_MS));
  return {
    startFailure: inLine(failure),
    noRoom: { foundAt, tryAt: context.noRoom === null ? at : at + pauseMs, until },
    deadlineAt: until,
    wokenAt: null,
    address: null,
    rcon: null,
    readyAt: null,
    queued: null,
    live: { ...context.live, players: null, percent: 0 },
  };
}

/** Returns the context of an installation. */
export function installing(context: ServerContext, at: number, cause: Cause) {
  return {
    cause,
    wokenAt: at,
    noRoom: null,
    queued: null,
    installFailure: null,
    startFailure: null,
    deadlineAt: at + context.limits.installMs,
    live: { ...context.live, percent: 0 },
  };
}

/**
 * Returns how long the game has been empty, in ms; -1 if that is unknown or does not count. A player who is logging in
 * keeps the game awake only for a limited time, because strangers may never finish a login.
 */
export function restedFor(context: ServerContext, { at, players, joined, held }: Reading): number {
  if (held || players !== 0 || (joined?.inside ?? 0) > 0 || at < context.keepAwakeUntil) return -1;
  const since = Math.max(context.live.lastActiveAt ?? at, context.readyAt ?? at, joined?.insideAt ?? 0);
  return at - since - (joined !== undefined && joined.knocking > 0 ? KNOCK_MS : 0);
}

/**
 * Returns the reason and time of the next automatic sleep (`restedFor`); undefined if no sleep is due or the time is
 * unknown.
 */
export function restDeadline(context: ServerContext, idleAfterMs: number): RestDeadline | undefined {
  const { live, readyAt, keepAwakeUntil } = context;
  if (readyAt === null || live.players !== 0) return undefined;
  const since = Math.max(live.lastActiveAt ?? 0, readyAt);
  const isFalseWake = unclaimed(context) && (idleAfterMs === 0 || FALSE_WAKE_MS < idleAfterMs);
  if (!isFalseWake && idleAfterMs === 0) return undefined;
  const at = Math.max(since + (isFalseWake ? FALSE_WAKE_MS : idleAfterMs), keepAwakeUntil);
  return { name: isFalseWake ? 'falseWake' : 'idle', at };
}

/** `falseWake`: the player who woke the server has not joined. */
export interface RestDeadline {
  name: 'idle' | 'falseWake';
  at: number;
}

/** Whether a game that used to answer has been silent for too long. */
export function hangs({ answered }: ServerContext, { silentMs = null, hungAfterMs = 0 }: Reading): boolean {
  return answered && hungAfterMs > 0 && silentMs !== null && silentMs >= hungAfterMs;
}

/** Returns the context fields that a reading updates. */
export function sampled(context: ServerContext, reading: Reading) {
  const { at, players, joined, held = false } = reading;
  const { played, readyAt, live } = context;
  const isSomebodyIn = (players ?? 0) > 0 || (joined?.inside ?? 0) > 0;
  const left = joined?.insideAt ?? null;
  const lastIn = isSomebodyIn ? at : left !== null && left >= (readyAt ?? 0) ? left : null;
  // A single reading may fail. If a game never reports its players, a false wake cannot be proved, and the run is
  // charged.
  const isUncountable = players === null && live.players === null && at - (readyAt ?? at) >= FALSE_WAKE_MS;
  return {
    // An owner who keeps the server awake requests the run.
    played: played || lastIn !== null || isUncountable || held,
    // A new log line shows that the game runs, but not that it can answer.
    answered: context.answered || (reading.silentMs === null && players !== null),
    live: {
      ...live,
      players,
      silentSince: silentSince(live, reading),
      lastActiveAt: lastIn === null ? live.lastActiveAt : Math.max(lastIn, live.lastActiveAt ?? 0),
    },
  };
}

/**
 * Returns the start of the game's silence; null if the game answers. The last known value stays if the game cannot be
 * queried. A continuing silence keeps its start, even across restarts.
 */
export function silentSince(live: Live, { at, silentMs }: Reading): number | null {
  if (silentMs === undefined) return live.silentSince ?? null;
  return silentMs === null ? null : Math.min(live.silentSince ?? Infinity, at - silentMs);
}

/** Returns the times of the recent retries of a failed start. */
export function recentRetries(context: ServerContext, now: number): number[] {
  return context.retries.filter((at) => at > now - HOUR_MS);
}

/** Returns the times of the recent crashes, with `at` added. */
export function withCrash(context: ServerContext, at: number): number[] {
  return [...recentCrashes(context, at), at].slice(-RESTARTS_AN_HOUR - 1);
}

/** Whether the game may be restarted after one more crash. */
export function mayCrash(context: ServerContext, now: number): boolean {
  return recentCrashes(context, now).length < RESTARTS_AN_HOUR;
}

/** Whether the game has crashed or hung so often that only its owner can fix it. */
export function loops(context: ServerContext, now: number): boolean {
  return recentCrashes(context, now).length > RESTARTS_AN_HOUR || recentHangs(context, now).length > 1;
}

/** Returns the times of the recent hangs, with `at` added. */
export function withHang(context: ServerContext, at: number): number[] {
  return [...recentHangs(context, at), at].slice(-2);
}

/** Whether the game has hung within the last hour. Only the first hang leads to a restart. */
export function hungBefore(context: ServerContext, now: number): boolean {
  return recentHangs(context, now).length > 0;
}

function recentHangs({ hangs: all }: ServerContext, now: number): number[] {
  return all.filter((at) => at > now - HOUR_MS);
}

function recentCrashes({ crashes }: ServerContext, now: number): number[] {
  return crashes.filter((at) => at > now - HOUR_MS);
}

/** Whether a game's address is unchanged. */
export function sameAddress(a: Address, b: Address | null): boolean {
  return b !== null && a.host === b.host && a.port === b.port;
}

/** Whether a player woke the server, no player has joined since, and no other request was made. Such a run is free. */
export function unclaimed({ cause, played }: Pick<ServerContext, 'cause' | 'played'>): boolean {
  return cause.kind === 'player' && !played;
}

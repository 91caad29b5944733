/** Reads of a server's context by its statechart, and the contexts that the stretches of a server's life begin with. */
import { inLine } from './server-reasons.ts';
import type { Address, Cause, Live, NoRoom, Reading, ServerContext, ServerInput } from './server-types.ts';

const HOUR_MS = 3_600_000;
/** So often within an hour a game that ended by itself is started again. */
const RESTARTS_AN_HOUR = 2;

/** A wake by a player is false if no player has joined after this long. */
export const FALSE_WAKE_MS = 180_000;
/** So long a server stands in line for room to start in; one that a player has woken and not entered only as long as players do. */
export const ROOM_MS = HOUR_MS;
export const UNCLAIMED_ROOM_MS = 600_000;
/**
 * If the engine has no room at a server's turn, the next try comes after the time waited so far, within these bounds.
 */
const SOONEST_TRY_MS = 15_000;
const LATEST_TRY_MS = 600_000;

/** So much longer than its idle time a game waits while players are logging in. Games themselves end a login after 30 s. */
export const KNOCK_MS = 60_000;

/** Asleep, and nothing has happened yet. */
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

/** Towards a ready game, whatever was before: asleep, stopped for a restart, or crashed. */
export function awakening(context: ServerContext, at: number, cause: Cause) {
  return {
    cause,
    wokenAt: at,
    deadlineAt: at + context.limits.startMs,
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

/** A wake that starts again because it could not be done yet. The original requester stays its cause. */
export function awakeningAnew(context: ServerContext, at: number) {
  return { ...awakening(context, at, context.cause), played: context.played };
}

/** In line for room to start in, where it stands from when that was first missing. */
export function withoutRoom(context: ServerContext, { at, ...failure }: NoRoom) {
  const foundAt = context.noRoom?.foundAt ?? at;
  const pauseMs = Math.min(LATEST_TRY_MS, Math.max(SOONEST_TRY_MS, at - foundAt));
  // A player who joins meanwhile makes the wish of others no shorter.
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

/** Towards installed content. */
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
 * keeps the game awake for a while, but no longer: strangers who never finish must not keep it awake.
 */
export function restedFor(context: ServerContext, { at, players, joined }: Reading): number {
  if (players !== 0 || (joined?.inside ?? 0) > 0 || at < context.keepAwakeUntil) return -1;
  const since = Math.max(context.live.lastActiveAt ?? at, context.readyAt ?? at, joined?.insideAt ?? 0);
  return at - since - (joined !== undefined && joined.knocking > 0 ? KNOCK_MS : 0);
}

/**
 * Returns the reason and time of the coming automatic sleep (`restedFor`); undefined if none is due or the time is
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

/** `falseWake`: the player who woke it has not come in. */
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
  const { at, players, joined } = reading;
  const { played, readyAt, live } = context;
  const isSomebodyIn = (players ?? 0) > 0 || (joined?.inside ?? 0) > 0;
  const left = joined?.insideAt ?? null;
  const lastIn = isSomebodyIn ? at : left !== null && left >= (readyAt ?? 0) ? left : null;
  // One answer may fail; a game that gives none can be shown to be no false wake as little as to be one, and is charged.
  const isUncountable = players === null && live.players === null && at - (readyAt ?? at) >= FALSE_WAKE_MS;
  return {
    played: played || lastIn !== null || isUncountable,
    // A line in its log shows that it lives, not that it would answer.
    answered: context.answered || (reading.silentMs === null && players !== null),
    live: {
      ...live,
      players,
      silentSince: silentSince(live, reading),
      lastActiveAt: lastIn === null ? live.lastActiveAt : Math.max(lastIn, live.lastActiveAt ?? 0),
    },
  };
}

/** The last knowledge stays if the game cannot be asked. A silence keeps its beginning while it lasts, across restarts too. */
export function silentSince(live: Pick<Live, 'silentSince'>, { at, silentMs }: Reading): number | null {
  if (silentMs === undefined) return live.silentSince ?? null;
  return silentMs === null ? null : Math.min(live.silentSince ?? Infinity, at - silentMs);
}

/** The retries of a failed start that still count. */
export function recentRetries(context: ServerContext, now: number): number[] {
  return context.retries.filter((at) => at > now - HOUR_MS);
}

/** The ends of its game that still count, and one more. */
export function withCrash(context: ServerContext, at: number): number[] {
  return [...recentCrashes(context, at), at].slice(-RESTARTS_AN_HOUR - 1);
}

/** Whether its game may end by itself once more and be started again. */
export function mayCrash(context: ServerContext, now: number): boolean {
  return recentCrashes(context, now).length < RESTARTS_AN_HOUR;
}

/** Whether its game has ended by itself, or hung, so often that only its owner can mend it. */
export function loops(context: ServerContext, now: number): boolean {
  return recentCrashes(context, now).length > RESTARTS_AN_HOUR || recentHangs(context, now).length > 1;
}

/** The hangs of its game that still count, and one more. */
export function withHang(context: ServerContext, at: number): number[] {
  return [...recentHangs(context, at), at].slice(-2);
}

/** Whether its game has hung before within the hour: once it is started again. */
export function hungBefore(context: ServerContext, now: number): boolean {
  return recentHangs(context, now).length > 0;
}

function recentHangs({ hangs: all }: ServerContext, now: number): number[] {
  return all.filter((at) => at > now - HOUR_MS);
}

function recentCrashes({ crashes }: ServerContext, now: number): number[] {
  return crashes.filter((at) => at > now - HOUR_MS);
}

/** Whether a game is still where it was. */
export function sameAddress(a: Address, b: Address | null): boolean {
  return b !== null && a.host === b.host && a.port === b.port;
}

/** Reports whether a player woke the server, never joined, and no other request was made. Such a run is free. */
export function unclaimed({ cause, played }: Pick<ServerContext, 'cause' | 'played'>): boolean {
  return cause.kind === 'player' && !played;
}

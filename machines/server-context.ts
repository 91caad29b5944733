/** What a server's statechart reads from its context, and the contexts it begins the stretches of its life with. */
import type { Address, Cause, ServerContext, ServerInput } from './server-types.ts';

const HOUR_MS = 3_600_000;
/** So often within an hour a game that ended by itself is started again. */
const RESTARTS_AN_HOUR = 2;

/** What the context has gained since 0.1: snapshots stored before lack it. */
export const GAINED = { job: null, maintained: null, crashes: [], logAfter: null } satisfies Partial<ServerContext>;

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
    ...GAINED,
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
    live: { ...context.live, phase: 'starting' as const, percent: 0, players: null, lastActiveAt: at },
  };
}

/** Towards installed content. */
export function installing(context: ServerContext, at: number, cause: Cause) {
  return {
    cause,
    wokenAt: at,
    queued: null,
    installFailure: null,
    startFailure: null,
    deadlineAt: at + context.limits.installMs,
    live: { ...context.live, percent: 0 },
  };
}

/** How long nobody has been in the game; -1 where that is not known or must not count. */
export function restedFor(context: ServerContext, reading: { at: number; players: number | null }): number {
  const since = Math.max(context.live.lastActiveAt ?? reading.at, context.readyAt ?? reading.at);
  return reading.players === 0 && reading.at >= context.keepAwakeUntil ? reading.at - since : -1;
}

/** Those retries of a failed start that still count. */
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

/** Whether its game has ended by itself so often that only its owner can mend it. */
export function loops(context: ServerContext, now: number): boolean {
  return recentCrashes(context, now).length > RESTARTS_AN_HOUR;
}

function recentCrashes({ crashes }: ServerContext, now: number): number[] {
  return crashes.filter((at) => at > now - HOUR_MS);
}

/** Whether a game is still where it was. */
export function sameAddress(a: Address, b: Address | null): boolean {
  return b !== null && a.host === b.host && a.port === b.port;
}

/** Whether a player woke it who has not come in, and nobody else has asked for it: nobody pays for that. */
export function unclaimed({ cause, played }: Pick<ServerContext, 'cause' | 'played'>): boolean {
  return cause.kind === 'player' && !played;
}

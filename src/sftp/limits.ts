import type { Clock } from '../kernel/clock.ts';
import type { BackoffRule } from '../kernel/limits/sliding-log.ts';
import { MIB, MINUTE_MS, SECOND_MS } from '../kernel/units.ts';

/** Limits for SFTP clients, before and after their sign-in. */
export interface SftpLimits {
  /** Limits of connections: in total and per address; the same before sign-in; and per server after sign-in. */
  connections: number;
  connectionsPerAddress: number;
  signingIn: number;
  signingInPerAddress: number;
  connectionsPerServer: number;
  /** Time for a client to identify itself. */
  helloMs: number;
  /** Time to sign in: a person must compare a fingerprint and find a password first. */
  signInMs: number;
  /** How long a client may go without a request. */
  idleMs: number;
  /** Password attempts per connection, and the delay before a refusal. */
  tries: number;
  refusalDelayMs: number;
  /** New connections per address. A connection with a successful sign-in does not count. */
  connects: BackoffRule;
  /**
   * Penalties for connections that end before the sign-in: `silentMs` for a client that ran out of time, `brokenMs` for
   * a client that disconnected. They add up by source (an IPv4 address, or an IPv6 /48).
   */
  penalties: PenaltyRule & { silentMs: number; brokenMs: number };
  /** Wrong passwords, by address and by name. */
  address: BackoffRule;
  name: BackoffRule;
  /** Open files and directories, per session and in total. */
  handles: number;
  handlesOfAll: number;
  /**
   * Most bytes that may wait in this process for each direction of a connection, whether or not the client follows the
   * protocol.
   */
  waitingBytes: number;
}

/** A session uses at most about 10 MiB: the waiting bytes of both directions, and one packet in progress. */
export const SFTP_LIMITS: SftpLimits = {
  connections: 256,
  connectionsPerAddress: 32,
  signingIn: 64,
  signingInPerAddress: 16,
  connectionsPerServer: 16,
  helloMs: 10 * SECOND_MS,
  signInMs: MINUTE_MS,
  idleMs: 15 * MINUTE_MS,
  tries: 3,
  refusalDelayMs: SECOND_MS,
  connects: { free: 60, firstWaitMs: SECOND_MS, longestWaitMs: MINUTE_MS, windowMs: 10 * MINUTE_MS },
  penalties: { silentMs: 10 * SECOND_MS, brokenMs: SECOND_MS, leastMs: 15 * SECOND_MS, mostMs: 10 * MINUTE_MS },
  address: { free: 30, firstWaitMs: SECOND_MS, longestWaitMs: MINUTE_MS, windowMs: 15 * MINUTE_MS },
  name: { free: 20, firstWaitMs: SECOND_MS, longestWaitMs: MINUTE_MS, windowMs: 15 * MINUTE_MS },
  handles: 128,
  handlesOfAll: 8_192,
  // The library lets a client send 2 MiB beyond what has been read, and renews this window once half of it is used.
  waitingBytes: 4.5 * MIB,
};

interface PenaltyRule {
  /** Penalties with a smaller sum are not enforced, because any client disconnects now and then. */
  leastMs: number;
  /** The longest time from now until a penalty ends. */
  mostMs: number;
}

/** Blocks keys for a while if they often do what only attackers do often (`PerSourcePenalties` of OpenSSH). */
export interface Penalties {
  add(key: string, ms: number): void;
  isEnforced(key: string): boolean;
}

const KEPT = 50_000;

/** Creates penalties in memory, at most `kept` of them: the one increased longest ago is forgotten first. */
export function createPenalties({ leastMs, mostMs }: PenaltyRule, clock: Clock, kept = KEPT): Penalties {
  const penalties = new Map<string, { until: number; enforced: boolean }>();
  return {
    add(key, ms) {
      const now = clock.now();
      const before = penalties.get(key);
      const open = before && before.until > now && before.until <= now + mostMs ? before : undefined;
      const until = Math.min(now + mostMs, (open?.until ?? now) + ms);
      penalties.delete(key);
      penalties.set(key, { until, enforced: open?.enforced === true || until - now >= leastMs });
      const [oldest] = penalties.keys();
      if (oldest !== undefined && penalties.size > kept) penalties.delete(oldest);
    },
    isEnforced(key) {
      const penalty = penalties.get(key);
      if (!penalty) return false;
      const now = clock.now();
      // An end further in the future was set before the clock was set back.
      if (penalty.until <= now || penalty.until > now + mostMs) penalties.delete(key);
      return penalty.enforced && penalties.has(key);
    },
  };
}

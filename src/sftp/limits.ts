import type { Clock } from '../kernel/clock.ts';
import type { BackoffRule } from '../kernel/limits/sliding-log.ts';
import { MIB, MINUTE_MS, SECOND_MS } from '../kernel/units.ts';

/** The limits of strangers and clients. */
export interface SftpLimits {
  /** Connections: of all, of an address, of both before somebody has signed in, and of one server behind that. */
  connections: number;
  connectionsPerAddress: number;
  signingIn: number;
  signingInPerAddress: number;
  connectionsPerServer: number;
  /** How soon a client must have said what it is. */
  helloMs: number;
  /** How soon somebody must have signed in: a person has to compare a fingerprint and find a password first. */
  signInMs: number;
  /** How long a client may go without a request. */
  idleMs: number;
  /** Wrong passwords of a connection, and how long each is thought about. */
  tries: number;
  refusalDelayMs: number;
  /** New connections from an address without a successful sign-in. */
  connects: BackoffRule;
  /**
   * Connections that end before anybody has signed in: what one is worth that was silent until its time was up, and one that
   * broke off, in sum by source (an address, or the /48 of an IPv6 one).
   */
  penalties: PenaltyRule & { silentMs: number; brokenMs: number };
  /** Wrong passwords, by address and by name. */
  address: BackoffRule;
  name: BackoffRule;
  /** Open files and directories, of a session and of all. */
  handles: number;
  handlesOfAll: number;
  /** Bytes that may wait in this process in one direction of a connection, of a client that keeps to the protocol or not. */
  waitingBytes: number;
}

/** A session holds at most some 10 MiB: what waits each way, and a packet in work. */
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
  // The library lets a client send 2 MiB ahead of what has been taken, and renews that when half is used up.
  waitingBytes: 4.5 * MIB,
};

interface PenaltyRule {
  /** Penalties that add up to less than this are not enforced: everybody breaks off now and then. */
  leastMs: number;
  /** No longer than this from now. */
  mostMs: number;
}

/** Shuts out for a while keys that do what only attackers do often (`PerSourcePenalties` of OpenSSH). */
export interface Penalties {
  add(key: string, ms: number): void;
  isEnforced(key: string): boolean;
}

const KEPT = 50_000;

/** Penalties in memory, at most `kept` of them: the one added to longest ago is forgotten first. */
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
      // An end further ahead was set before the clock was set back.
      if (penalty.until <= now || penalty.until > now + mostMs) penalties.delete(key);
      return penalty.enforced && penalties.has(key);
    },
  };
}

import type { Clock } from '../clock.ts';

export interface PenaltyRule {
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
export function createPenalties({ leastMs, mostMs }: PenaltyRule, clock: Pick<Clock, 'now'>, kept = KEPT): Penalties {
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

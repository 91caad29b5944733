import type { JoinedPlayers } from '../../machines/server-types.ts';
import type { Joined, Presence as PresencePort } from '../../proxy/ports.ts';
import type { Clock } from '../kernel/clock.ts';

/**
 * The players on the games, as last reported by the proxies. In memory only: after a restart of the service, proxies
 * report everything again.
 */
export interface Presence extends PresencePort {
  of(serverId: string): JoinedPlayers;
  /**
   * Registers a listener for changes of a game's player count and for connections that end. Returns a function that
   * removes it.
   */
  follow(listener: (serverId: string) => void): () => void;
  /** Forgets the players of a run that is over. */
  forget(serverId: string): void;
  /** Until this settles, reports are incomplete and no player counts as gone. */
  expect(report: Promise<unknown>): void;
  isKnown(): boolean;
}

const NOBODY: JoinedPlayers = { inside: 0, knocking: 0, insideAt: null };

function latest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

export function createPresence(clock: Clock): Presence {
  const known = new Map<string, JoinedPlayers>();
  const listeners = new Set<(serverId: string) => void>();
  let awaited = 0;
  return {
    changed(serverId, { inside, knocking, insideMsAgo }: Joined) {
      const before = known.get(serverId) ?? NOBODY;
      const visitedAt = insideMsAgo === undefined ? before.insideAt : clock.now() - insideMsAgo;
      const insideAt = inside > 0 || before.inside > 0 ? clock.now() : latest(before.insideAt, visitedAt);
      if (inside + knocking === 0 && insideAt === null) known.delete(serverId);
      else known.set(serverId, { inside, knocking, insideAt });
      const hasChanged = inside !== before.inside || inside + knocking < before.inside + before.knocking;
      if (hasChanged) for (const listener of listeners) listener(serverId);
    },
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    of(serverId) {
      const now = known.get(serverId) ?? NOBODY;
      return now.inside > 0 ? { ...now, insideAt: clock.now() } : now;
    },
    expect(report) {
      awaited++;
      void Promise.allSettled([report]).then(() => awaited--);
    },
    isKnown: () => awaited === 0,
    forget(serverId) {
      const { inside, knocking } = known.get(serverId) ?? NOBODY;
      // Connections still open will close in a moment and be reported then.
      if (inside + knocking === 0) known.delete(serverId);
      else known.set(serverId, { inside: 0, knocking: inside + knocking, insideAt: null });
    },
  };
}

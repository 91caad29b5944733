import type { Failure } from '../../machines/server-types.ts';
import { type ServerNow, waitsForRoom } from './server-now.ts';

/** Obstacles to servers that would otherwise run: an operator, an unresponsive node, or missing room. */
export interface ServerBlocks {
  /** Returns why a server cannot proceed; undefined without an obstacle. `now`: the server; undefined if it sleeps. */
  of(serverId: string, now: Run | undefined): Failure | undefined;
  /**
   * Reports each server whose obstacle changed without a change of its own. Returns a function that removes the
   * listener.
   */
  follow(listener: (serverId: string) => void): () => void;
}

type Run = Pick<ServerNow, 'state' | 'context'>;

/** A property of servers that reports its changes. */
export interface Observed<Found> {
  /** Returns the server's value; undefined if it has none. */
  of(serverId: string): Found | undefined;
  /** Reports each server whose value changed. Returns a function that removes the listener. */
  follow(listener: (serverId: string) => void): () => void;
}

export interface ServerBlocksOptions {
  suspensions: Observed<{ reason: string }>;
  /** Servers whose game is on an unresponsive machine that may still run it. */
  lostGames?: Observed<{ node: string }> | undefined;
}

export function createServerBlocks({ suspensions, lostGames }: ServerBlocksOptions): ServerBlocks {
  return {
    of(serverId, now) {
      const suspended = suspensions.of(serverId);
      if (suspended !== undefined) return suspension(suspended);
      const lost = lostGames?.of(serverId);
      if (lost !== undefined) return loss(lost);
      return now && waitsForRoom(now) ? (now.context.startFailure ?? undefined) : undefined;
    },
    follow(listener) {
      const all = [suspensions.follow(listener), lostGames?.follow(listener)];
      return () => all.forEach((cancel) => cancel?.());
    },
  };
}

/** Returns the suspension as a failure, because pages show failed starts that way. */
function suspension({ reason }: { reason: string }): Failure {
  const suggestion = 'Ask the operator of this installation.';
  return { code: 'suspended', summary: `Suspended: ${reason}`, suggestion, raw: '' };
}

/** Returns the failure of a game that is unreachable and must not be started elsewhere yet. */
function loss({ node }: { node: string }): Failure {
  const summary = `Its machine is not responding: ${node} may still run it, and two games on one world would corrupt it.`;
  const suggestion = 'It continues automatically when that machine is back or marked as off. The operator can mark it.';
  return { code: 'node_lost', summary, suggestion, raw: '' };
}

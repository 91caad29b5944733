import type { Failure } from '../../machines/server-types.ts';
import { type ServerNow, waitsForRoom } from './server-now.ts';

/** Obstacles to servers that would otherwise run: an operator, an unresponsive node, or missing room. */
export interface Standing {
  /** Why a server does not go on; undefined: nothing of that is against it. `now`: the server; undefined for one that sleeps. */
  of(serverId: string, now: Run | undefined): Failure | undefined;
  /** Reports each server whose standing changed without a change of its own. Returns the cancellation. */
  follow(listener: (serverId: string) => void): () => void;
}

type Run = Pick<ServerNow, 'state' | 'context'>;

/** A property of servers that reports its changes. */
export interface Told<Found> {
  /** Undefined: that is not so of this server. */
  of(serverId: string): Found | undefined;
  /** Reports each server whose value changed. Returns the cancellation. */
  follow(listener: (serverId: string) => void): () => void;
}

export interface StandingOptions {
  suspensions: Told<{ reason: string }>;
  /** The machine that a server's game is on, where that does not answer and may still run it. */
  lostGames?: Told<{ node: string }> | undefined;
}

export function createStanding({ suspensions, lostGames }: StandingOptions): Standing {
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

/** A suspended server cannot start, and why is said where other failures of a start are. */
function suspension({ reason }: { reason: string }): Failure {
  const suggestion = 'Ask the operator of this installation.';
  return { code: 'suspended', summary: `Suspended: ${reason}`, suggestion, raw: '' };
}

/** A game that can neither be reached nor started elsewhere yet. */
function loss({ node }: { node: string }): Failure {
  const summary = `Its machine does not answer: ${node} may still run it, and two games on one world would ruin it.`;
  const suggestion = 'It continues automatically when that machine is back or marked as off. The operator can mark it.';
  return { code: 'node_lost', summary, suggestion, raw: '' };
}

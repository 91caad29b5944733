import type { Failure } from '../../machines/server-types.ts';

/** What is against servers beside their own machines: an operator, or a node that does not answer. */
export interface Standing {
  /** Why a server does not go on; undefined: nothing of that is against it. */
  of(serverId: string): Failure | undefined;
  /** Tells each server for which that has changed. Returns the cancellation. */
  follow(listener: (serverId: string) => void): () => void;
}

/** Follows what it tells of. */
interface Told<Found> {
  of(serverId: string): Found | undefined;
  follow(listener: (serverId: string) => void): () => void;
}

export interface StandingOptions {
  suspensions: Told<{ reason: string }>;
  /** The machine that a server's game is on, where that does not answer and may still run it. */
  lostGames?: Told<{ node: string }> | undefined;
}

export function createStanding({ suspensions, lostGames }: StandingOptions): Standing {
  return {
    of(serverId) {
      const suspended = suspensions.of(serverId);
      if (suspended !== undefined) return suspension(suspended);
      const lost = lostGames?.of(serverId);
      return lost && loss(lost);
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
  const suggestion =
    'It goes on by itself as soon as that machine is back, or is surely off. The operator can say that it is.';
  return { code: 'node_lost', summary, suggestion, raw: '' };
}

import type { Failure, ServerContext, ServerState } from '../../machines/server-types.ts';
import type { ServerRow } from './rows.ts';

/** One server now: its owner's settings (`row`) and its run (`state`, `context`). */
export interface ServerNow {
  row: ServerRow;
  state: ServerState;
  context: ServerContext;
}

/** Whether the server is queued for room to start. */
export function waitsForRoom({ state, context }: ServerNow): boolean {
  return state === 'start_failed' && context.noRoom !== null;
}

/** Changed fields of a server's row. A function computes them in the write, from the row at that time. */
export type RowChange = Partial<ServerRow> | ((row: ServerRow) => Partial<ServerRow>);

/** A property of servers that reports its changes. */
export interface Observed<Found> {
  /** Returns the server's value; undefined if it has none. */
  of(serverId: string): Found | undefined;
  /** Reports each server whose value changed. Returns a function that removes the listener. */
  follow(listener: (serverId: string) => void): () => void;
}

/** Obstacles to servers that would otherwise run: an operator, an unresponsive node, or missing room. */
export class ServerBlocks {
  readonly #suspensions: Observed<{ reason: string }>;
  readonly #lostGames: Observed<{ node: string }> | undefined;

  /** `lostGames`: servers whose game is on an unresponsive machine that may still run it. */
  constructor(suspensions: Observed<{ reason: string }>, lostGames: Observed<{ node: string }> | undefined) {
    this.#suspensions = suspensions;
    this.#lostGames = lostGames;
  }

  /** Returns why a server cannot proceed; undefined without an obstacle. `now`: the server; undefined if it sleeps. */
  of(serverId: string, now: ServerNow | undefined): Failure | undefined {
    const suspended = this.#suspensions.of(serverId);
    if (suspended !== undefined) return suspension(suspended);
    const lost = this.#lostGames?.of(serverId);
    if (lost !== undefined) return loss(lost);
    return now && waitsForRoom(now) ? (now.context.startFailure ?? undefined) : undefined;
  }

  /**
   * Reports each server whose obstacle changed without a change of its own. Returns a function that removes the
   * listener.
   */
  follow(listener: (serverId: string) => void): () => void {
    const all = [this.#suspensions.follow(listener), this.#lostGames?.follow(listener)];
    return () => all.forEach((cancel) => cancel?.());
  }
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

/** Returns the server's median cold start, in ms; undefined before the first one. */
export function usualStartMs({ coldStartsMs }: ServerRow): number | undefined {
  return coldStartsMs.toSorted((a, b) => a - b)[Math.floor(coldStartsMs.length / 2)];
}

/** Returns the estimated seconds left of a start; null for a first start, during a download, or if slower than usual. */
export function etaSeconds({ row, context: { wokenAt, live } }: ServerNow, at: number): number | null {
  const usualMs = usualStartMs(row);
  if (usualMs === undefined || wokenAt === null) return null;
  if (live.phase === 'downloading' || live.phase === 'installing') return null;
  const left = Math.ceil((wokenAt + usualMs - at) / 1_000);
  return left > 0 ? left : null;
}

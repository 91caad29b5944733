import type { Accounts } from './accounts.ts';
import type { Clock, Deadlines } from './client-connection.ts';
import type { Limiter } from './limits.ts';
import type { Pipe } from './pipe.ts';
import type { Log, Player, Routes, Wake } from './ports.ts';
import type { Limits, Timings } from './settings.ts';
import type { StatusResponder } from './status.ts';
import type { WaitingList } from './waiting/waiting-list.ts';

export const KICK_RULES = [
  'gone',
  'badName',
  'busy',
  'tooFast',
  'comeBack',
  'tooLong',
  'unreachable',
  'failed',
  'closing',
  'left',
  'refused',
  'unverified',
  'verified',
] as const;

/** Why a join was not served. */
export type KickRule = (typeof KICK_RULES)[number];

/** Totals since the proxy was created. `held` and `unrouted` are current values. */
export interface Counters {
  accepted: number;
  unrouted: number;
  held: number;
  statusAnswers: number;
  joins: number;
  kicks: Record<KickRule, number>;
}

/** State shared by all connections of one proxy. */
export interface Context {
  routes: Routes;
  wake: Wake;
  log: Log;
  limits: Limits;
  timings: Timings;
  /** Epoch ms. */
  now: () => number;
  /** Measures time spans, independently of changes to the wall clock. */
  clock: Clock;
  limiter: Limiter;
  /** Reports whether connections from this address start with a PROXY header. */
  isBalancer: (ip: string) => boolean;
  /** Reports whether connections from this address come through a trusted proxy in front, which names the player. */
  isFront: (ip: string) => boolean;
  /** The key of Floodgate's data; undefined if it is not set. */
  floodgateKey: Buffer | undefined;
  /** Reports whether players at this address get a message if the server name is unknown. */
  isNeighbour: (ip: string) => boolean;
  accounts: Accounts;
  waitingList: WaitingList;
  deadlines: Deadlines;
  statuses: StatusResponder;
  counters: Counters;
  /** Aborted when the proxy closes. */
  closing: AbortSignal;
  /** Adopts the pipe of a player joined to a game. */
  keep(serverId: string, player: Player, pipe: Pipe): void;
}

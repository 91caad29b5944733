import type { Accounts } from './accounts.ts';
import type { Clock, Deadlines } from './deadlines.ts';
import type { Limiter } from './limits.ts';
import type { Pipe } from './pipe.ts';
import type { Log, Player, Routes, Wake } from './ports.ts';
import type { Limits, Timings } from './settings.ts';
import type { StatusResponder } from './status.ts';
import type { WaitingList } from './waiting/waiting-list.ts';

/** Why a join was not served. */
export type KickRule =
  | 'gone'
  | 'badName'
  | 'busy'
  | 'tooFast'
  | 'comeBack'
  | 'tooLong'
  | 'unreachable'
  | 'failed'
  | 'closing'
  | 'left'
  | 'refused'
  | 'unverified'
  | 'verified';

/** Since the proxy was made; `held` and `unrouted` are of this moment. */
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
  /** Spans of time, which a change of the wall clock must not stretch. */
  clock: Clock;
  limiter: Limiter;
  /** Whether connections from this address say in a PROXY header whose they are. */
  isBalancer: (ip: string) => boolean;
  /** Whether players at this address get a message if the server name is unknown. */
  isNeighbour: (ip: string) => boolean;
  accounts: Accounts;
  waitingList: WaitingList;
  deadlines: Deadlines;
  statuses: StatusResponder;
  counters: Counters;
  /** Aborted when the proxy closes. */
  closing: AbortSignal;
  /** Takes charge of a player joined to a game. */
  keep(serverId: string, player: Player, pipe: Pipe): void;
}

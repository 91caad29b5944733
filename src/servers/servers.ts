import type { Cause, Job, ServerCommand, ServerEvent, ServerLimits, ServerState } from '../../machines/server-types.ts';
import type { StepListener } from '../actors/machine-step.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { StatusError } from '../kernel/status.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import type { ServerStep } from '../audit/audit.ts';
import type { Store, Tx } from '../store/store.ts';
import type { EffectHost } from './effect-host.ts';
import type { Effects } from './effects.ts';
import type { Intervention } from './operator-events.ts';
import type { ServerPlace, ServerRow } from './rows.ts';
import type { RowChange, ServerNow } from './server-now.ts';
import type { TransitionRow } from './transition-rows.ts';
import type { CheckedCommand, WakeCheck } from './wake-checks.ts';

/** All servers of the installation, each one an actor. */
export interface Servers {
  /**
   * Stores the server and its first snapshot. A server with a mod pack enters `installing`. Rejects with ALREADY_EXISTS
   * if the id or host name is taken.
   */
  create(row: ServerRow, cause: Cause): Promise<ServerNow>;
  /** Resolves with undefined for unknown servers and for those being deleted. */
  get(id: string): Promise<ServerNow | undefined>;
  /** Returns the number of an account's servers. */
  count(accountId: string): Promise<number>;
  /** Returns the total RAM of an account's servers, asleep or awake. */
  ramMb(accountId: string): Promise<number>;
  listByAccount(accountId: string): Promise<ServerNow[]>;
  /** Yields an account's servers in pages of at most `size` from a place on. Each page is read on demand. */
  pagesByAccount(accountId: string, size: number, after?: ServerPlace): AsyncGenerator<ServerPage>;
  /**
   * Sends a command and resolves once it is stored. Rejects with NOT_FOUND; FAILED_PRECONDITION if the state does not
   * allow it; UNAVAILABLE if it could not be stored, in which case it had no effect. `fields` are changes of the row
   * for the same write.
   */
  send(id: string, command: ServerCommand, fields?: Partial<ServerRow>): Promise<ServerNow>;
  /**
   * Sends an operator's event, also to a server that is being deleted; otherwise like `send`. Rejects with
   * FAILED_PRECONDITION EVENT_NOT_LEGAL, listing the accepted events.
   */
  intervene(id: string, event: Intervention): Promise<void>;
  /** Changes an owner's settings, which effects read on their next action. `also` runs in the same write. */
  patch(id: string, change: RowChange, also?: (tx: Tx) => Promise<void>): Promise<ServerNow>;
  /**
   * Changes settings that must not change during a run. Rejects with NOT_FOUND, or with FAILED_PRECONDITION
   * SERVER_NOT_STOPPED unless the server is at rest, with no start or job pending. Wakes wait until the change is
   * stored.
   */
  patchAtRest(id: string, change: RowChange, also?: (tx: Tx) => Promise<void>): Promise<ServerNow>;
  inspect(id: string): Promise<MachineView | undefined>;
  /**
   * Sends a fact and resolves once its change is stored. A server that is gone, or does not handle the fact in its
   * state, ignores it. Rejects if the change could not be stored; the fact must then be sent again.
   */
  notify(id: string, fact: ServerEvent): Promise<void>;
  /**
   * Registers a listener for changes of any server, called with null once a server is gone. Returns a function that
   * removes it.
   */
  observe(listener: (id: string, now: ServerNow | null) => void): () => void;
  /** Reports each stored step of any server, readings excluded. Returns a function that removes the listener. */
  follow(listener: StepListener): () => void;
  /**
   * Resolves with the first state of the server, including the present one, that satisfies the condition. Rejects when
   * `signal` fires.
   */
  until(id: string, satisfies: (now: ServerNow | null) => boolean, signal: AbortSignal): Promise<ServerNow | null>;
  /**
   * Runs `check` before each of these commands from now on. By default these are the commands that wake a sleeping
   * server, or queue a wake. A refused CREATE leaves no server behind. Returns a function that removes the check.
   */
  checkWakes(check: WakeCheck, commands?: readonly CheckedCommand[]): () => void;
  /** Returns the first refusal of a player's join by the wake checks; undefined if none refuses. */
  refusal(id: string): Promise<StatusError | undefined>;
  /**
   * Returns the refusals of a join or start of several servers, for display. Uses known data, with as few reads for
   * many servers as for one. The map contains only servers with a known refusal.
   */
  refusals(ids: readonly string[], command: 'JOIN' | 'START'): Promise<Map<string, StatusError>>;
  /**
   * Provides the machines' effects and the writes stored with their steps. Call it once, before the first command and
   * `restore`.
   */
  provide(parts: ServerParts): void;
  /** Restores the actors of all servers that are not at rest. */
  restore(): Promise<void>;
  /** Returns all servers that the engine may know: awake, in transition, or failed. */
  live(): ServerNow[];
  /**
   * Returns the job on a server's files, from its synchronous acceptance until it has ended, stored or not. A server
   * whose last change could not be stored counts as having a job until its stored state is known.
   */
  jobOf(id: string): string | undefined;
  /** Stops all actors after their last change is stored. Games keep running. */
  close(): Promise<void>;
}

export interface ServersOptions {
  store: Store;
  clock: Clock;
  /** The machines' clock; see `machine-time.ts`. */
  steady: SteadyClock;
  log: Log;
  limits: ServerLimits;
  /** Runs in the write of each step of any server. Default: adds an audit entry. */
  audit?: (tx: Tx, server: ServerRow, step: ServerStep) => Promise<void>;
  /** Called with the stable reason whenever a wake is refused. */
  onRefusal?: (reason: string) => void;
}

/**
 * Runs in the write of a step, with the server as the step leaves it: for rows that must be stored with it or not at
 * all.
 */
export type OnStep = (tx: Tx, now: ServerNow, step: ServerStep) => Promise<void>;

/** Hooks of rooms that depend on servers. */
export interface ServerParts {
  effects: (host: EffectHost) => Effects;
  onStep?: OnStep | undefined;
}

/** The internals of a server's machine (operation InspectMachine). */
export interface MachineView {
  /** `maintaining`: a job runs on its files; shown as `hibernated` elsewhere. */
  state: ServerState | 'maintaining';
  /** State path: `stopping.halting`. */
  path: string;
  /** The job that runs, or waits for the stop before it. */
  job: Pick<Job, 'kind' | 'target'> | null;
  /** Why the last job failed; '' if it did not. */
  jobError: string;
  /** When the present state was entered; null before the first transition. */
  since: number | null;
  /** Commands accepted now. */
  allowedEvents: string[];
  deadlines: { name: string; at: number }[];
  /** The newest 50, newest first. */
  transitions: TransitionRow[];
  /** The statechart as plain JSON. */
  definition: unknown;
}

/** One page of an account's servers, oldest first. */
export interface ServerPage {
  servers: ServerNow[];
  /** Start of the next page; undefined on the last. */
  next: ServerPlace | undefined;
}

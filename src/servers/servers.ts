import type { Cause, Job, ServerCommand, ServerEvent, ServerLimits, ServerState } from '../../machines/server-types.ts';
import type { StepListener } from '../actors/machine-step.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { StatusError } from '../kernel/status.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import type { ServerStep } from '../people/audit/audit.ts';
import type { Store, Tx } from '../store/store.ts';
import type { EffectHost } from './effect-host.ts';
import type { Effects } from './effects.ts';
import type { Intervention } from './operator-events.ts';
import type { ServerPlace, ServerRow } from './rows.ts';
import type { RowChange, ServerNow } from './server-now.ts';
import type { TransitionRow } from './transition-rows.ts';
import type { CheckedCommand, WakeCheck } from './wake-checks.ts';

/** Every server of the installation, each one an actor. */
export interface Servers {
  /** Stores the server and its first snapshot; with a mod pack it goes to `installing`. ALREADY_EXISTS for a taken id or host name. */
  create(row: ServerRow, cause: Cause): Promise<ServerNow>;
  /** Undefined for unknown servers and for those being deleted. */
  get(id: string): Promise<ServerNow | undefined>;
  /** How many an account has. */
  count(accountId: string): Promise<number>;
  /** RAM of an account's servers together, asleep or awake. */
  ramMb(accountId: string): Promise<number>;
  listByAccount(accountId: string): Promise<ServerNow[]>;
  /** An account's servers in pages of at most `size`, each read when it is asked for, from a place on. */
  pagesByAccount(accountId: string, size: number, after?: ServerPlace): AsyncGenerator<ServerPage>;
  /**
   * Gives a command and resolves once it is stored. NOT_FOUND; FAILED_PRECONDITION where the state does not allow it;
   * UNAVAILABLE where it could not be stored (then nothing has happened). `fields` are what its owner changes with it, in the
   * same write.
   */
  send(id: string, command: ServerCommand, fields?: Partial<ServerRow>): Promise<ServerNow>;
  /**
   * Gives an operator's event, also to a server that is being deleted; otherwise as `send`. FAILED_PRECONDITION
   * EVENT_NOT_LEGAL, which names what would be taken.
   */
  intervene(id: string, event: Intervention): Promise<void>;
  /** Changes what the owner sets; effects read it when they next act. `also` runs in the same write. */
  patch(id: string, change: RowChange, also?: (tx: Tx) => Promise<void>): Promise<ServerNow>;
  /**
   * Changes what a run is made and charged by: NOT_FOUND; FAILED_PRECONDITION SERVER_NOT_STOPPED where anything of the
   * server runs or is about to. What would wake it meanwhile waits until the change is stored.
   */
  patchAtRest(id: string, change: RowChange, also?: (tx: Tx) => Promise<void>): Promise<ServerNow>;
  inspect(id: string): Promise<MachineView | undefined>;
  /**
   * Sends a fact and resolves once its change is stored. A server that does not handle it in its state, or is gone,
   * ignores it. Rejects if it could not be stored: then send it again.
   */
  tell(id: string, fact: ServerEvent): Promise<void>;
  /** Calls after every change of any server, with null once it is gone. Returns the cancellation. */
  observe(listener: (id: string, now: ServerNow | null) => void): () => void;
  /** Reports every step of every server once it is stored, readings excluded. Returns the cancellation. */
  follow(listener: StepListener): () => void;
  /** Resolves with the first state of the server, the present one included, that satisfies; rejects when `signal` fires. */
  until(id: string, satisfies: (now: ServerNow | null) => boolean, signal: AbortSignal): Promise<ServerNow | null>;
  /**
   * From now on asks `check` before one of these commands: by default those that wake a server that is not awake, or will
   * once it has stopped. With CREATE, one that is refused leaves no server behind. Returns the cancellation.
   */
  checkWakes(check: WakeCheck, commands?: readonly CheckedCommand[]): () => void;
  /** Returns the first refusal of a player's join by the wake checks; undefined if none refuses. */
  refusal(id: string): Promise<StatusError | undefined>;
  /**
   * Returns the refusals of a join or start of several servers, for display: from known data, with as few reads for
   * many as for one. Servers without a known refusal are missing.
   */
  refusals(ids: readonly string[], command: 'JOIN' | 'START'): Promise<Map<string, StatusError>>;
  /** Says what the machines make happen and what is stored with their steps: once, before the first command and `restore`. */
  provide(parts: ServerParts): void;
  /** Brings every server that is not at rest back to life. */
  restore(): Promise<void>;
  /** The awake, passing and failed ones: all that the engine may know something of. */
  live(): ServerNow[];
  /**
   * The job on a server's files from the moment it is accepted (synchronously) until it has ended, stored or not. A server whose
   * last change could not be stored counts as having one until it is known what is.
   */
  jobOf(id: string): string | undefined;
  /** Stops all actors as they are, after their last change is stored; games run on. */
  close(): Promise<void>;
}

export interface ServersOptions {
  store: Store;
  clock: Clock;
  /** The machines' clock; see `machine-time.ts`. */
  steady: SteadyClock;
  log: Log;
  limits: ServerLimits;
  /** Runs in the write of every step of every server. Default: into the audit log. */
  audit?: (tx: Tx, server: ServerRow, step: ServerStep) => Promise<void>;
  /** Told the stable reason whenever a server may not be woken. */
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

/** A server's machine laid open (operation InspectMachine). */
export interface MachineView {
  /** `maintaining`: a job is done on its files, and for everybody else it is `hibernated`. */
  state: ServerState | 'maintaining';
  /** State path: `stopping.halting`. */
  path: string;
  /** The job that is done, or waits for the stop before it. */
  job: Pick<Job, 'kind' | 'target'> | null;
  /** Why the last job was given up; '' where it was not. */
  jobError: string;
  /** When the present state was entered; null before the first transition. */
  since: number | null;
  /** Commands that would be taken now. */
  allowedEvents: string[];
  deadlines: { name: string; at: number }[];
  /** The newest 50, newest first. */
  transitions: TransitionRow[];
  /** The statechart as plain JSON. */
  definition: unknown;
}

/** Some of an account's servers, oldest first. */
export interface ServerPage {
  servers: ServerNow[];
  /** Start of the next page; undefined on the last. */
  next: ServerPlace | undefined;
}

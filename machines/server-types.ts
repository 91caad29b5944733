/** States, events and context of a server. The statechart is in `server.ts`. */

/** The wire states of the API reference, and `deleting`, which clients never see. */
export const SERVER_STATES = [
  'hibernated',
  'installing',
  'install_failed',
  'starting',
  'running',
  'stopping',
  'start_failed',
  'deleting',
] as const;
export type ServerState = (typeof SERVER_STATES)[number];

/** The person or thing that caused a transition. Stored with each transition and each awake session. */
export interface Cause {
  kind: 'key' | 'user' | 'player' | 'schedule' | 'operator' | 'system';
  /**
   * Key id, user id, player name or schedule id. For `system`: a word such as `idle`, `false_wake`, `crash`, `lost` or
   * `unexpected`.
   */
  id: string;
  /** A short explanation for people. */
  note: string;
}

/**
 * The reason that an install or a start failed: stable code, `Title: detail`, suggestion, and the log lines that show
 * it.
 */
export interface Failure {
  code: string;
  summary: string;
  suggestion: string;
  raw: string;
}

export interface Address {
  host: string;
  port: number;
}

/**
 * Work on the files of a server at rest. The server cannot start during a job. The statechart does not know what the
 * job does.
 */
export interface Job {
  id: string;
  kind: 'backup.restore' | 'world.reset' | 'world.delete';
  /** The backup or world concerned. */
  target: string;
}

export type StartupPhase = 'downloading' | 'installing' | 'starting' | 'loading_mods' | 'generating_world' | 'ready';

/**
 * Limits on how long a server may stay in a transitional state, in ms. They come from the current settings, not from
 * the snapshot.
 */
export interface ServerLimits {
  startMs: number;
  stopMs: number;
  installMs: number;
}

export interface ServerContext {
  id: string;
  limits: ServerLimits;
  /** The cause of the server's present phase. */
  cause: Cause;
  /** When the present run, or any part that may still run, was requested; null while the server is at rest. */
  wokenAt: number | null;
  /** When the game became ready; null unless running. */
  readyAt: number | null;
  address: Address | null;
  rcon: Address | null;
  /** The engine's position of the last log line before the run; null if unknown or if no such line exists. */
  logAfter: string | null;
  /** When the server first booted successfully; null before. */
  bakedAt: number | null;
  startFailure: Failure | null;
  installFailure: Failure | null;
  /** The stop that players have been warned of; null without one. It acts at `at`, or when the last player has left. */
  announced: { type: 'STOP' | 'RESTART'; at: number; cause: Cause } | null;
  /** The cause of a start that begins once the present stop, cleanup or job has ended. */
  queued: Cause | null;
  /** The job that is queued or running on the sleeping server. */
  job: Job | null;
  /** Result of the last job. After a failure, everything is as before. */
  maintained: { jobId: string; failure: Failure | null } | null;
  /** Whether the current stop ends the game without waiting for it to save. */
  kill: boolean;
  /** When joins retried a failed start; at most two an hour. */
  retries: number[];
  /** Times of the game's unrequested ends within the last hour, at most as many as make a crash loop. */
  crashes: number[];
  /** Whether the game has answered a request in this run. Only then can a later silence count as a hang. */
  answered: boolean;
  /** Times within the last hour at which the game was ended because it hung. */
  hangs: number[];
  /**
   * Set while a start waits for room: when the wait began, when the next attempt is due, and when the server gives up.
   * Null if no start waits.
   */
  noRoom: { foundAt: number; tryAt: number; until: number } | null;
  /** The deadline of the present transitional state; null without a limit. */
  deadlineAt: number | null;
  /** The server does not stop for idleness until this instant. */
  keepAwakeUntil: number;
  /** Whether a player has joined since the wake, or a person has requested the server. */
  played: boolean;
  /** Readings of the game. A reading is not worth a write of its own: it is stored with the next other change. */
  live: Live;
}

export interface Live {
  phase: StartupPhase;
  percent: number;
  /** The last thing downloaded or installed, such as `Java 25`. */
  item?: string | undefined;
  /** Players online; null if unknown. */
  players: number | null;
  /** When a player was last in the game or joined it. */
  lastActiveAt: number | null;
  /** When the game stopped answering; null or absent if the game answers, or if this is unknown. */
  silentSince?: number | null;
}

export interface ServerInput {
  id: string;
  limits: ServerLimits;
  at: number;
  cause: Cause;
}

type Caused<Type extends string> = { type: Type; at: number; cause: Cause };

/**
 * How a game ended without a request from the service. `crashed`: by itself. `lost`: unobserved, with its engine or
 * machine. `ended`: in order but without a known request, for example because its engine stopped. `stopped`: by a
 * command in the game.
 */
export type Ending = 'crashed' | 'lost' | 'ended' | 'stopped';

/** `dueAt`: players are warned, and the stop begins at this instant. Absent, or without players: at once. */
type Warned = { dueAt?: number };

/** Requests by people, keys, players and schedules. */
export type ServerCommand =
  | Caused<'START'>
  | Caused<'JOIN'>
  | (Caused<'STOP'> & Warned)
  | (Caused<'RESTART'> & Warned)
  | Caused<'KILL'>
  | Caused<'REINSTALL'>
  | Caused<'RETRY_INSTALL'>
  | Caused<'DELETE'>
  | (Caused<'KEEP_AWAKE'> & { until: number })
  | (Caused<'MAINTAIN'> & { job: Job });

/** A reading of a running game. */
export interface Reading {
  at: number;
  /** Players counted by the game; null if it did not answer. */
  players: number | null;
  /** Players counted by the proxy; absent if no player has ever joined. */
  joined?: JoinedPlayers;
  /** Time without players after which the game is idle; 0: never. */
  idleAfterMs: number;
  /** Whether the owner's settings keep the game awake now, also without players. */
  held?: boolean;
  /**
   * How long the whole game (status, consoles, log) has been silent; null if a part of it answered, absent if this
   * cannot be known.
   */
  silentMs?: number | null;
  /** A silence of this length is a hang; 0 or absent: never. */
  hungAfterMs?: number;
  /** The last lines of the log of a silent game. */
  lastLines?: string;
}

/** The connections of players to a game. */
export interface JoinedPlayers {
  /** Players accepted by the game, playing or still loading the world. */
  inside: number;
  /** Players who are logging in. */
  knocking: number;
  /** When a player was last inside; null: not in this run. */
  insideAt: number | null;
}

/** Observations of the outside world. */
export type ServerFact =
  | { type: 'PROGRESS'; phase: StartupPhase; percent: number; item?: string | undefined }
  | ({ type: 'SAMPLE' } & Reading)
  /** The engine reports a running game. */
  | { type: 'UP'; at: number; address: Address; rcon: Address | null }
  /** The engine reports no running game. */
  | { type: 'DOWN'; at: number; how: Ending; failure: Failure }
  /**
   * The deadline has passed; `failure` has the log's explanation. `cause` is set if an operator brought the deadline
   * forward.
   */
  | { type: 'ALARM'; at: number; cause?: Cause; failure?: Failure };

export type ServerEvent = ServerCommand | ServerFact;

/** Tags that other code checks. All states of the chart with the same wire state have the same tags. */
export type ServerTag =
  | ServerState
  /** Running or starting: a join does not wake the server. */
  | 'awake'
  /** The server's time is charged. */
  | 'billed'
  /** The server stays asleep until a start is requested. */
  | 'at-rest'
  /** The files of the server are being prepared for a game. */
  | 'preparing'
  /** The state is transitional. */
  | 'passing'
  /** A part of the server runs or is about to run, so its RAM is reserved. */
  | 'holds-place';

/** Rejection of `boot` if no machine has room now, but one may have room later. */
export interface NoRoom extends Failure {
  /** Only for servers that wait for room. */
  code: 'no_room';
  at: number;
}

/** Result of `boot`: the address of the ready game, when it became ready, and the beginning of its log. */
export interface Booted {
  at: number;
  address: Address;
  rcon: Address | null;
  logAfter: string | null;
}

/** The current state's deadline, and the log that explains its expiry. */
export interface Deadline {
  at: number;
  /** Absent if there is no log to read. */
  of?: { id: string; phase: 'install' | 'start' };
}

/** Result of `halt`, `install` and `erase`. */
export interface Finished {
  at: number;
  /** The engine killed the game while it was saving, before our own deadline. */
  killed?: boolean;
}

/** Result of `maintain` once the job is done or undone. `failure` is the reason if it was undone. */
export interface Maintained {
  at: number;
  failure: Failure | null;
}

/** Whether a number is an instant (or a list of instants), which moves with the clock, or any other number. */
type NumberKind = 'instant' | 'other';
type KindOf<Value> = Value extends number | readonly number[]
  ? NumberKind
  : Value extends object
    ? [keyof NumbersIn<Value>] extends [never]
      ? never
      : NumbersIn<Value>
    : never;

/** Names each number in T and in the objects within it. A field without numbers is omitted. */
export type NumbersIn<T> = {
  readonly [Key in keyof T as [KindOf<NonNullable<T[Key]>>] extends [never] ? never : Key]-?: KindOf<
    NonNullable<T[Key]>
  >;
};

const PORT = { port: 'other' } as const;

/** The numbers of a server's context. */
export const CONTEXT_NUMBERS: NumbersIn<ServerContext> = {
  limits: { startMs: 'other', stopMs: 'other', installMs: 'other' },
  wokenAt: 'instant',
  readyAt: 'instant',
  address: PORT,
  rcon: PORT,
  bakedAt: 'instant',
  announced: { at: 'instant' },
  retries: 'instant',
  crashes: 'instant',
  hangs: 'instant',
  noRoom: { foundAt: 'instant', tryAt: 'instant', until: 'instant' },
  deadlineAt: 'instant',
  keepAwakeUntil: 'instant',
  live: { percent: 'other', players: 'other', lastActiveAt: 'instant', silentSince: 'instant' },
};

const AT = { at: 'instant' } as const;

/** The numbers of each event. */
export const EVENT_NUMBERS: { readonly [E in ServerEvent as E['type']]: NumbersIn<E> } = {
  START: AT,
  JOIN: AT,
  STOP: { at: 'instant', dueAt: 'instant' },
  RESTART: { at: 'instant', dueAt: 'instant' },
  KILL: AT,
  REINSTALL: AT,
  RETRY_INSTALL: AT,
  DELETE: AT,
  KEEP_AWAKE: { at: 'instant', until: 'instant' },
  MAINTAIN: AT,
  PROGRESS: { percent: 'other' },
  SAMPLE: {
    at: 'instant',
    players: 'other',
    joined: { inside: 'other', knocking: 'other', insideAt: 'instant' },
    idleAfterMs: 'other',
    silentMs: 'other',
    hungAfterMs: 'other',
  },
  UP: { at: 'instant', address: PORT, rcon: PORT },
  DOWN: AT,
  ALARM: AT,
};

/** The vocabulary of a server's life: states, events and context. The statechart is in `server.ts`. */

/** The wire states of the reference, and `deleting`, which callers never see. */
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
  /** Key id, user id, player name, schedule id, or for `system` a word: `idle`, `false_wake`, `crash`, `lost`, `unexpected`. */
  id: string;
  /** A few words for people. */
  note: string;
}

/** Why an install or a start failed: stable code, `Title: detail`, what to do, and the lines that show it. */
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

/** Work on the files of a server at rest. It excludes starts; the machine need not know what is done. */
export interface Job {
  id: string;
  kind: 'backup.restore' | 'world.reset' | 'world.delete';
  /** The backup or world it is about. */
  target: string;
}

export type StartupPhase = 'starting' | 'loading_mods' | 'generating_world' | 'ready';

/** How long a server may stay in a passing state, in ms. From the settings of the run, not from the snapshot. */
export interface ServerLimits {
  startMs: number;
  stopMs: number;
  installMs: number;
}

export interface ServerContext {
  id: string;
  limits: ServerLimits;
  /** Why the server is in its present phase of life. */
  cause: Cause;
  /** When what runs of the server, or may still run, was asked for; null once nothing of it can. */
  wokenAt: number | null;
  /** When the game became ready; null unless running. */
  readyAt: number | null;
  address: Address | null;
  rcon: Address | null;
  /** The last line of the log before its run, an engine's position; null: there was none, or it is not known. */
  logAfter: string | null;
  /** First successful boot. */
  bakedAt: number | null;
  startFailure: Failure | null;
  installFailure: Failure | null;
  /** Once this has stopped, what is left of it is cleared away, or a job is done: begin again, for this cause. */
  queued: Cause | null;
  /** The job that is queued or running on the sleeping server. */
  job: Job | null;
  /** How the last job ended. After a failure everything is as it was before. */
  maintained: { jobId: string; failure: Failure | null } | null;
  /** The stop in progress does not wait for the game to save. */
  kill: boolean;
  /** When joins retried a failed start; at most two an hour. */
  retries: number[];
  /** Times of unwanted ends of the game within the last hour, at most as many as make a crash loop. */
  crashes: number[];
  /** In this run the game has answered a question: that it does not any more says something. */
  answered: boolean;
  /** When its game last hung and was ended for it; of the last hour. */
  hangs: number[];
  /**
   * Set while a start has found no room: when that began, when the next try is due, and when the server gives up. Null
   * if no start waits.
   */
  noRoom: { foundAt: number; tryAt: number; until: number } | null;
  /** When the present passing state is given up; null where there is no limit. */
  deadlineAt: number | null;
  /** No idle stop before. */
  keepAwakeUntil: number;
  /** Somebody has been in the game since it woke, or has asked for it to be up. */
  played: boolean;
  /** Readings. Not worth a write of their own: they are stored along with the next change of anything else. */
  live: Live;
}

export interface Live {
  phase: StartupPhase;
  percent: number;
  /** Online now; null: not read. */
  players: number | null;
  /** Last time anybody was in, or came to, the game. */
  lastActiveAt: number | null;
  /** Since when nothing of the game has answered; null or absent: it answers, or that is not known. */
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
 * How a game ended without a request of ours: by itself (`crashed`); unwatched, with its engine or machine (`lost`); in
 * order without a known request, such as when its engine stops (`ended`); or by a command in the game (`stopped`).
 */
export type Ending = 'crashed' | 'lost' | 'ended' | 'stopped';

/** Requests by people, keys, players and schedules. */
export type ServerCommand =
  | Caused<'START'>
  | Caused<'JOIN'>
  | Caused<'STOP'>
  | Caused<'RESTART'>
  | Caused<'KILL'>
  | Caused<'REINSTALL'>
  | Caused<'RETRY_INSTALL'>
  | Caused<'DELETE'>
  | (Caused<'KEEP_AWAKE'> & { until: number })
  | (Caused<'MAINTAIN'> & { job: Job });

/** A running game at an instant. */
export interface Reading {
  at: number;
  /** As the game counts them; null: it did not answer. */
  players: number | null;
  /** As counted by the proxy; absent if no player has ever joined. */
  joined?: JoinedPlayers;
  /** 0: never idle. */
  idleAfterMs: number;
  /**
   * How long the whole game (status, consoles, log) has been silent; null if something answered, absent if it cannot be
   * known.
   */
  silentMs?: number | null;
  /** A silence this long is a hang; 0 or absent: none is. */
  hungAfterMs?: number;
  /** The last lines of the log of a silent game. */
  lastLines?: string;
}

/** The connections of players to a game. */
export interface JoinedPlayers {
  /** Players that the game has accepted, playing or still loading the world. */
  inside: number;
  /** Players who are logging in. */
  knocking: number;
  /** When one was last inside; null: not in this run. */
  insideAt: number | null;
}

/** Observations of the outside world. */
export type ServerFact =
  | { type: 'PROGRESS'; phase: StartupPhase; percent: number }
  | ({ type: 'SAMPLE' } & Reading)
  /** The engine shows the game running. */
  | { type: 'UP'; at: number; address: Address; rcon: Address | null }
  /** The engine shows no running game. */
  | { type: 'DOWN'; at: number; how: Ending; failure: Failure }
  /** Its time is up, and what its log shows of why; with a cause: an operator did not want to wait for that. */
  | { type: 'ALARM'; at: number; cause?: Cause; failure?: Failure };

export type ServerEvent = ServerCommand | ServerFact;

/** Tags that other code asks for. All states of the chart with the same wire state carry the same tags. */
export type ServerTag =
  | ServerState
  /** Up, or coming up: who comes in now wakes nothing. */
  | 'awake'
  /** Its time is charged. */
  | 'billed'
  /** Stays asleep until somebody requests a start. */
  | 'at-rest'
  /** Its files are made ready for a game. */
  | 'preparing'
  /** Meant to end by itself. */
  | 'passing'
  /** Something of it runs, or is about to: its RAM is taken. */
  | 'holds-place';

/** Rejection of `boot` if no machine has room now but one may have later. */
export interface NoRoom extends Failure {
  /** Only of a server that stands in line for room. */
  code: 'no_room';
  at: number;
}

/** Result of `boot`: the address of the ready game, when it became ready, and where its log begins. */
export interface Booted {
  at: number;
  address: Address;
  rcon: Address | null;
  logAfter: string | null;
}

/** A deadline of the current state: what happens then, and the log to read about it. */
export interface Deadline {
  at: number;
  /** Absent: there is nothing to read. */
  of?: { id: string; phase: 'install' | 'start' };
}

/** Result of `halt`, `install` and `erase`. */
export interface Finished {
  at: number;
  /** The engine killed the game while it was to save, before our own deadline. */
  killed?: boolean;
}

/** Result of `maintain` once the job is done or undone. `failure` gives the reason if it was undone. */
export interface Maintained {
  at: number;
  failure: Failure | null;
}

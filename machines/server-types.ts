/**
 * The words a server's life is told in: its states, what happens to it, and what is known of it. The statechart over them is
 * `server.ts`.
 */

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

/** Who or what made a transition happen; kept with each transition and with each awake session. */
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
  /** What is to be done, or is being done, with the server at rest. */
  job: Job | null;
  /** How the last job ended. After a failure everything is as it was before. */
  maintained: { jobId: string; failure: Failure | null } | null;
  /** The stop in progress does not wait for the game to save. */
  kill: boolean;
  /** When joins retried a failed start; at most two an hour. */
  retries: number[];
  /** When its game last ended though nobody wanted it to; of the last hour, and at most as many as make a loop. */
  crashes: number[];
  /** In this run the game has answered a question: that it does not any more says something. */
  answered: boolean;
  /** When its game last hung and was ended for it; of the last hour. */
  hangs: number[];
  /**
   * A start has found no room: when that was first so, when it may be tried again, and until when it is. Null: nobody wants it, or
   * it runs.
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
 * How a game ended that nobody here asked to end: by itself; while nobody could watch, with its engine or machine and through
 * no fault of its own; in good order though nobody is known to have told it to, as when its engine goes down; or in good
 * order, because somebody in the game told it to.
 */
export type Ending = 'crashed' | 'lost' | 'ended' | 'stopped';

/** What people, keys, players and schedules ask for. */
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
  /** As the proxy counts their connections; absent: nobody has been there. */
  joined?: JoinedPlayers;
  /** 0: never idle. */
  idleAfterMs: number;
  /** How long all of the game has been silent (status, consoles, log); null: something answered; absent: nobody can tell. */
  silentMs?: number | null;
  /** A silence this long is a hang; 0 or absent: none is. */
  hungAfterMs?: number;
  /** The last lines of the log of a silent game. */
  lastLines?: string;
}

/** The connections of players to a game. */
export interface JoinedPlayers {
  /** Players whom the game has let in: they play, or are on their way into its world. */
  inside: number;
  /** Players who are logging in. */
  knocking: number;
  /** When one was last inside; null: not in this run. */
  insideAt: number | null;
}

/** What the world shows. */
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

/** What several states have in common, and others ask for. All states of the chart that show the same wire state have the same. */
export type ServerTag =
  | ServerState
  /** Up, or coming up: who comes in now wakes nothing. */
  | 'awake'
  /** Its time is charged. */
  | 'billed'
  /** Nothing of it is to run until somebody asks for it. */
  | 'at-rest'
  /** Its files are made ready for a game. */
  | 'preparing'
  /** Meant to end by itself. */
  | 'passing'
  /** Something of it runs, or is about to: its RAM is taken. */
  | 'holds-place';

/** What `boot` rejects with where no machine has room for the game now, though one may later. */
export interface NoRoom extends Failure {
  /** Only of a server that stands in line for room. */
  code: 'no_room';
  at: number;
}

/** What `boot` resolves with: where the ready game is, when it became ready, and where its log begins. */
export interface Booted {
  at: number;
  address: Address;
  rcon: Address | null;
  logAfter: string | null;
}

/** What an alarm is set for: what is given up then, of which the log is to be read. */
export interface Deadline {
  at: number;
  /** Absent: there is nothing to read. */
  of?: { id: string; phase: 'install' | 'start' };
}

/** What `halt`, `install` and `erase` resolve with. */
export interface Finished {
  at: number;
  /** The engine killed the game while it was to save, before our own deadline. */
  killed?: boolean;
}

/** What `maintain` resolves with, once the job is done or everything is again as it was: then `failure` says why. */
export interface Maintained {
  at: number;
  failure: Failure | null;
}

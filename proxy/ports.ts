/**
 * All the proxy knows of the service: which server a host name means, and how to wake one. `src/joining/routing.ts`
 * answers both from live actors; a proxy in a process of its own answers them over a socket.
 */

export interface Address {
  host: string;
  port: number;
}

export type RouteState =
  | 'hibernated'
  | 'starting'
  | 'running'
  | 'stopping'
  | 'installing'
  | 'install_failed'
  | 'start_failed';

/** A snapshot of one server as players may see it. Replaced whole whenever something in it changes. */
export interface Route {
  serverId: string;
  /** The name its owner chose. */
  name: string;
  state: RouteState;
  /** The address of the game; null unless `state` is `running`. */
  address: Address | null;
  /** Epoch ms at which the game became ready; null unless running. */
  readyAt: number | null;
  /** The owner's description of the server, `§` codes allowed; '' means the default. */
  motd: string;
  /** Minecraft version of the server, for the status answer. */
  versionName: string;
  maxPlayers: number;
  /** The complete description shown while asleep; '' for the default: the first line of `motd`, and the state. */
  asleepMotd: string;
  /** The line on its state while it sleeps, or while joins are refused; '' for the usual. */
  asleepLine: string;
  /**
   * While `starting` or `installing`: phase, percent, and the expected seconds left (null: unknown). A percent below 0: nothing
   * of it is known.
   */
  phase: string;
  percent: number;
  etaSeconds: number | null;
  /** The last status JSON the game itself gave, for version, favicon and mod list; null if it never ran. */
  lastStatus: string | null;
  /** Unless '', joins are refused with this message. */
  refusal: string;
  /** Only a player who has proved an account may wake it. */
  verifies: boolean;
  /** Clients that can are shown its start while they wait. */
  waitingRoom: boolean;
  /** The protocol version of the only clients that can play; null if others can or if unknown. */
  protocol: number | null;
}

export interface Routes {
  /** Looks up a key as made by `hostname.ts`: lower case, no port, no trailing dot. */
  lookup(host: string): Route | undefined;
}

/** A player who tries to join. `uuid` is the client's claim, null below 1.19.1; `ip` is without IPv4 mapping. */
export interface Player {
  name: string;
  uuid: string | null;
  ip: string;
  protocol: number;
  /** Has proved a moment ago to have the account of this name. */
  verified?: boolean;
}

/** The player must not come in; `text` is written for the player's screen. */
export class JoinRefused extends Error {
  readonly text: string;
  constructor(text: string, options?: { cause?: unknown }) {
    super(text, options);
    this.name = 'JoinRefused';
    this.text = text;
  }
}

/** How a player waits where a node has no room for the server. */
export interface InLine {
  /** For how long it has been waiting already, ms: asked again after a restart of the service, it keeps its place. */
  waitedMs: number;
  /**
   * Called whenever the place in the queue changes: from 1; 0 if unknown, null once it waits for the start itself. Must
   * not throw.
   */
  tell(place: number | null): void;
}

export interface Wake {
  /** Whether the player may be joined to a game that is up. Rejects with JoinRefused. */
  admit(serverId: string, player: Player): Promise<void>;
  /**
   * Wakes the server for this player and resolves with the game's address once it is ready, however long that takes.
   * Rejects with JoinRefused. `signal` says that the player has gone. Who can be shown it waits `inLine` where there is no room for
   * the server, everybody else is refused then.
   */
  wake(serverId: string, player: Player, signal: AbortSignal, inLine?: InLine): Promise<Address>;
}

/** How many connections of players one game has. */
export interface Joined {
  /** Let in by the game: they play, or are on their way into its world. */
  inside: number;
  /** Logging in, or too young to tell. */
  knocking: number;
  /** How long ago a player was last inside, if none is now. Absent if no player was inside since the last report. */
  insideMsAgo?: number | undefined;
}

/** Notified of joined players, so that no game goes to sleep under them. */
export interface Presence {
  /** After each change. Never throws; nothing of it is stored. */
  changed(serverId: string, joined: Joined): void;
}

/** A log in pino's shape, so that the proxy depends on no logger. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

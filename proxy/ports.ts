/**
 * Everything that the proxy knows about the service: which server a host name means, and how to wake it.
 * `src/joining/routing.ts` implements both from live actors. A proxy in its own process uses a socket to the service.
 */

export interface Address {
  host: string;
  port: number;
}

type RouteState = 'hibernated' | 'starting' | 'running' | 'stopping' | 'installing' | 'install_failed' | 'start_failed';

/** An immutable snapshot of one server as players may see it. Any change replaces the whole object. */
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
  /** The state line while the server sleeps or refuses joins; '' for the default. */
  asleepLine: string;
  /**
   * Progress while `starting` or `installing`: phase, percent (negative if unknown) and expected seconds left (null if
   * unknown).
   */
  phase: string;
  percent: number;
  etaSeconds: number | null;
  /** The last status JSON of the game itself, for version, favicon and mod list; null if it never ran. */
  lastStatus: string | null;
  /** Unless '', joins are refused with this message. */
  refusal: string;
  /** Whether only players with a verified account may wake the server. False while it is awake. */
  verifies: boolean;
  /** Whether capable clients see the progress of the start while they wait. */
  waitingRoom: boolean;
  /** The only protocol version that can play; null if others can or if unknown. */
  protocol: number | null;
}

export interface Routes {
  /**
   * Returns the route of a host name in the form of `lookupKey` (lower case, no port, no trailing dot), or of a private
   * port (`keyOfPort`).
   */
  lookup(host: string): Route | undefined;
}

/**
 * A player who tries to join. `uuid` is the client's claim, null below 1.19.1; `ip` is without IPv4 mapping. What a
 * trusted proxy in front forwards replaces them.
 */
export interface Player {
  name: string;
  uuid: string | null;
  ip: string;
  protocol: number;
  /** Whether this player has just verified the account of this name, here or at a trusted proxy in front. */
  verified?: boolean;
}

/** Names of Minecraft accounts. */
export const ACCOUNT_NAME = /^[A-Za-z0-9_]{1,16}$/;

/** The player must not join. `text` is the message for the player's screen. */
export class JoinRefused extends Error {
  readonly text: string;
  constructor(text: string, options?: { cause?: unknown }) {
    super(text, options);
    this.name = 'JoinRefused';
    this.text = text;
  }
}

/** The wait of a player in the queue of a node without room for the server. */
export interface InLine {
  /** How long the player has waited already, in ms, to keep the place in the queue when the service restarts. */
  waitedMs: number;
  /**
   * Called whenever the place in the queue changes: from 1; 0 if unknown, null once the player waits for the start
   * itself. Must not throw.
   */
  notify(place: number | null): void;
}

export interface Wake {
  /** Resolves if the player may join a running game. Rejects with JoinRefused otherwise. */
  admit(serverId: string, player: Player): Promise<void>;
  /**
   * Wakes the server for this player and resolves with the game's address once it is ready, however long that takes.
   * Rejects with JoinRefused. `signal` fires when the player has gone. If the node has no room for the server, the
   * player waits in the queue with `inLine` and is refused without it.
   */
  wake(serverId: string, player: Player, signal: AbortSignal, inLine?: InLine): Promise<Address>;
}

/** Numbers of players connected to one game. */
export interface Joined {
  /** Players accepted by the game: they play or are entering the world. */
  inside: number;
  /** Players logging in, or connected too briefly to know. */
  knocking: number;
  /**
   * Ms since a player was last inside, if no player is inside now. Absent if no player was inside since the last
   * report.
   */
  insideMsAgo?: number | undefined;
}

/** Notified of joined players, so that no game goes to sleep while players are connected. */
export interface Presence {
  /** Called after each change with the current numbers. Must not throw. */
  changed(serverId: string, joined: Joined): void;
}

/** A logger in pino's shape, so that the proxy depends on no logging library. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

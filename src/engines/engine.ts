import type { Address } from '../kernel/address.ts';

/**
 * Ports of a game, its console and its management inside a container. They are fixed, because each container has its own
 * address and publishes none of them.
 */
export const GAME_PORT = 25_565;
export const RCON_PORT = 25_575;
export const MANAGEMENT_PORT = 25_585;

/** A port of a game that is open to the outside on this machine. */
export interface PublishedPort {
  hostPort: number;
  /** The port the game listens on. */
  containerPort: number;
  proto: 'tcp' | 'udp';
}

/** The inputs of an engine to run one server. Made of ids and validated rows; user text only inside `env` values. */
export interface GameSpec {
  serverId: string;
  /** `sandbox`, `vanilla`, `paper`, … */
  core: string;
  version: string;
  ramMb: number;
  /** The most CPU time it may use at once, in cores (ignored by engines that cannot bound it). */
  cpus: number;
  /** Open to the outside while the game runs. */
  ports: readonly PublishedPort[];
  /** The versions of Java it runs on (ignored by engines whose image brings Java). Absent: any. */
  java?: JavaRange | undefined;
  /** Container image (ignored by engines without images). */
  image: string;
  /** The region to run in (ignored by engines of one machine). Absent: the installation's region. */
  region?: string | undefined;
  /** Absolute path of the server's data root on this machine; mounted at /data, or the working directory. */
  dataDir: string;
  /** The image contract (`EULA`, `TYPE`, `VERSION`, `MEMORY`, …); the `process` engine passes it on as it is. */
  env: Record<string, string>;
}

/** How a game ended. `code` is null if it was not observed (adopted process, engine was away). */
export interface Exit {
  code: number | null;
  oomKilled: boolean;
  /** Epoch ms; null where unknown. */
  at: number | null;
}

/** An engine's view of one server. */
export interface Game {
  serverId: string;
  up: boolean;
  /** True for the one-shot installer of `Engine.install`, never a running game. */
  installer: boolean;
  /**
   * The address players are connected to; null while the game is down. Reachable from this process, never published
   * outside.
   */
  game: Address | null;
  rcon: Address | null;
  /** The address of the management port, in versions that have one; null while the game is down. */
  management: Address | null;
  startedAt: number | null;
  /** Null while up. */
  exit: Exit | null;
}

/**
 * `up`, `down`: one game changed. `away`: the engine seems out of reach. `resync`: it is back, or an event may have
 * been missed: ask `list()` and compare everything.
 */
export type EngineEvent = { type: 'up' | 'down'; game: Game } | { type: 'away' } | { type: 'resync' };

/** One reading. Absent where the engine has no figure. */
export interface GameStats {
  cpuPercent: number;
  memUsedMb: number;
  memLimitMb: number;
}

/**
 * One line a game printed (no line end), and an opaque place in the log: `logs({ after: position })` goes on after it.
 */
export interface LogLine {
  position: string;
  text: string;
}

export interface LogQuery {
  /** Only lines after this position; unknown or too old: from the oldest kept line. */
  after?: string;
  /** At most this many of the newest lines before following; fewer where they are longer than any reader waits for. */
  tail?: number;
  /** Most characters wanted of each line, so that a caller who collects many lines needs less memory. */
  lineChars?: number;
  /** Go on with new lines until the game ends or `signal` fires. */
  follow?: boolean;
  signal?: AbortSignal;
}

/** Codes an engine can name; they become `startErrorCode`/`installErrorCode`. */
export type EngineErrorCode =
  | 'engine_unavailable'
  | 'image_pull_failed'
  | 'core_unavailable'
  | 'wrong_java_version'
  | 'download_failed'
  | 'install_failed'
  | 'port_in_use'
  | 'wrong_port'
  /** No machine of several has room now. */
  | 'no_room'
  | 'unknown';

/** An engine's rejection: a stable code, a sentence for the owner, the raw cause for the log. */
export class EngineError extends Error {
  readonly code: EngineErrorCode;
  readonly suggestion: string;
  constructor(code: EngineErrorCode, message: string, options: { suggestion?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'EngineError';
    this.code = code;
    this.suggestion = options.suggestion ?? '';
  }
}

/**
 * Runs game servers. Every method is idempotent and means "make it so"; a game outlives this process. Engines know
 * server ids, never accounts or state machines. The full contract is `test/conformance/engine.ts`.
 */
export interface Engine {
  readonly kind: 'docker' | 'swarm' | 'process' | 'memory';
  /** Runs the core's installer to its end (mod packs). Rejects with EngineError. `signal` stops and removes it. */
  install(spec: GameSpec, signal: AbortSignal): Promise<void>;
  /** Makes the game run: resolves once its process runs (not: once it is ready). A running one is left alone and returned. */
  boot(spec: GameSpec, signal: AbortSignal): Promise<Game>;
  /**
   * Asks the game to end, waits up to `graceMs`, then kills. Resolves when it is gone; at once if it is not there. Rejects once
   * `signal` fires, and then leaves the game as it is.
   */
  halt(serverId: string, graceMs: number, signal?: AbortSignal): Promise<void>;
  kill(serverId: string): Promise<void>;
  /** Removes every trace of the server from the engine (container, network, kept logs). The data root is not the engine's. */
  erase(serverId: string): Promise<void>;
  /** All games and installers of this installation, ended ones too as long as the engine remembers them. */
  list(): Promise<Game[]>;
  inspect(serverId: string): Promise<Game | undefined>;
  /** Reports changes until the returned function is called. Restores its own connection; never throws later. */
  watch(listener: (event: EngineEvent) => void): () => void;
  stats(serverId: string): Promise<GameStats | undefined>;
  /** Yields the game's output, oldest first, also after it ended (until erased). Unknown server: empty. */
  logs(serverId: string, query?: LogQuery): AsyncIterable<LogLine>;
  /**
   * Types a line into the standard input of the game whose console would be at this address, and resolves with what it
   * prints next; undefined where no game reads its input there. Absent: the engine does not own it.
   */
  type?(rcon: Address, line: string): Promise<string | undefined>;
  /**
   * Returns the listeners of a running game, if games share this machine's addresses; undefined if that cannot be
   * known. Absent: each game has its own address.
   */
  listeners?(serverId: string): Promise<Listeners | undefined>;
  /** No game has a console, by the way in which they are reached here. Absent: those have one that open one. */
  withoutConsoles?: boolean;
  /** The machines that games run on, where they are several. Absent: this one. */
  nodes?: EngineNodes;
  /** The addresses that connections from this machine come from, as a game sees it; all players come from there. */
  proxyAddresses(): Promise<readonly string[]>;
}

/** A machine that games run on, among several. */
export interface EngineNode {
  id: string;
  /** As its operators call it; two may be called alike. */
  name: string;
  address: string;
  /** The name or address at which strangers reach the ports of its games; '' where none is known. */
  publicHost: string;
  region: string;
  /** `down`: it does not answer, and its games may run on. `gone`: the engine knows it no more, and its games may run on. */
  state: 'ready' | 'down' | 'gone';
  /** It answers, no operator has drained it, and nothing else keeps games from starting there. */
  takesStarts: boolean;
  /** An operator has drained it. */
  drained: boolean;
  /**
   * The problem that keeps games from starting on a responding node, as a sentence; '' without one, or for a drain
   * alone.
   */
  trouble: string;
  cores: number;
  ramMb: number;
  /** Reserved by games that are there. */
  usedRamMb: number;
  games: number;
  /** Since when games wait until it is surely off, epoch ms; null: none does. */
  waitsSince: number | null;
  /** Since when it counts as surely off, epoch ms; null: it answers, or may run on. */
  fencedAt: number | null;
}

/** Queries of an engine with several machines. `list` and `whereIs` answer immediately from the last observation. */
export interface EngineNodes {
  list(): EngineNode[];
  /** Returns the machine of a game; undefined if it has none or the machine is unknown. */
  whereIs(serverId: string): EngineNode | undefined;
  /** Takes somebody's word that a machine is off, so that its games may start elsewhere. False where it answers. */
  fence(id: string): Promise<boolean>;
  /** Whether games may start there. Those that run there go on. */
  setStarts(id: string, on: boolean): Promise<void>;
  setRegion(id: string, region: string): Promise<void>;
}

/** Versions of Java, both ends included; `most` is Infinity where no newest one is known. */
export interface JavaRange {
  least: number;
  most: number;
}

/** Listeners on this machine's loopback (TCP ports), as seen from one game. */
export interface Listeners {
  /** Ports on which only the game's own processes listen. */
  own: readonly number[];
  /** Ports that the game was given and at which somebody else listens. */
  taken: readonly number[];
}

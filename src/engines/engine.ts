import type { Address } from '../kernel/address.ts';
import type { JvmChoice } from './jvm-options.ts';

/**
 * The ports of a game, its console and its management inside a container. They are fixed, because each container has
 * its own address and publishes none of them.
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

/**
 * The specification of one server for an engine. It is built from ids and validated rows; only `env` values contain
 * user text.
 */
export interface GameSpec {
  serverId: string;
  /** `sandbox`, `vanilla`, `paper`, … */
  core: string;
  version: string;
  ramMb: number;
  /** Maximum CPU use, in cores (ignored by engines that cannot limit it). */
  cpus: number;
  /** Ports that are open to the outside while the game runs. */
  ports: readonly PublishedPort[];
  /** The build of the core that the server ran first. Absent: the newest (ignored by engines with images). */
  build?: string | undefined;
  /** The Java versions that the core supports (ignored by engines whose image contains Java). Absent: any. */
  java?: JavaRange | undefined;
  /** The owner's options for Java (engines with images get them in `env`). Absent: the defaults. */
  jvm?: JvmChoice | undefined;
  /** Container image (ignored by engines without images). */
  image: string;
  /**
   * Whether the image installs the core as one jar of this `build`, or of this `version`, that runs from any folder
   * (ignored by engines without images). Absent: no.
   */
  isOneJar?: boolean;
  /**
   * Whether the core is a proxy of a network. It gets its port on the command line, because it has no
   * `server.properties`, and starts in seconds. Absent: no.
   */
  isProxy?: boolean;
  /** A folder of this machine that the game may read, mounted at /dormouse (set by the Docker engine). Absent: none. */
  readable?: string;
  /** The region to run in (ignored by engines of one machine). Absent: the installation's region. */
  region?: string | undefined;
  /** Absolute path of the server's data root on this machine; mounted at /data, or the working directory. */
  dataDir: string;
  /** The image's variables (`EULA`, `TYPE`, `VERSION`, `MEMORY`, …). The `process` engine passes them on unchanged. */
  env: Record<string, string>;
}

/** How a game ended. `code` is null if it was not observed (adopted process, engine was away). */
export interface Exit {
  code: number | null;
  oomKilled: boolean;
  /** Epoch ms; null if unknown. */
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
  /** The build of the core, if the engine chose it. */
  build?: string | undefined;
}

/** Progress of an engine's preparations for a start. */
export interface Preparation {
  phase: 'downloading' | 'installing';
  /** The Java version that is downloaded. Absent: the server's core. */
  javaMajor?: number;
  /** 0 if unknown. */
  percent: number;
}

/**
 * `up`, `down`: one game changed. `away`: the engine seems unreachable. `resync`: the engine is back, or events may
 * have been missed. Call `list()` and compare everything.
 */
export type EngineEvent = { type: 'up' | 'down'; game: Game } | { type: 'away' } | { type: 'resync' };

/** One reading of a game's resource use. */
export interface GameStats {
  cpuPercent: number;
  memUsedMb: number;
  memLimitMb: number;
}

/**
 * One line of a game's output, without the line end. `position` is opaque: `logs({ after: position })` continues after
 * this line.
 */
export interface LogLine {
  position: string;
  text: string;
}

export interface LogQuery {
  /** Only lines after this position. If it is unknown or too old, the output starts at the oldest stored line. */
  after?: string;
  /** Maximum number of newest lines before following. There may be fewer if the lines are extremely long. */
  tail?: number;
  /** Maximum number of characters per line, so that a caller that collects many lines needs less memory. */
  lineChars?: number;
  /** Continue with new lines until the game ends or `signal` fires. */
  follow?: boolean;
  signal?: AbortSignal;
}

/** Error codes of engines. They become `startErrorCode`/`installErrorCode`. */
export type EngineErrorCode =
  | 'engine_unavailable'
  | 'image_pull_failed'
  | 'core_unavailable'
  | 'wrong_java_version'
  | 'download_failed'
  | 'install_failed'
  | 'port_in_use'
  | 'wrong_port'
  /** No machine currently has room. */
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
 * Runs game servers. Every method is idempotent. A game outlives this process. Engines know server ids, but no accounts
 * or state machines. `test/conformance/engine.ts` specifies the full contract.
 */
export interface Engine {
  readonly kind: 'docker' | 'swarm' | 'process' | 'memory';
  /**
   * Runs the core's installer to completion (mod packs). Rejects with EngineError. `signal` stops and removes the
   * installer.
   */
  install(spec: GameSpec, signal: AbortSignal): Promise<void>;
  /**
   * Starts the game and resolves once its process runs, before the game is ready. Returns a running game unchanged.
   * `progress` is called while the engine downloads or installs what the game needs.
   */
  boot(spec: GameSpec, signal: AbortSignal, progress?: (progress: Preparation) => void): Promise<Game>;
  /**
   * Asks the game to stop, waits up to `graceMs`, then kills it. Resolves once the game is gone, or immediately if
   * none exists. When `signal` fires, rejects and does not kill the game itself. Docker may still complete the stop.
   */
  halt(serverId: string, graceMs: number, signal?: AbortSignal): Promise<void>;
  kill(serverId: string): Promise<void>;
  /** Removes all data of the server from the engine (container, network, stored logs). Does not touch the data root. */
  erase(serverId: string): Promise<void>;
  /** Returns all games and installers of this installation, including ended ones that the engine still remembers. */
  list(): Promise<Game[]>;
  inspect(serverId: string): Promise<Game | undefined>;
  /** Reports changes until the returned function is called. Reconnects automatically. Never throws later. */
  watch(listener: (event: EngineEvent) => void): () => void;
  stats(serverId: string): Promise<GameStats | undefined>;
  /**
   * Yields the game's output, oldest first, even after the game has ended (until erased). Yields no lines for an
   * unknown server.
   */
  logs(serverId: string, query?: LogQuery): AsyncIterable<LogLine>;
  /**
   * Writes a line to the standard input of the game whose console would be at this address. Resolves with the output
   * that follows; undefined if no game reads its input there. Absent: the engine does not own standard input.
   */
  type?(rcon: Address, line: string): Promise<string | undefined>;
  /**
   * Returns the listeners of a running game, if games share this machine's addresses; undefined if that cannot be
   * known. Absent: each game has its own address.
   */
  listeners?(serverId: string): Promise<Listeners | undefined>;
  /** True if this engine cannot reach the consoles of games. Absent: a game has a console if it opens one. */
  withoutConsoles?: boolean;
  /** The machines that run games, for an engine with several. Absent: games run on this machine. */
  nodes?: EngineNodes;
  /**
   * Returns the source addresses of this machine's connections, as games see them. All players connect from these
   * addresses.
   */
  proxyAddresses(): Promise<readonly string[]>;
}

/** One of several machines that run games. */
export interface EngineNode {
  id: string;
  /** The machine's name. It may not be unique. */
  name: string;
  address: string;
  /** The public name or address of its games' ports; '' if unknown. */
  publicHost: string;
  region: string;
  /**
   * `down`: the machine does not respond. `gone`: the engine no longer knows the machine. In both cases its games may
   * still run.
   */
  state: 'ready' | 'down' | 'gone';
  /** Whether games can start there: the machine responds, is not drained and has no other problem. */
  takesStarts: boolean;
  /** Whether an operator has drained the machine. */
  drained: boolean;
  /**
   * The problem that keeps games from starting on a responding node, as a sentence; '' without one, or for a drain
   * alone.
   */
  trouble: string;
  cores: number;
  ramMb: number;
  /** RAM reserved by the games on the machine. */
  usedRamMb: number;
  games: number;
  /** When games began to wait for certainty that the machine is off, in epoch ms; null if none waits. */
  waitsSince: number | null;
  /** When the machine began to count as certainly off, in epoch ms; null if it responds or may still run. */
  fencedAt: number | null;
}

/** The machines of an engine with several. `list` and `whereIs` return immediately, from the last observation. */
export interface EngineNodes {
  list(): EngineNode[];
  /** Returns the machine of a game; undefined if it has none or the machine is unknown. */
  whereIs(serverId: string): EngineNode | undefined;
  /**
   * Marks a machine as off on an operator's word, so that its games may start elsewhere. Returns false if it responds.
   */
  fence(id: string): Promise<boolean>;
  /** Sets whether games may start on a machine. Running games continue. */
  setStarts(id: string, on: boolean): Promise<void>;
  setRegion(id: string, region: string): Promise<void>;
}

/** A range of Java versions, inclusive. `most` is Infinity if there is no known upper limit. */
export interface JavaRange {
  least: number;
  most: number;
}

/** Listeners on this machine's loopback (TCP ports), as seen from one game. */
export interface Listeners {
  /** Ports on which only the game's own processes listen. */
  own: readonly number[];
  /** Ports assigned to the game on which another program listens. */
  taken: readonly number[];
}

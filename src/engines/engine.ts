import type { Address } from '../kernel/address.ts';

/** A port of a game that is open to the outside on this machine. */
export interface PublishedPort {
  hostPort: number;
  /** Where the game listens. */
  containerPort: number;
  proto: 'tcp' | 'udp';
}

/** What an engine needs in order to run one server. Made of ids and validated rows; user text only inside `env` values. */
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
  /** Where the game is to run (ignored by engines of one machine). Absent: in the installation's region. */
  region?: string | undefined;
  /** Absolute path of the server's data root on this machine; mounted at /data, or the working directory. */
  dataDir: string;
  /** The image contract (`EULA`, `TYPE`, `VERSION`, `MEMORY`, …); the `process` engine passes it on as it is. */
  env: Record<string, string>;
}

/** How a game ended. `code` is null where nobody could see it (adopted process, engine was away). */
export interface Exit {
  code: number | null;
  oomKilled: boolean;
  /** Epoch ms; null where unknown. */
  at: number | null;
}

/** What an engine shows of one server. */
export interface Game {
  serverId: string;
  up: boolean;
  /** True for the one-shot installer of `Engine.install`, never a running game. */
  installer: boolean;
  /** Where players connect; null while not up. Reachable from this process, never published to the outside. */
  game: Address | null;
  rcon: Address | null;
  /** Where games of versions that have one open their management port; null while not up. */
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
  /** Of each line only so many characters are wanted; one that gathers many lines then takes less memory. */
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
  /** None of several machines has room now. */
  | 'no_room'
  | 'unknown';

/** What an engine rejects with: a stable code, a sentence for the owner, the raw cause for the log. */
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
 * Where game servers run. Every method is idempotent and says "make it so"; a game outlives this process.
 * Engines know server ids, never accounts or state machines. `test/conformance/engine.ts` is the contract in full.
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
  /** Tells of changes until the returned function is called. Heals its own connection; never throws later. */
  watch(listener: (event: EngineEvent) => void): () => void;
  stats(serverId: string): Promise<GameStats | undefined>;
  /** What the game printed, oldest first, also after it ended (until erased). Unknown server: nothing. */
  logs(serverId: string, query?: LogQuery): AsyncIterable<LogLine>;
  /**
   * Types a line into the standard input of the game whose console would be at this address, and resolves with what it
   * prints next; undefined where no game reads its input there. Absent: the engine does not own it.
   */
  type?(rcon: Address, line: string): Promise<string | undefined>;
  /**
   * Who listens for a running game, where games share this machine's addresses; undefined where that cannot be told. Absent:
   * each game has an address of its own.
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
  /** What keeps games from starting there though it answers, as a sentence; '' for nothing, or a drain alone. */
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

/** What may be asked of an engine of several machines. `list` and `whereIs` answer at once, by what was seen last. */
export interface EngineNodes {
  list(): EngineNode[];
  /** The machine that a game is on; undefined where it is on none, or on one that nobody knows. */
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

/** Who listens on this machine's loopback (TCP ports), seen from one game. */
export interface Listeners {
  /** Ports where the game's own processes listen, and nobody else. */
  own: readonly number[];
  /** Ports that the game was given and at which somebody else listens. */
  taken: readonly number[];
}

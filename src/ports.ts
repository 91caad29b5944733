/**
 * The outside world on one page. Everything Dormouse does beyond its own memory goes through one of these
 * interfaces; adapters implement them, `src/compose/` chooses the adapters, tests bring fakes that pass the same
 * conformance suites.
 */

/** A TCP endpoint. */
export interface Address {
  host: string;
  port: number;
}

/** Instants are epoch milliseconds. Tests move this clock; nothing else in the service asks for the time. */
export interface Clock {
  now(): number;
  /** Calls `fire` once at or after `at` (already past: on the next turn). Returns the cancellation. */
  at(at: number, fire: () => void): () => void;
}

/** A port of a game that strangers reach on this machine. */
export interface PublishedPort {
  hostPort: number;
  /** Where the game listens. */
  containerPort: number;
  proto: 'tcp' | 'udp';
}

/** A user of this machine, by number. */
export interface GameUser {
  uid: number;
  gid: number;
}

/** Versions of Java, both ends included; `most` is Infinity where no newest one is known. */
export interface JavaRange {
  least: number;
  most: number;
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
  /** Given to the outside while the game runs. */
  ports: readonly PublishedPort[];
  /** What it runs on, as far as is known here (ignored by engines whose image brings it). Absent: any. */
  java?: JavaRange | undefined;
  /** Container image (ignored by engines without images). */
  image: string;
  /** Absolute path of the server's data root on this machine; mounted at /data, or the working directory. */
  dataDir: string;
  /** The image contract (`EULA`, `TYPE`, `VERSION`, `MEMORY`, …); the `process` engine hands it on as it is. */
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
 * `up`/`down`: one game changed. `away`: the engine went out of reach, or so it seems. `resync`: the engine was out of reach and is back (or an event may have been missed):
 * ask `list()` and compare everything.
 */
export type EngineEvent = { type: 'up' | 'down'; game: Game } | { type: 'away' } | { type: 'resync' };

/** One reading. Absent where the engine has no figure. */
export interface GameStats {
  cpuPercent: number;
  memUsedMb: number;
  memLimitMb: number;
}

/** One line a game printed (no line end), and an opaque place in the log: `logs({ after: position })` goes on behind it. */
export interface LogLine {
  position: string;
  text: string;
}

export interface LogQuery {
  /** Only lines behind this position; unknown or too old: from the oldest kept line. */
  after?: string;
  /** At most this many of the newest lines before following. */
  tail?: number;
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

/** Who listens on this machine, as far as a game is concerned: TCP ports of its loopback. */
export interface Listeners {
  /** Where the game's own processes listen, and nobody else does. */
  own: readonly number[];
  /** Those of the game's own addresses at which somebody else listens. */
  taken: readonly number[];
}

/**
 * Where game servers run. Every method is idempotent and says "make it so"; a game outlives this process.
 * Engines know server ids, never accounts or state machines. `test/conformance/engine.ts` is the contract in full.
 */
export interface Engine {
  readonly kind: 'docker' | 'process' | 'memory';
  /** Runs the core's installer to its end (mod packs). Rejects with EngineError. `signal` stops and removes it. */
  install(spec: GameSpec, signal: AbortSignal): Promise<void>;
  /** Makes the game run: resolves once its process runs (not: once it is ready). A running one is left alone and returned. */
  boot(spec: GameSpec, signal: AbortSignal): Promise<Game>;
  /** Asks the game to end, waits up to `graceMs`, then kills. Resolves when it is gone; at once if it is not there. */
  halt(serverId: string, graceMs: number): Promise<void>;
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
   * prints in the next moment; undefined where no game reads its input there. Absent: the engine does not own it.
   */
  type?(rcon: Address, line: string): Promise<string | undefined>;
  /**
   * Who listens for a running game, where games share this machine's addresses; undefined where that cannot be told. Absent:
   * each game has an address of its own.
   */
  listeners?(serverId: string): Promise<Listeners | undefined>;
  /** The addresses that connections of this machine have for a game: as it sees it, all players come from there. */
  proxyAddresses(): Promise<readonly string[]>;
}

/** What a running game says of itself in a status answer. */
export interface GameStatus {
  playersOnline: number;
  playersMax: number;
  versionName: string;
  protocol: number;
  /** The status JSON as the game sent it. */
  raw: string;
}

/** Asks running games for their status, as the server list of a client does. */
export interface Pinger {
  /** Rejects when there is no complete answer within `timeoutMs`. */
  status(address: Address, timeoutMs: number): Promise<GameStatus>;
}

/** The console of running games (RCON). One kept connection per address; one command in flight on it. */
export interface Console {
  /** The whole reply, however many packets it took. Rejects with ConsoleError. */
  run(address: Address, password: string, command: string): Promise<string>;
  /** Drops the kept connection to an address, if any. */
  release(address: Address): void;
  close(): void;
}

/** `absent`: nobody listens there. A game that does not answer now is `unavailable`. */
export class ConsoleError extends Error {
  readonly reason: 'absent' | 'unavailable' | 'timeout' | 'refused' | 'invalid';
  constructor(reason: ConsoleError['reason'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ConsoleError';
    this.reason = reason;
  }
}

/**
 * The management port of running games (https://minecraft.wiki/w/Minecraft_Server_Management_Protocol). One kept connection
 * per address, made anew by the next question where it broke. Rejects with ManagementError: there are other ways to ask.
 */
export interface Management {
  /** Whether the game takes players. */
  started(address: Address, secret: string): Promise<boolean>;
  /** Who is in the game. */
  players(address: Address, secret: string): Promise<readonly Profile[]>;
  /**
   * Calls `listener` when somebody came or left, as long as there is a connection; it is for `players` to say who. Returns
   * the end of it.
   */
  watch(address: Address, listener: () => void): () => void;
  /** Drops the kept connection to an address, if any. */
  release(address: Address): void;
  close(): void;
}

export class ManagementError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ManagementError';
  }
}

/** Which Minecraft versions there are, newest first. */
export interface Catalogue {
  versions(): Promise<{ versions: string[]; latest: string }>;
}

/** A player, as lists of players name one. */
export interface Profile {
  name: string;
  /** With hyphens, in lower case. */
  uuid: string;
}

/** The accounts of Minecraft. */
export interface Profiles {
  /** Who bears this name; undefined for nobody. Rejects with StatusError UNAVAILABLE ACCOUNTS_UNAVAILABLE. */
  find(name: string): Promise<Profile | undefined>;
}

/** A letter in plain text. */
export interface Mail {
  to: string;
  /** One line. */
  subject: string;
  text: string;
}

/** Sends letters. */
export interface Mailer {
  /** Resolves once somebody has taken the letter over; rejects where nobody would. */
  send(mail: Mail): Promise<void>;
}

/** What the machine has for games. */
export interface Machine {
  cores: number;
  ramMb: number;
  /** Of the file system that holds the servers; both 0 where it cannot be asked. */
  diskFreeMb: number;
  diskTotalMb: number;
}

/** Reads what the machine has; never rejects. */
export type MachineProbe = () => Promise<Machine>;

/** A payment that somebody is about to make. */
export interface CheckoutOrder {
  /** Ours. Asked twice for the same one, a provider opens one page. */
  checkoutId: string;
  /** Whole dollars. */
  amountUsd: number;
  /** Our own page about the checkout, where the payer comes back to. */
  returnUrl: string;
}

/** A provider's page on which an order can be paid. */
export interface CheckoutPage {
  url: string;
  /** What the provider calls it; '' where it needs no name of its own. */
  providerRef: string;
}

/** What a provider reports of an order. It says that money came or went, never how much of it is whose: that is ours to know. */
export interface CheckoutEvent {
  /** The provider's; unique among its events. */
  id: string;
  /** `disputed`: the payer's bank has taken the money back; `reinstated`: it has returned it. `other` is of no concern. */
  type: 'paid' | 'expired' | 'refunded' | 'disputed' | 'reinstated' | 'other';
  checkoutId: string;
  providerRef: string;
  /** The price of what was really paid, to be held against the order. In cents; null for another currency than US dollars. */
  paidCents: number | null;
  /** `refunded`: how much of it has gone back by now in all; `disputed`, `reinstated`: how much the dispute is about; else 0. */
  backCents: number;
  /** The provider's name for the dispute; '' where there is none. */
  disputeId: string;
}

/** Takes payments, on pages of its own. */
export interface Checkout {
  readonly provider: 'stripe' | 'test';
  /**
   * Rejects with StatusError UNAVAILABLE where the provider cannot be reached or refuses; its reason is CHECKOUT_REFUSED where
   * there surely is no page now.
   */
  open(order: CheckoutOrder): Promise<CheckoutPage>;
  /**
   * Reads a provider's callback, of which nothing is believed unless its signature over the very bytes is right and
   * recent. Rejects with StatusError INVALID_ARGUMENT SIGNATURE_INVALID, or UNAVAILABLE where the provider has to be asked
   * what it is about, and does not answer: then it is to be told again. Absent: the provider calls nobody.
   */
  readCallback?(body: Buffer, signature: string, at: number): Promise<CheckoutEvent>;
}

/**
 * A server of MySQL databases. `name` is both a database's and its user's: lower-case letters, digits and underscores, at
 * most 32. Rejects with StatusError UNAVAILABLE where the server is out of reach.
 */
export interface Databases {
  /**
   * Makes it so that the database is there, and that its user may do anything in it, nothing elsewhere, and signs in with
   * this password alone: sessions that were open end.
   */
  provide(name: string, password: string): Promise<void>;
  /** Removes both, whatever is there of them, and ends the user's sessions. */
  remove(name: string): Promise<void>;
  close(): Promise<void>;
}

/** A call to a webhook that a user has named. */
export interface WebhookCall {
  /** Of https, at the port of https. */
  url: string;
  /** The same for every try of one message, so that receivers can tell a repetition. */
  id: string;
  /** Sent as JSON. */
  body: object;
}

export interface WebhookAnswer {
  status: number;
  /** How long the receiver asks to be left alone; null where it does not say. */
  retryAfterSeconds: number | null;
}

/** Calls webhooks of users: at public addresses only, within seconds, following nobody anywhere. */
export interface Webhook {
  /** Resolves with the status of the answer, whatever it is; of the rest nothing is kept. Rejects with WebhookError. */
  post(call: WebhookCall): Promise<WebhookAnswer>;
}

export class WebhookError extends Error {
  /** `refused`: it leads to where we do not call. */
  readonly reason: 'refused' | 'timeout' | 'unreachable';
  constructor(reason: WebhookError['reason'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'WebhookError';
    this.reason = reason;
  }
}

/** What a catalogue of mods holds. */
export type ModKind = 'mod' | 'plugin' | 'modpack';

/** What is looked for; '' leaves a field open. */
export interface ModQuery {
  query: string;
  kind: ModKind | '';
  /** `fabric`, `paper`, … */
  loader: string;
  minecraftVersion: string;
  limit: number;
}

/** A mod, plugin or mod pack, whichever version of it. */
export interface ModProject {
  /** The registry's own, which stays when the project is renamed. */
  projectId: string;
  slug: string;
  title: string;
  description: string;
  author: string;
  kind: ModKind;
  downloads: number;
  iconUrl: string;
}

/** A file that a registry vouches for. At least one of its sums is there, in lower-case hex; '' for none. */
export interface ModFile {
  /** As the registry says; nobody has checked that it is a plain name. */
  name: string;
  /** Where it can be had, best first. */
  urls: readonly string[];
  sizeBytes: number;
  sha512: string;
  sha1: string;
}

/** One version of a project. */
export interface ModVersion {
  projectId: string;
  versionId: string;
  /** As its authors call it. */
  number: string;
  channel: 'release' | 'beta' | 'alpha';
  loaders: readonly string[];
  minecraftVersions: readonly string[];
  /** Epoch ms. */
  publishedAt: number;
  file: ModFile;
  /** What it does not run without. One of both names is there; a version's binds. */
  requires: readonly { projectId: string; versionId: string }[];
}

/** What is fit for a server; left out: anything. */
export interface ModFit {
  loaders?: readonly string[];
  minecraftVersion?: string;
}

/**
 * A catalogue of mods, plugins and mod packs, and their files. Rejects with StatusError: NOT_FOUND MOD_NOT_FOUND for what is
 * not there or is there no longer; UNAVAILABLE REGISTRY_UNAVAILABLE after several tries within half a minute.
 */
export interface ModRegistry {
  readonly source: 'modrinth' | 'curseforge';
  search(query: ModQuery, signal?: AbortSignal): Promise<ModProject[]>;
  /** By id or slug. Where projects of several kinds may bear one slug: of the first of these kinds that one bears it. */
  project(idOrSlug: string, signal?: AbortSignal, kinds?: readonly ModKind[]): Promise<ModProject>;
  /** Newest first; for any of the loaders and this version of Minecraft. */
  versions(projectId: string, fit: ModFit, signal?: AbortSignal): Promise<ModVersion[]>;
  version(projectId: string, versionId: string, signal?: AbortSignal): Promise<ModVersion>;
  /**
   * A file's bytes, from hosts that belong to the registry and no others: FAILED_PRECONDITION DOWNLOAD_REFUSED. At the end
   * they have proven to be what it vouches for; UNAVAILABLE CHECKSUM_MISMATCH or DOWNLOAD_BROKEN where not, and what has come
   * is worth nothing.
   */
  download(file: ModFile, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

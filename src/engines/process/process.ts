import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Address } from '../../kernel/address.ts';
import type { Clock } from '../../kernel/clock.ts';
import { createMutex } from '../../kernel/mutex.ts';
import { systemClock } from '../../kernel/system-clock.ts';
import { type Driver, drivenEngine } from '../driven-engine.ts';
import {
  type Engine,
  EngineError,
  type EngineEvent,
  type Game,
  type GameSpec,
  type GameStats,
  type Listeners,
  type LogLine,
  type LogQuery,
  type Preparation,
} from '../engine.ts';
import { type GamePorts, type Programs, commandFor, writePorts } from './command.ts';
import { type Confinement, compileCache, confine } from './confinement.ts';
import { installerHost } from './cores/installer.ts';
import { gameProcessOf } from './family.ts';
import { ProcessGames } from './games.ts';
import { ProcessInput } from './input.ts';
import { createJavas } from './java-homes.ts';
import { ProcessLogFiles } from './log-files.ts';
import { lastPosition, printedAfter, readLog } from './log-reader.ts';
import { DEFAULT_PORT_RANGE, type PortRange, holdPorts } from './ports.ts';
import type { JavaPrograms } from './prepare-launch.ts';
import { type Run, type Runs, gameOf, runFiles } from './runs.ts';
import { listenersOf } from './sockets.ts';
import { type ProcessUsage, processTable } from './table.ts';

/** Time for a game with a damaged run file to save and end, before its server starts again. */
const FORGOTTEN_GRACE_MS = 30_000;

/** `javas` is the `java` of this process's PATH by default. */
export interface ProcessEngineOptions extends Partial<Omit<JavaPrograms, 'coresDir' | 'installersOf'>> {
  /** Distinguishes its games from those of other installations on this machine. Default: no distinction. */
  installation?: string;
  /** Directory of run files and logs. The directory `cores` beside it contains the jars of Java cores. */
  runDir: string;
  log: Logger;
  /** Clock for the starts and ends of games. Default: the machine's own. */
  clock?: Clock;
  portRange?: PortRange;
  /** Main file of the sandbox core. */
  sandboxEntry: string;
  /** Paths of this program that the sandbox core reads. Default: the directory of `sandboxEntry`. */
  sandboxPaths?: readonly string[];
  /** Default: games run as the service's own user and can read everything that it can. */
  confinement?: Confinement;
}

/**
 * Creates an engine that runs games as child processes of this machine. They are detached and in separate process
 * groups, so that they outlive the service and its next instance adopts them. They listen on loopback ports. The
 * sandbox core gets the ports from SERVER_IP, SERVER_PORT, RCON_PORT and MANAGEMENT_SERVER_PORT, Java cores from
 * `server.properties`. The confinement determines which other files they can read; the network is this machine's.
 * Memory is limited only by the runtime's heap. Exit codes are known for games that this instance started, and null for
 * adopted ones.
 */
export function createProcessEngine(options: ProcessEngineOptions): Engine {
  return drivenEngine(new ProcessDriver(options), options.log);
}

class ProcessDriver implements Driver<Run> {
  readonly kind = 'process';
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #portRange: PortRange;
  readonly #confinement: Confinement;
  readonly #sandboxPaths: readonly string[];
  readonly #runDir: string;
  readonly #programs: Programs;
  readonly #runs: Runs;
  readonly #files: ProcessLogFiles;
  readonly #input: ProcessInput;
  readonly #games: ProcessGames;
  /** Chooses ports one server at a time. */
  readonly #withPorts = createMutex();
  readonly #usages = new Map<string, ProcessUsage & { at: number }>();
  /** The functions that release held ports, by server. */
  readonly #releases = new Map<string, () => void>();

  constructor(options: ProcessEngineOptions) {
    const { installation = '', runDir, log, clock = systemClock, confinement = {}, sandboxEntry } = options;
    this.#log = log;
    this.#clock = clock;
    this.#portRange = options.portRange ?? DEFAULT_PORT_RANGE;
    this.#confinement = confinement;
    this.#sandboxPaths = options.sandboxPaths ?? [dirname(sandboxEntry)];
    this.#runDir = runDir;
    const { javaOf, downloadedJavas, fetchJava, cores, quickStarts } = options;
    this.#programs = {
      sandboxEntry,
      javaOf,
      downloadedJavas,
      fetchJava,
      cores,
      javas: options.javas ?? createJavas({ command: 'java', searchPath: searchPath() }),
      coresDir: join(dirname(runDir), 'cores'),
      quickStarts,
      installersOf: (spec, java) => {
        const openLog = () => this.#files.openForGame(spec.serverId);
        return installerHost(spec, java, { confinement, env: basicEnvironment(), openLog });
      },
    };
    this.#runs = runFiles(runDir, (server) => {
      log.error(
        { server },
        'the run file of a game is damaged and was set aside; its processes are ended at its next start or stop',
      );
    });
    this.#files = new ProcessLogFiles(runDir);
    this.#input = new ProcessInput(runDir);
    this.#runs.sweep().catch((err: unknown) => log.warn({ err }, 'could not remove the drafts of an earlier process'));
    this.#games = new ProcessGames(this.#runs, this.#files, clock, log, installation);
    this.#games.events.on('event', (event) => quickStarts?.note(event));
  }

  find(serverId: string): Promise<Run | undefined> {
    return this.#games.find(serverId);
  }

  gameOf(run: Run): Game {
    return gameOf(run);
  }

  async list(): Promise<Game[]> {
    return (await this.#games.all()).map(gameOf);
  }

  runsGame({ exit, installer }: Run): boolean {
    return exit === null && !installer;
  }

  isSame(run: Run, other: Run): boolean {
    return run.token === other.token;
  }

  async boot(spec: GameSpec, signal: AbortSignal, progress?: (progress: Preparation) => void): Promise<Game> {
    return gameOf(await this.#run(spec, false, signal, progress));
  }

  /** Java cores have no installer of their own: `commandFor` prepares what is missing. */
  async prepare(spec: GameSpec, signal: AbortSignal): Promise<boolean> {
    if (spec.core === 'sandbox') return false;
    await commandFor(spec, this.#programs, signal);
    return true;
  }

  startInstaller(spec: GameSpec, signal: AbortSignal): Promise<Run> {
    return this.#run(spec, true, signal);
  }

  /** Rejects only after `signal` has killed the installer. */
  async ended(installer: Run, signal: AbortSignal): Promise<number | null> {
    const abort = () =>
      void this.kill(installer).catch((err: unknown) => {
        this.#log.error({ err, server: installer.serverId }, 'could not end an installer');
      });
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    const { code } = await this.#games.ended(installer);
    signal.removeEventListener('abort', abort);
    signal.throwIfAborted();
    return code;
  }

  untilShown(serverId: string): Promise<void> {
    return this.#games.untilShown(serverId);
  }

  /** Ends the processes of a damaged run file. */
  async settle(serverId: string, graceMs = FORGOTTEN_GRACE_MS, signal?: AbortSignal): Promise<void> {
    await this.#games.endForgotten(serverId, graceMs, signal);
  }

  async stop(run: Run, graceMs: number, signal?: AbortSignal): Promise<void> {
    await this.#games.stop(run, Math.max(1, graceMs), 'SIGTERM', signal);
  }

  async kill(run: Run): Promise<void> {
    if (run.exit === null) await this.#games.stop(run, 0, 'SIGKILL');
  }

  async discard(found: Run): Promise<void> {
    await this.#games.stop(found, 0, 'SIGKILL');
    await this.#runs.remove(found);
    this.#input.remove(found.serverId);
    this.#releasePorts(found.serverId);
    this.#usages.delete(found.serverId);
  }

  async erase(serverId: string, run: Run | undefined): Promise<void> {
    if (run) await this.discard(run);
    this.#files.remove(serverId);
  }

  watch(listener: (event: EngineEvent) => void): () => void {
    this.#games.events.on('event', listener);
    // Adopts running games, so that their ends are noticed.
    this.#games.all().catch((err: unknown) => this.#log.warn({ err }, 'the run files could not be read'));
    return () => void this.#games.events.off('event', listener);
  }

  async stats(serverId: string, { exit, pid, startedAt, ramMb }: Run): Promise<GameStats | undefined> {
    if (exit !== null || pid === null) return undefined;
    const usage = await processTable.usage((await gameProcessOf(pid)) ?? pid);
    if (!usage) return undefined;
    const at = this.#clock.now();
    const before = this.#usages.get(serverId) ?? { cpuMs: 0, at: startedAt ?? at };
    this.#usages.set(serverId, { ...usage, at });
    const cpuPercent = at > before.at ? (Math.max(0, usage.cpuMs - before.cpuMs) / (at - before.at)) * 100 : 0;
    return { cpuPercent, memUsedMb: usage.rssMb, memLimitMb: ramMb };
  }

  async type(rcon: Address, line: string): Promise<string | undefined> {
    const run = (await this.#games.all()).find(({ rconPort, exit }) => exit === null && rconPort === rcon.port);
    if (run === undefined) return undefined;
    const after = await lastPosition(readLog(this.#files, run.serverId, { tail: 1 }, () => true));
    if (!(await this.#input.write(run.serverId, line))) return undefined;
    return await printedAfter(after, (query) => this.#readLog(run.serverId, query));
  }

  async listeners(serverId: string): Promise<Listeners | undefined> {
    const found = await this.#games.find(serverId);
    if (!found || found.exit !== null) return undefined;
    const { gamePort, rconPort, managementPort } = found;
    return await listenersOf(found, [gamePort, rconPort, managementPort]);
  }

  async proxyAddresses(): Promise<readonly string[]> {
    return ['127.0.0.1', '::1'];
  }

  async *logs(serverId: string, query: LogQuery = {}): AsyncGenerator<LogLine> {
    await this.#games.find(serverId);
    yield* this.#readLog(serverId, query);
  }

  toError(error: unknown): Error {
    if (error instanceof EngineError || error instanceof TypeError) return error;
    return new EngineError('unknown', 'The server could not be changed on this machine.', { cause: error });
  }

  #readLog(serverId: string, query: LogQuery): AsyncGenerator<LogLine> {
    return readLog(this.#files, serverId, query, () => this.#games.isLive(serverId));
  }

  /** Starts a run of this kind in place of any other. Returns a running one of this kind unchanged. */
  async #run(
    spec: GameSpec,
    installer: boolean,
    signal: AbortSignal,
    progress?: (progress: Preparation) => void,
  ): Promise<Run> {
    const { serverId } = spec;
    // Preparing could change the files of a running game.
    const running = await this.#games.find(serverId);
    if (running?.exit === null && running.installer === installer) return running;
    const plain = await commandFor(spec, this.#programs, signal, progress);
    // Directory for compiled code of the sandbox core, which then starts in two thirds of the time.
    const cacheDir = await compileCache(spec.core, this.#runDir, this.#confinement);
    const { coresDir } = this.#programs;
    const needs = { searchPath: searchPath(), sandboxPaths: this.#sandboxPaths, coreFiles: coresDir, cacheDir };
    const command = await confine(plain, spec, this.#confinement, needs);
    const chosen = { ...spec, build: plain.build };
    for (;;) {
      signal.throwIfAborted();
      const found = await this.#games.find(serverId);
      if (found && found.exit === null && found.installer === installer) return found;
      if (found) await this.discard(found);
      // Ports are recorded with the claim, so that they cannot be chosen twice.
      const claimed = await this.#withPorts(async () =>
        this.#games.claim(chosen, installer, await this.#choosePorts(serverId)),
      );
      if (!claimed) {
        await sleep(50);
        continue;
      }
      try {
        if (spec.core !== 'sandbox' && !spec.isProxy) await writePorts(spec.dataDir, claimed, this.#confinement.user);
        const port = spec.isProxy ? ['--port', String(claimed.gamePort)] : [];
        const run = { ...command, args: [...command.args, ...port] };
        // The sandbox core has its own console.
        await using pipe = spec.core === 'sandbox' ? undefined : await this.#openInput(serverId);
        const env = environment(spec, claimed, cacheDir);
        return await this.#games.start(claimed, run, spec.dataDir, env, pipe);
      } catch (error) {
        await this.#games.abandon(claimed);
        this.#input.remove(serverId);
        this.#releasePorts(serverId);
        throw error;
      }
    }
  }

  async #choosePorts(serverId: string): Promise<GamePorts> {
    this.#releasePorts(serverId);
    const taken = new Set((await this.#runs.all()).flatMap((run) => [run.gamePort, run.rconPort, run.managementPort]));
    const { ports, release } = await holdPorts(3, this.#portRange, taken);
    this.#releases.set(serverId, release);
    const [gamePort = 0, rconPort = 0, managementPort = 0] = ports;
    return { gamePort, rconPort, managementPort };
  }

  #releasePorts(serverId: string): void {
    this.#releases.get(serverId)?.();
    this.#releases.delete(serverId);
  }

  async #openInput(serverId: string): Promise<FileHandle | undefined> {
    try {
      return await this.#input.openForGame(serverId);
    } catch (err) {
      this.#log.warn({ err, server: serverId }, 'could not open the standard input of a game');
      return undefined;
    }
  }
}

/** Returns the search path of programs, as a shell would. */
export function searchPath(): string {
  return process.env.PATH ?? '/usr/bin:/bin';
}

/** Returns the variables that every program needs. */
function basicEnvironment(): Record<string, string> {
  return { PATH: searchPath(), LANG: process.env.LANG ?? 'C.UTF-8' };
}

/**
 * Returns the specification's variables, those that every program needs, and the ports. Never includes the service's
 * own environment.
 */
function environment(spec: GameSpec, ports: GamePorts, cacheDir: string | undefined): Record<string, string> {
  return {
    ...basicEnvironment(),
    HOME: spec.dataDir,
    ...(cacheDir !== undefined ? { NODE_COMPILE_CACHE: cacheDir } : {}),
    ...spec.env,
    SERVER_IP: '127.0.0.1',
    SERVER_PORT: String(ports.gamePort),
    RCON_PORT: String(ports.rconPort),
    MANAGEMENT_SERVER_HOST: '127.0.0.1',
    MANAGEMENT_SERVER_PORT: String(ports.managementPort),
  };
}

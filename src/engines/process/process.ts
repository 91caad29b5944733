import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../../kernel/clock.ts';
import { createKeyedMutex } from '../../kernel/mutex.ts';
import { systemClock } from '../../kernel/system-clock.ts';
import { type Engine, EngineError, type EngineEvent, type GameSpec, type GameStats, type LogLine } from '../engine.ts';
import { type GamePorts, type Programs, commandFor, writePorts } from './command.ts';
import { type Confinement, compileCache, confine } from './confinement.ts';
import { gameProcessOf } from './family.ts';
import { ProcessGames } from './games.ts';
import { ProcessInput } from './input.ts';
import { type Javas, createJavas } from './java-homes.ts';
import type { JavaOfVersion } from './java-versions.ts';
import { ProcessLogFiles } from './log-files.ts';
import { lastPosition, printedAfter, readLog } from './log-reader.ts';
import { DEFAULT_PORT_RANGE, type PortRange, holdPorts } from './ports.ts';
import { type Run, gameOf, runFiles } from './runs.ts';
import { listenersOf } from './sockets.ts';
import { type ProcessUsage, processTable } from './table.ts';

/** How long a game whose run file was damaged may take to save and end, before its server starts anew. */
const FORGOTTEN_GRACE_MS = 30_000;

export interface ProcessEngineOptions {
  /** Directory of run files and logs; `../cores` beside it holds jars of Java cores. */
  runDir: string;
  log: Logger;
  /** Dates starts and ends of games. Default: the machine's own. */
  clock?: Pick<Clock, 'now'>;
  portRange?: PortRange;
  /** Default: the `java` of this process's PATH. */
  javas?: Javas;
  /** See Programs. */
  javaOf?: JavaOfVersion;
  /** Main file of the sandbox core. */
  sandboxEntry: string;
  /** All that the sandbox core reads of this program. Default: the directory of `sandboxEntry`. */
  sandboxPaths?: readonly string[];
  /** Default: games run as the service's own user, who may read what the service can. */
  confinement?: Confinement;
  /** See Programs; told the directory to put it in. Absent: only what the operator has put there is run. */
  fetchCore?: (coresDir: string, core: string, version: string, signal: AbortSignal, loader?: string) => Promise<void>;
}

/**
 * Games as child processes of this machine, detached and in process groups of their own, so that they outlive the
 * service and are adopted by its next instance. They listen on loopback ports, told to the sandbox core by SERVER_IP,
 * SERVER_PORT, RCON_PORT and MANAGEMENT_SERVER_PORT, to Java cores by `server.properties`. What they may read besides
 * their own folder is for the confinement to say; the network is this machine's. Memory is bounded by the runtime's
 * heap only. Exit codes are known of games that this instance started; those of adopted ones are null.
 */
export function createProcessEngine(options: ProcessEngineOptions): Engine {
  const { runDir, log, clock = systemClock } = options;
  const { confinement = {} } = options;
  const { user } = confinement;
  const runs = runFiles(runDir, (server) => {
    log.error(
      { server },
      'the run file of a game was damaged and is set aside; what still runs of it is ended before its next start',
    );
  });
  const files = new ProcessLogFiles(runDir);
  const input = new ProcessInput(runDir);
  runs.sweep().catch((err: unknown) => log.warn({ err }, 'drafts of an earlier process could not be removed'));
  const games = new ProcessGames(runs, files, clock, log);
  const withLock = createKeyedMutex();
  const coresDir = join(dirname(runDir), 'cores');
  const { sandboxPaths = [dirname(options.sandboxEntry)] } = options;
  const programs: Programs = {
    sandboxEntry: options.sandboxEntry,
    javas: options.javas ?? createJavas({ command: 'java', searchPath: searchPath() }),
    javaOf: options.javaOf,
    coresDir,
    fetchCore: options.fetchCore?.bind(undefined, coresDir),
  };
  if (process.getuid?.() === 0 && !user) log.warn('games run as root: run the service as a user of its own');
  const usages = new Map<string, ProcessUsage & { at: number }>();
  /** By server: releases its held ports. */
  const releases = new Map<string, () => void>();

  function releasePorts(serverId: string): void {
    releases.get(serverId)?.();
    releases.delete(serverId);
  }

  async function choosePorts(serverId: string): Promise<GamePorts> {
    releasePorts(serverId);
    const taken = new Set((await runs.all()).flatMap((run) => [run.gamePort, run.rconPort, run.managementPort]));
    const { ports, release } = await holdPorts(3, options.portRange ?? DEFAULT_PORT_RANGE, taken);
    releases.set(serverId, release);
    const [gamePort = 0, rconPort = 0, managementPort = 0] = ports;
    return { gamePort, rconPort, managementPort };
  }

  /** Makes one change of a server's run at a time, after the processes of a damaged run file have ended. */
  function changing<T>(serverId: string, work: () => Promise<T>, graceMs = FORGOTTEN_GRACE_MS): Promise<T> {
    return withLock(serverId, async () => {
      await games.untilShown(serverId);
      await games.endForgotten(serverId, graceMs);
      return await work();
    });
  }

  /** Makes a run of this kind, in place of one that has ended, if any; leaves a running one alone. */
  async function run(spec: GameSpec, installer: boolean, signal: AbortSignal): Promise<Run> {
    const { serverId } = spec;
    const plain = await commandFor(spec, programs, signal);
    // Compiled code of the sandbox core, which starts in two thirds of the time with it.
    const cacheDir = await compileCache(spec.core, runDir, confinement);
    const needs = { searchPath: searchPath(), sandboxPaths, coresDir, cacheDir };
    const command = await confine(plain, spec, confinement, needs);
    for (;;) {
      signal.throwIfAborted();
      const found = await games.find(serverId);
      if (found && found.exit === null && found.installer === installer) return found;
      if (found) await discard(found);
      // Ports are noted with the claim: nobody else may choose in between.
      const claimed = await withLock(' ports', async () => games.claim(spec, installer, await choosePorts(serverId)));
      if (!claimed) {
        await sleep(50);
        continue;
      }
      try {
        if (spec.core !== 'sandbox') await writePorts(spec.dataDir, claimed, user);
        // The sandbox core has a console of its own.
        await using pipe = spec.core === 'sandbox' ? undefined : await openInput(serverId);
        return await games.start(claimed, command, spec.dataDir, environment(spec, claimed, cacheDir), pipe);
      } catch (error) {
        await games.abandon(claimed);
        input.remove(serverId);
        releasePorts(serverId);
        throw error;
      }
    }
  }

  async function openInput(serverId: string): Promise<FileHandle | undefined> {
    try {
      return await input.openForGame(serverId);
    } catch (err) {
      log.warn({ err, server: serverId }, 'a game gets no standard input');
      return undefined;
    }
  }

  async function discard(found: Run, graceMs = 0): Promise<void> {
    await games.stop(found, graceMs, graceMs > 0 ? 'SIGTERM' : 'SIGKILL');
    await runs.remove(found.serverId);
    input.remove(found.serverId);
    releasePorts(found.serverId);
    usages.delete(found.serverId);
  }

  async function killNow(serverId: string): Promise<Run | undefined> {
    await games.untilShown(serverId);
    const found = await games.find(serverId);
    if (found && found.exit === null) await games.stop(found, 0, 'SIGKILL');
    return found;
  }

  return {
    kind: 'process',

    boot: (spec, signal) =>
      translated(() => changing(spec.serverId, async () => gameOf(await run(spec, false, signal))), signal),

    install: (spec, signal) =>
      translated(async () => {
        const { serverId } = spec;
        // Java cores have no installer here: `commandFor` has told whether all is there.
        if (spec.core !== 'sandbox') return void (await commandFor(spec, programs, signal));
        const installing = await changing(serverId, async () => {
          const found = await games.find(serverId);
          if (found?.exit === null && !found.installer) {
            throw new EngineError('install_failed', 'The server is running.', {
              suggestion: 'Stop it, then try again.',
            });
          }
          return await run(spec, true, signal);
        });
        const abort = () =>
          void games.stop(installing, 0, 'SIGKILL').catch((err: unknown) => {
            log.error({ err, server: serverId }, 'an installer cannot be ended');
          });
        signal.addEventListener('abort', abort, { once: true });
        if (signal.aborted) abort();
        const { code } = await games.ended(installing);
        signal.removeEventListener('abort', abort);
        if (signal.aborted || code === 0) {
          await withLock(serverId, async () => {
            const found = await games.find(serverId);
            if (found?.token === installing.token) await discard(found);
          });
          return signal.throwIfAborted();
        }
        throw new EngineError('install_failed', `The installer ended with code ${code ?? 'unknown'}.`, {
          suggestion: 'Read the log, then try again.',
        });
      }, signal),

    halt: (serverId, graceMs) =>
      translated(() =>
        changing(
          serverId,
          async () => {
            const found = await games.find(serverId);
            if (found) await discard(found, Math.max(1, graceMs));
          },
          graceMs,
        ),
      ),

    // First outside the lock, so that it cuts a waiting halt short; then inside, to discard just the run that it
    // killed.
    kill: (serverId) =>
      translated(async () => {
        const killed = await killNow(serverId);
        const rest = async () => {
          const found = await games.find(serverId);
          if (found && found.token === killed?.token) await discard(found);
        };
        await changing(serverId, rest, 0);
      }),

    erase: (serverId) =>
      translated(async () => {
        await killNow(serverId);
        const rest = async () => {
          const found = await games.find(serverId);
          if (found) await discard(found);
          files.remove(serverId);
        };
        await changing(serverId, rest, 0);
      }),

    list: () => translated(async () => (await games.all()).map(gameOf)),

    inspect: (serverId) =>
      translated(async () => {
        const found = await games.find(serverId);
        return found && gameOf(found);
      }),

    watch(listener) {
      const tell = (event: EngineEvent) => {
        try {
          listener(event);
        } catch (err) {
          log.error({ err }, 'a listener of the engine failed');
        }
      };
      games.events.on('event', tell);
      // Finds those to be adopted, so that their ends are noticed.
      games.all().catch((err: unknown) => log.warn({ err }, 'the run files could not be read'));
      return () => void games.events.off('event', tell);
    },

    stats: (serverId) =>
      translated(async (): Promise<GameStats | undefined> => {
        const found = await games.find(serverId);
        if (!found || found.exit !== null || found.pid === null) return undefined;
        const usage = await processTable.usage(await gameProcessOf(found.pid));
        if (!usage) return undefined;
        const at = clock.now();
        const before = usages.get(serverId) ?? { cpuMs: 0, at: found.startedAt ?? at };
        usages.set(serverId, { ...usage, at });
        const cpuPercent = at > before.at ? (Math.max(0, usage.cpuMs - before.cpuMs) / (at - before.at)) * 100 : 0;
        return { cpuPercent, memUsedMb: usage.rssMb, memLimitMb: found.ramMb };
      }),

    type: (rcon, line) =>
      translated(async () => {
        const run = (await games.all()).find(({ rconPort, exit }) => exit === null && rconPort === rcon.port);
        if (run === undefined) return undefined;
        const after = await lastPosition(readLog(files, run.serverId, { tail: 1 }, () => true));
        if (!(await input.write(run.serverId, line))) return undefined;
        return await printedAfter(after, (query) =>
          readLog(files, run.serverId, query, () => games.isLive(run.serverId)),
        );
      }),

    listeners: (serverId) =>
      translated(async () => {
        const found = await games.find(serverId);
        if (!found || found.exit !== null) return undefined;
        const { gamePort, rconPort, managementPort } = found;
        return await listenersOf(found, [gamePort, rconPort, managementPort]);
      }),

    proxyAddresses: async () => ['127.0.0.1', '::1'],

    async *logs(serverId, query = {}): AsyncGenerator<LogLine> {
      await translated(() => games.find(serverId));
      yield* readLog(files, serverId, query, () => games.isLive(serverId));
    },
  };
}

/** Where programs are looked for, as a shell would. */
export function searchPath(): string {
  return process.env.PATH ?? '/usr/bin:/bin';
}

/** What the specification says, what every program needs, and where to listen; never the service's own environment. */
function environment(spec: GameSpec, ports: GamePorts, cacheDir: string | undefined): Record<string, string> {
  return {
    PATH: searchPath(),
    LANG: process.env.LANG ?? 'C.UTF-8',
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

/** What `work` rejects with as an EngineError; where `signal` has fired, its reason. */
async function translated<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (error instanceof EngineError || error instanceof TypeError) throw error;
    throw new EngineError('unknown', 'The server could not be changed on this machine.', { cause: error });
  }
}

import { EventEmitter } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../../kernel/clock.ts';
import { abortable, withTimeout } from '../../kernel/timeout.ts';
import { EngineError, type EngineEvent, type Exit, type GameSpec } from '../engine.ts';
import type { GamePorts } from './command.ts';
import { signalGame } from './family.ts';
import type { ProcessLogFiles } from './log-files.ts';
import { LogRotation } from './log-rotation.ts';
import { type Forwarder, type IsMeant, forwardPorts } from './port-forwarder.ts';
import { type Run, type Runs, gameOf, newRun } from './runs.ts';
import { killMarked, leadsGroup, send, unkillable } from './signals.ts';
import { socketsOf } from './sockets.ts';
import { type Command, spawnGame } from './spawn-game.ts';
import { processTable as table } from './table.ts';

const POLL_MS = 1_000;

/** Time limit for a killed process to end. It takes longer only while the kernel waits for a device. */
const KILL_MS = 30_000;
const ROTATE_EVERY_MS = 1_000;
const FORGOTTEN_POLL_MS = 100;

/** Maximum number of ended runs in memory. They matter only for a run file that was read shortly before the end. */
const MOST_ENDED = 1_000;

/** Time after which another instance's intent without a process counts as interrupted. */
const INTENT_MS = 3_000;
const INTENT_POLL_MS = 50;

/**
 * Variables in each game's environment. They identify its run, its run file (needed if that is damaged), its server and
 * its installation.
 */
const TOKEN = 'DORMOUSE_RUN';
const RUN_FILE = 'DORMOUSE_RUN_FILE';
export const SERVER = 'DORMOUSE_SERVER';
export const INSTALLATION = 'DORMOUSE_INSTALLATION';

interface Live {
  run: Run;
  /** False for games that an earlier instance started. Their end is polled for. */
  own: boolean;
  ended: Promise<Exit>;
  end: (exit: Exit) => void;
  forwarder: Forwarder | undefined;
  /** Settles once the start is in the run file. The end is written only after that. */
  noted: Promise<void>;
}

/** Starts, watches and ends the processes of run files, and adopts them after a restart. Independent of cores. */
export class ProcessGames {
  readonly events = new EventEmitter<{ event: [EngineEvent] }>();
  readonly #installation: string;
  readonly #runs: Runs;
  readonly #files: ProcessLogFiles;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Live runs by token, because a server's last run may still be ending when its next one is seen. */
  readonly #live = new Map<string, Live>();
  /** Tokens of claimed runs that this instance is about to start, even if the disk is slow. */
  readonly #starting = new Set<string>();
  /** The last run that ended here, by server. Its file, if read earlier, may not show the end. */
  readonly #ended = new Map<string, Run>();
  /** Ended runs whose end could not be written, by token. */
  readonly #unnoted = new Map<string, Run>();
  /** When this instance first saw an intent of another one, by token and on a monotonic clock. */
  readonly #intents = new Map<string, number>();
  #poll: NodeJS.Timeout | undefined;
  #rotate: NodeJS.Timeout | undefined;
  readonly #rotation: LogRotation;

  constructor(runs: Runs, files: ProcessLogFiles, clock: Clock, log: Logger, installation = '') {
    this.#installation = installation;
    this.#runs = runs;
    this.#files = files;
    this.#clock = clock;
    this.#log = log;
    this.#rotation = new LogRotation(files, log);
    this.events.setMaxListeners(0);
  }

  /** Returns a server's current run; undefined if none exists, or while one starts. */
  async find(serverId: string): Promise<Run | undefined> {
    const run = await this.#runs.read(serverId);
    return run && (await this.#seen(run));
  }

  async all(): Promise<Run[]> {
    const runs = await Promise.all((await this.#runs.all()).map((run) => this.#seen(run)));
    return runs.filter((run) => run !== undefined);
  }

  isLive(serverId: string): boolean {
    return [...this.#live.values()].some((live) => live.run.serverId === serverId && live.run.exit === null);
  }

  /** Claims the server for a new run. Returns undefined while another run holds it. */
  async claim(spec: GameSpec, installer: boolean, ports: GamePorts): Promise<Run | undefined> {
    const run = newRun(spec, installer, ports, this.#clock.now());
    this.#starting.add(run.token);
    if (await this.#runs.claim(run)) {
      this.#ended.delete(run.serverId);
      return run;
    }
    this.#starting.delete(run.token);
    return undefined;
  }

  /** Gives up a claimed run that was not started. */
  async abandon(run: Run): Promise<void> {
    await this.#runs.remove(run);
    this.#starting.delete(run.token);
  }

  /**
   * Starts the program of a claimed run. Its output goes to the server's log. Its environment is `env` and the
   * variables that identify the run. It reads `input`, or an empty input.
   */
  async start(run: Run, command: Command, cwd: string, env: Record<string, string>, input?: FileHandle): Promise<Run> {
    let started: Run | undefined;
    // Open the log before the ports: a failure here leaves no port open.
    await using output = await this.#files.openForGame(run.serverId);
    const forwarder = await this.#forward(run, () => started);
    const marks = {
      [TOKEN]: run.token,
      [RUN_FILE]: this.#runs.path(run.serverId),
      [SERVER]: run.serverId,
      [INSTALLATION]: this.#installation,
    };
    const options = { cwd, env: { ...env, ...marks }, input, output };
    const child = await spawnGame(command, options).catch((error: unknown) => {
      forwarder?.close();
      throw error;
    });
    child.unref();
    // The start is read synchronously, before the process is reaped, even if it has ended. `startedAt` is the same for
    // an instance that finds the process by its token.
    started = {
      ...run,
      pid: child.pid,
      startedAt: run.intendedAt,
      start: (await table.startOf(child.pid).catch(() => null)) ?? null,
    };
    const live = this.#enlist(started, true, forwarder);
    child.once('exit', (code, signal) => {
      const number = signal === null ? 0 : constants.signals[signal];
      live.end({ code: code ?? 128 + number, oomKilled: false, at: this.#clock.now() });
    });
    live.noted = this.#runs.update(started);
    try {
      await live.noted;
    } catch (error) {
      // Kill the process: without a run file it cannot be found again.
      await this.stop(started, 0, 'SIGKILL');
      throw error;
    }
    this.#starting.delete(run.token);
    this.events.emit('event', { type: 'up', game: gameOf(started) });
    return started;
  }

  /**
   * Sends a signal to a run's process and waits for its end. After `graceMs`, kills its process group. Rejects when
   * `calledOff` fires, and then kills no process.
   */
  async stop(run: Run, graceMs: number, signal: NodeJS.Signals = 'SIGTERM', calledOff?: AbortSignal): Promise<void> {
    const live = this.#live.get(run.token);
    if (!live || run.pid === null) return;
    await signalGame(run.pid, signal);
    if (!(await abortable(this.#endsWithin(live, graceMs), calledOff))) {
      send(-run.pid, 'SIGKILL');
      if (!(await this.#endsWithin(live, KILL_MS))) throw unkillable();
    }
  }

  /** Resolves with the end of a run, immediately if it has ended. */
  async ended(run: Run): Promise<Exit> {
    const live = this.#live.get(run.token);
    if (live) return await live.ended;
    return run.exit ?? { code: null, oomKilled: false, at: null };
  }

  async #endsWithin(live: Live, ms: number): Promise<boolean> {
    // The end of a process that is not our child must be polled for.
    const looking = live.own ? undefined : setInterval(() => void this.#look(live), 50);
    try {
      const ended = live.ended.then(() => true);
      return await withTimeout(ended, ms, { late: () => false });
    } finally {
      clearInterval(looking);
    }
  }

  /** Returns the current state of a run, from its file and its process. */
  async #seen(run: Run): Promise<Run | undefined> {
    const unnoted = this.#unnoted.get(run.token);
    if (unnoted) await this.#note(unnoted);
    const own = this.#own(run);
    if (own) return own;
    if (this.#starting.has(run.token)) return undefined;
    if (run.exit) return run;
    if (run.pid === null) return await this.#traced(run);
    const isThere = run.start !== null && (await table.startOf(run.pid)) === run.start;
    const meanwhile = this.#own(run);
    if (meanwhile) return meanwhile;
    if (isThere) return this.#adopt(run);
    // The service that saw its end may have been killed before it had ended the rest.
    await this.#killRest(run);
    const ended = { ...run, exit: { code: null, oomKilled: false, at: null } };
    await this.#note(ended);
    return ended;
  }

  /** Returns this instance's own observations of a run; undefined without any. */
  #own({ serverId, token }: Run): Run | undefined {
    const ended = this.#ended.get(serverId);
    return this.#live.get(token)?.run ?? (ended?.token === token ? ended : undefined);
  }

  /**
   * Writes the end of a run to its file. If that fails, keeps the end in memory and writes it at the next check of the
   * run.
   */
  async #note(ended: Run): Promise<void> {
    const { serverId, token } = ended;
    try {
      await this.#runs.update(ended);
      this.#unnoted.delete(token);
    } catch (err) {
      if (!this.#unnoted.has(token)) this.#log.warn({ err, server: serverId }, 'could not store the end of a game');
      this.#unnoted.set(token, ended);
    }
  }

  /**
   * Ends the processes of a damaged run file, by force after `graceMs`, because two games of one server would corrupt
   * its world. Rejects when `signal` fires.
   */
  async endForgotten(serverId: string, graceMs: number, signal?: AbortSignal): Promise<void> {
    // Reading the file detects the damage.
    await this.#runs.read(serverId);
    if (!this.#runs.isDamaged(serverId)) return;
    const left = async () => {
      const pids = await table.withEnvironment(`${RUN_FILE}=${this.#runs.path(serverId)}`);
      const alive = await Promise.all(pids.map((pid) => table.startOf(pid)));
      return pids.filter((_, index) => alive[index] !== undefined);
    };
    for (const pid of (await left()).filter(leadsGroup)) await signalGame(pid, 'SIGTERM');
    const end = performance.now() + graceMs;
    for (let pids = await left(); pids.length > 0; pids = await left()) {
      const late = performance.now() - end;
      if (late > KILL_MS) throw unkillable();
      signal?.throwIfAborted();
      if (late >= 0) for (const pid of pids) send(pid, 'SIGKILL');
      await sleep(FORGOTTEN_POLL_MS);
    }
    await this.#runs.removeDamaged(serverId);
  }

  /** Finds and adopts the process of a run whose start was not written. */
  async #traced(run: Run): Promise<Run | undefined> {
    const age = this.#clock.now() - run.intendedAt;
    for (const pid of await table.withEnvironment(`${TOKEN}=${run.token}`)) {
      const start = await table.startOf(pid);
      // Only the game's first process leads a group. Others are its children.
      if (start === undefined || !leadsGroup(pid)) continue;
      const found = { ...run, pid, start, startedAt: run.intendedAt };
      await this.#runs.update(found);
      return this.#adopt(found);
    }
    // A fresh intent is about to be started. Its age also counts by the monotonic clock, because the other clock may
    // have been set back.
    const firstSeen = this.#intents.get(run.token) ?? performance.now();
    const isOld = age > INTENT_MS || performance.now() - firstSeen > INTENT_MS;
    if (isOld) this.#intents.delete(run.token);
    else this.#intents.set(run.token, firstSeen);
    if (!isOld) return undefined;
    // Its first process may have ended while others stayed.
    await this.#killRest(run);
    await this.#runs.remove(run);
    return undefined;
  }

  /**
   * Waits for the outcome of a start that another instance began and has not recorded. Its process may be about to
   * appear, and a caller that ends the game must not miss it.
   */
  async untilShown(serverId: string): Promise<void> {
    for (;;) {
      const run = await this.#runs.read(serverId);
      if (run?.pid !== null || this.#starting.has(run.token) || this.#live.has(run.token)) return;
      if (await this.#traced(run)) return;
      await sleep(INTENT_POLL_MS);
    }
  }

  #adopt(run: Run): Run {
    if (this.#live.has(run.token)) return run;
    this.#files.heal(run.serverId);
    // A service that died during a log rotation may have left the game stopped.
    if (run.pid !== null) send(-run.pid, 'SIGCONT');
    const live = this.#enlist(run, false);
    this.#forward(run, () => run).then(
      (forwarder) => (live.run.exit ? forwarder?.close() : (live.forwarder = forwarder)),
      (err: unknown) => this.#log.warn({ err, server: run.serverId }, 'a port of an adopted game is taken'),
    );
    this.#log.info({ server: run.serverId, pid: run.pid }, 'adopted a running game');
    return run;
  }

  /** Opens a run's published ports. They lead only to sockets of its own game. */
  async #forward(run: Run, game: () => Run | undefined): Promise<Forwarder | undefined> {
    const { ports, gamePort, rconPort, managementPort } = run;
    if (ports.length === 0) return undefined;
    const isOwn = socketsOf(game);
    // Players and the console reach these ports in other ways.
    const inner = new Set([gamePort, rconPort, managementPort]);
    const isMeant: IsMeant = async (port) =>
      !(port.proto === 'tcp' && inner.has(port.containerPort)) && (await isOwn(port));
    return forwardPorts(ports, isMeant).catch((cause: unknown) => {
      throw new EngineError('port_in_use', 'A port of the server is taken.', {
        suggestion: 'Remove the port and add it again. The service then chooses another one.',
        cause,
      });
    });
  }

  #enlist(run: Run, own: boolean, forwarder?: Forwarder): Live {
    const { promise, resolve } = Promise.withResolvers<Exit>();
    // Several callers may observe the same end. For all of them, the run has ended once the end is written.
    let finishing: Promise<void> | undefined;
    const live: Live = {
      run,
      own,
      forwarder,
      noted: Promise.resolve(),
      ended: promise,
      end: (exit) => void (finishing ??= this.#finish(live, exit).then(() => resolve(exit))),
    };
    this.#live.set(run.token, live);
    this.#keepTime();
    return live;
  }

  async #finish(live: Live, exit: Exit): Promise<void> {
    live.run = { ...live.run, exit };
    live.forwarder?.close();
    const { serverId, token } = live.run;
    await this.#killRest(live.run);
    await live.noted.catch(() => {});
    await this.#note(live.run);
    this.#live.delete(token);
    this.#ended.delete(serverId);
    this.#ended.set(serverId, live.run);
    const [oldest] = this.#ended.keys();
    if (oldest !== undefined && this.#ended.size > MOST_ENDED) this.#ended.delete(oldest);
    this.#keepTime();
    this.events.emit('event', { type: 'down', game: gameOf(live.run) });
  }

  async #killRest({ serverId, token }: Run): Promise<void> {
    await killMarked(`${TOKEN}=${token}`, this.#log.child({ server: serverId }));
  }

  async #look(live: Live): Promise<void> {
    const { pid, start } = live.run;
    // While the process cannot be read, it counts as running.
    if (pid !== null && (await table.startOf(pid).catch(() => start)) === start) return;
    live.end({ code: null, oomKilled: false, at: this.#clock.now() });
  }

  /** Starts and stops the timers. They run only while there are live games, and never keep this process alive. */
  #keepTime(): void {
    const adopted = [...this.#live.values()].some((live) => !live.own);
    if (adopted && !this.#poll) {
      this.#poll = setInterval(() => {
        for (const live of this.#live.values()) if (!live.own) void this.#look(live);
      }, POLL_MS).unref();
    } else if (!adopted) {
      clearInterval(this.#poll);
      this.#poll = undefined;
    }
    if (this.#live.size > 0)
      this.#rotate ??= setInterval(() => {
        void this.#rotation.check([...this.#live.values()].map((live) => live.run));
      }, ROTATE_EVERY_MS).unref();
    else {
      clearInterval(this.#rotate);
      this.#rotate = undefined;
    }
  }
}

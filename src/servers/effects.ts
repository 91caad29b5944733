import { SANDBOX, softwareText } from '../game/cores.ts';
import { fromCallback, fromPromise } from 'xstate';
import { HUNG } from '../../machines/server-reasons.ts';
import type {
  Booted,
  Deadline,
  Failure,
  Finished,
  Maintained,
  ServerEvent,
  StartupPhase,
} from '../../machines/server-types.ts';
import type { serverMachine } from '../../machines/server.ts';
import { EngineError, type Game, type GameSpec } from '../engines/engine.ts';
import { gameSpec, installSpec } from '../game/container.ts';
import { packOfImage } from '../game/image-pack.ts';
import { forgetBuild, noteBuild, notedBuild } from '../game/installed-build.ts';
import { prepareDataRoot } from '../game/prepare.ts';
import { settleLists } from '../game/players/settle-lists.ts';
import { dataRoot, eraseDataRoot } from '../jail/data-root.ts';
import type { Address } from '../kernel/address.ts';
import { createKeyedMutex } from '../kernel/mutex.ts';
import { sleep } from '../kernel/sleep.ts';
import { abortable } from '../kernel/timeout.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import { EffectPatience, setAlarm, withPatience } from './patience.ts';
import { Diagnoser } from './diagnoser.ts';
import type { EffectHost, EffectRooms, GameAccess, Maintain } from './effect-host.ts';
import { type StopWarning, announceStop, sendAway } from './stopping.ts';
import { MachineGone, onItsNode } from './lost-start.ts';
import { isExplained, untilReady } from './readiness.ts';
import { CrashArtefactReader, type CrashArtefacts, lastPosition, linesBehind } from './run-log.ts';
import { type ServerRow, buildOnTrial } from './rows.ts';
import { sampleEvery } from './sampling.ts';

/** Implementations of the machine's actors. */
export type Effects = NonNullable<Parameters<typeof serverMachine.provide>[0]['actors']>;

/** Time reserved for SIGTERM if the console's `stop` does not end the game. */
const SIGNAL_MS = MINUTE_MS;
/** Limit for stopping a game that hangs or will be killed. */
const GRACE_MS = 45_000;
/** The engine waits longer than the machine, so that the machine kills the game and records it. */
const BEHIND_DEADLINE_MS = 15_000;
/** Log line of the runner in the game's image when it kills the game first. */
const RUNNER_KILLED = /Took too long, so killing server process/;

/**
 * Effects mean "make it so" and may run again from the start at any time, for example after a crash of this process.
 * Each waits for the commit of the snapshot that invoked it, heeds `signal` between steps, and rejects with a Failure
 * written for the owner. Effects of one server never overlap: each waits until the previous one, aborted by its
 * `signal`, has ended. An effect therefore acts on the game it saw first.
 */
export class ServerEffects {
  readonly #games: GameAccess;
  readonly #rooms: EffectRooms;
  readonly #outages: () => number;
  readonly #host: EffectHost;
  readonly #artefacts: CrashArtefactReader;
  readonly #diagnoser: Diagnoser;
  readonly #maintain: Maintain;
  readonly #withLock = createKeyedMutex();
  readonly #patience: EffectPatience;

  /** `outages`: the number of times the engine has come back after an outage. */
  constructor(games: GameAccess, rooms: EffectRooms, outages: () => number, host: EffectHost) {
    const { engine, workers, settings } = games;
    this.#games = games;
    this.#rooms = rooms;
    this.#outages = outages;
    this.#host = host;
    this.#patience = new EffectPatience(games, host);
    this.#artefacts = new CrashArtefactReader(engine, settings.dataDir);
    this.#diagnoser = new Diagnoser(settings.dataDir, workers);
    this.#maintain = rooms.maintain?.(host) ?? unknownJob;
  }

  actors(): Effects {
    const { clock } = this.#games;
    return {
      install: this.#effect((id, signal) => this.#install(id, signal)),
      boot: this.#effect((id, signal) => this.#boot(id, signal)),
      halt: this.#effect<Finished, { kill: boolean }>((id, signal, { kill }) => this.#halt(id, kill, signal)),
      maintain: this.#effect<Maintained, { jobId: string }>((id, signal, { jobId }) => this.#doJob(id, jobId, signal)),
      erase: this.#effect((id, signal) => this.#erase(id, signal)),
      watch: fromCallback<ServerEvent, { id: string }>(({ input: { id }, sendBack }) =>
        sampleEvery(this.#games, this.#host, id, sendBack),
      ),
      alarm: fromCallback<ServerEvent, Deadline>(({ input: { at, of }, sendBack }) =>
        setAlarm(
          clock,
          at,
          sendBack,
          of && { findings: () => this.#findingsOf(of), spareUntil: this.#patience.spareUntil(of) },
        ),
      ),
      warn: fromCallback(({ input }: { input: StopWarning }) => announceStop(this.#games, this.#host, input)),
      pause: fromCallback<ServerEvent, { ms: number }>(({ input: { ms }, sendBack }) =>
        clock.at(clock.now() + ms, () => sendBack({ type: 'ALARM', at: clock.now() })),
      ),
    };
  }

  /** Wraps an effect: it waits for the commit, and then for the previous effect of this server. */
  #effect<Output, Input = unknown>(run: (id: string, signal: AbortSignal, input: Input) => Promise<Output>) {
    return fromPromise<Output, Input & { id: string }>(async ({ input, signal }) => {
      const { id } = input;
      await this.#host.committed(id, signal);
      return await this.#withLock(id, () => this.#patience.untilSettled(id, run(id, signal, input), signal), signal);
    });
  }

  async #install(id: string, signal: AbortSignal): Promise<Finished> {
    const { clock, passwords, owner } = this.#games;
    const row = this.#rowOf(id);
    try {
      await this.#artefacts.begin(id);
      await this.#rooms.mayRun?.(row);
      signal.throwIfAborted();
      await this.#prepare(row, passwords.of(id));
      signal.throwIfAborted();
      await forgetBuild(this.#rootOf(row), owner);
      signal.throwIfAborted();
      await this.#installCore(row, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw await this.#failed(error, 'install', row);
    }
    return { at: clock.now() };
  }

  async #installCore(row: ServerRow, signal: AbortSignal): Promise<void> {
    const { engine } = this.#games;
    const { installPack } = this.#rooms;
    if (row.modpackPlatform === '') return await engine.install(await this.#specOf(row, installSpec), signal);
    if (installPack === undefined) return await this.#installByImage(row, signal);
    const progress = (percent: number) => this.#host.notify(row.id, { type: 'PROGRESS', phase: 'starting', percent });
    const software = await installPack(row, { signal, progress });
    signal.throwIfAborted();
    await this.#host.patch(row.id, software);
  }

  /**
   * Resolves the pack's version first if possible: otherwise the image would choose one, and its Minecraft version, at
   * every start.
   */
  async #installByImage(row: ServerRow, signal: AbortSignal): Promise<void> {
    const { engine } = this.#games;
    const { id, modpackPlatform: platform, modpackRef, modpackVersion, version } = row;
    const settled = (await this.#rooms.mods?.pack(platform, { modpackRef, modpackVersion, version }, signal)) ?? {};
    signal.throwIfAborted();
    await this.#host.patch(id, settled);
    const now = { ...row, ...settled };
    await engine.install(await this.#specOf(now, installSpec), signal);
    const made = await packOfImage(this.#rootOf(row), platform, now, this.#readingFor(row));
    signal.throwIfAborted();
    await this.#host.patch(id, made);
  }

  async #boot(id: string, signal: AbortSignal): Promise<Booted> {
    const { clock, log } = this.#games;
    try {
      return await onItsNode(this.#games, id, signal, (within) =>
        withPatience(this.#games, this.#outages, within, () => this.#untilBooted(id, within)),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof MachineGone) {
        log.warn({ server: id }, `${id} starts again: ${error.message}`);
        this.#host.notify(id, { type: 'DOWN', at: clock.now(), how: 'lost', failure: error.failure });
        return await abortable(new Promise<never>(() => {}), signal);
      }
      const level = isExplained(error) ? 'debug' : 'warn';
      log[level]({ server: id, err: error }, `${id} could not start; the cause follows`);
      const failure = await this.#failed(error, 'start', this.#rowOf(id));
      throw failure.code === 'no_room' ? { ...failure, at: clock.now() } : failure;
    }
  }

  async #untilBooted(id: string, signal: AbortSignal): Promise<Booted> {
    const { engine, clock, passwords } = this.#games;
    const { row, context } = this.#host.now(id) ?? { row: this.#rowOf(id), context: undefined };
    const since = context?.wokenAt ?? clock.now();
    const { before, last } = await this.#artefacts.begin(id);
    signal.throwIfAborted();
    const rconPassword = before?.up ? passwords.of(id) : await this.#beforeBoot(row, signal);
    const trial = buildOnTrial(row);
    const build = trial ?? (await notedBuild(this.#rootOf(row), row));
    const spec = await this.#specOf(row, gameSpec, build);
    signal.throwIfAborted();
    let hasDownloaded = false;
    let game: Game;
    try {
      game = await engine.boot(spec, signal, ({ phase, percent, javaMajor }) => {
        hasDownloaded = true;
        // A long download does not use up the time for the start.
        this.#patience.moved(id);
        const item = javaMajor === undefined ? softwareText(row) : `Java ${javaMajor}`;
        this.#host.notify(id, { type: 'PROGRESS', phase, percent, item });
      });
      signal.throwIfAborted();
      const start = {
        row,
        rconPassword,
        after: last ?? undefined,
        game,
        published: this.#rooms.ports.of(id),
        since: hasDownloaded ? clock.now() : since,
        progress: (phase: StartupPhase, percent: number) => this.#host.notify(id, { type: 'PROGRESS', phase, percent }),
        logged: () => this.#patience.moved(id),
      };
      await untilReady(this.#games, start, signal);
    } finally {
      this.#patience.forget(id);
    }
    signal.throwIfAborted();
    if (game.game === null) throw new EngineError('unknown', 'the engine assigned no address to the game');
    const at = clock.now();
    if (build === undefined || trial !== undefined) await this.#keepBuild(row, game.build ?? build);
    // Games that already ran and starts with a download say nothing about the usual cold start.
    if (!before?.up && !hasDownloaded) this.#noteColdStart(row, at - since);
    return { at, address: game.game, rcon: game.rcon, logAfter: this.#artefacts.logAfter(id) };
  }

  /** Prepares everything a game needs to start. Returns the password of its console. */
  async #beforeBoot(row: ServerRow, signal: AbortSignal): Promise<string> {
    const { engine, owner, passwords } = this.#games;
    const { mods, mayRun } = this.#rooms;
    await mayRun?.(row);
    signal.throwIfAborted();
    const password = await passwords.renew(row.id);
    signal.throwIfAborted();
    await this.#prepare(row, password);
    const addresses = await engine.proxyAddresses();
    signal.throwIfAborted();
    await settleLists(this.#rootOf(row), addresses, owner);
    signal.throwIfAborted();
    await mods?.settle(row.id, signal);
    return password;
  }

  async #prepare(row: ServerRow, rconPassword: string): Promise<void> {
    const { settings, owner } = this.#games;
    const { eula, networkOf } = this.#rooms;
    const [eulaAccepted, network] = [await eula.isAccepted(row), await networkOf?.(row)];
    await prepareDataRoot(settings.dataDir, row, { rconPassword, eulaAccepted, network }, owner);
  }

  async #specOf(row: ServerRow, toSpec: typeof gameSpec, build?: string): Promise<GameSpec> {
    const { passwords, settings } = this.#games;
    const { capacity, eula, ports } = this.#rooms;
    const { gameImage, sandboxImage, sandboxFaults } = settings;
    const spec = toSpec(row, {
      dataDir: this.#rootOf(row),
      gameImage,
      sandboxImage,
      cpus: capacity.cpusFor(row.ramMb, row.region || undefined),
      rconPassword: passwords.of(row.id),
      eulaAccepted: await eula.isAccepted(row),
      ports: ports.of(row.id),
      build,
    });
    const placed = { ...spec, region: row.region || undefined };
    return row.type === SANDBOX ? { ...placed, env: { ...spec.env, ...sandboxFaults } } : placed;
  }

  /** Pins the build for later starts, even if newer ones exist. A failure does not affect this start. */
  async #keepBuild(row: ServerRow, build: string | undefined): Promise<void> {
    const { owner, log } = this.#games;
    await noteBuild(this.#rootOf(row), row, { ...this.#readingFor(row), owner, build }).catch((error: unknown) => {
      log.warn({ server: row.id, err: error }, 'could not record the running build; the next start uses the newest');
    });
  }

  #readingFor({ accountId }: ServerRow) {
    return { workers: this.#games.workers, tenant: accountId };
  }

  /** Records the length of a start for later estimates. Nothing waits for this write or depends on it. */
  #noteColdStart({ id }: ServerRow, ms: number): void {
    const noted = ({ coldStartsMs }: ServerRow) => ({ coldStartsMs: [...coldStartsMs, ms].slice(-10) });
    this.#host.patch(id, noted).catch((error: unknown) => {
      this.#games.log.debug({ server: id, err: error }, 'could not store the duration of a start');
    });
  }

  async #halt(id: string, kill: boolean, signal: AbortSignal): Promise<Finished> {
    const { engine, clock } = this.#games;
    const after = kill ? null : await lastPosition(engine, id);
    signal.throwIfAborted();
    await this.#haltGame(id, kill, signal);
    const killed = !kill && (await linesBehind(engine, id, after)).some((line) => RUNNER_KILLED.test(line));
    return { at: clock.now(), ...(killed && { killed }) };
  }

  async #haltGame(id: string, kill: boolean, signal: AbortSignal): Promise<void> {
    const { engine, console, management, clock } = this.#games;
    const game = await engine.inspect(id);
    signal.throwIfAborted();
    const { cause, deadlineAt } = this.#host.now(id)?.context ?? { cause: undefined, deadlineAt: null };
    const until = cause?.id === HUNG.id || deadlineAt === null ? clock.now() + GRACE_MS : deadlineAt;
    if (kill) await engine.kill(id);
    else if (game?.up) await this.#saveAndStop(game, until - SIGNAL_MS, signal);
    signal.throwIfAborted();
    await engine.halt(id, Math.max(0, until - clock.now()) + BEHIND_DEADLINE_MS, signal);
    if (game?.rcon) console.release(game.rcon);
    if (game?.management) management.release(game.management);
  }

  /**
   * Makes the game save and exit, which no signal can do for every core, and waits for that. The engine's halt is the
   * fallback.
   */
  async #saveAndStop({ serverId: id, rcon }: Game, until: number, signal: AbortSignal): Promise<void> {
    const { engine, clock, log } = this.#games;
    if (rcon === null) return;
    const run = await abortable(this.#sendAway(id, rcon), signal);
    try {
      await abortable(run('save-all flush'), signal);
      await abortable(run('stop'), signal);
    } catch (error) {
      signal.throwIfAborted();
      return log.debug({ server: id, err: error }, 'the console did not accept the stop command; halting without it');
    }
    for (; clock.now() < until; await sleep(clock, 250, signal)) {
      if (!(await engine.inspect(id))?.up) return;
    }
  }

  /** Kicks all players and returns the game's console. */
  async #sendAway(id: string, rcon: Address): Promise<(command: string) => Promise<string>> {
    const run = (command: string) => this.#games.console.run(rcon, this.#games.passwords.of(id), command);
    const now = this.#host.now(id);
    if (now) await sendAway(now, run, this.#games);
    return run;
  }

  async #doJob(id: string, jobId: string, signal: AbortSignal): Promise<Maintained> {
    const { clock, log } = this.#games;
    try {
      const failure = await this.#maintain(id, jobId, signal);
      return { at: clock.now(), failure };
    } catch (error) {
      if (!signal.aborted)
        log.error({ server: id, err: error }, 'a job could be neither completed nor rolled back; trying again');
      throw error;
    }
  }

  async #erase(id: string, signal: AbortSignal): Promise<Finished> {
    const { engine, clock, settings } = this.#games;
    const game = await engine.inspect(id);
    signal.throwIfAborted();
    if (game?.up && game.rcon) await abortable(this.#sendAway(id, game.rcon), signal);
    await this.#haltGame(id, true, signal);
    signal.throwIfAborted();
    await engine.erase(id);
    for (const eraser of this.#rooms.erasers) {
      signal.throwIfAborted();
      await eraser(id);
    }
    signal.throwIfAborted();
    await eraseDataRoot(settings.dataDir, id);
    this.#artefacts.forget(id);
    return { at: clock.now() };
  }

  async #findingsOf({ id, phase }: NonNullable<Deadline['of']>): Promise<Failure> {
    const { lines, report } = await this.#artefactsOf(id);
    return this.#diagnoser.diagnose(this.#rowOf(id), { lines, report, exit: null, phase });
  }

  async #failed(error: unknown, phase: 'install' | 'start', row: ServerRow): Promise<Failure> {
    return this.#diagnoser.failureOf(error, row, phase, await this.#artefactsOf(row.id));
  }

  #artefactsOf(id: string): Promise<CrashArtefacts> {
    const { clock } = this.#games;
    return this.#artefacts.read(id, clock.wallOf(this.#host.now(id)?.context.wokenAt ?? clock.now()));
  }

  #rootOf({ id }: ServerRow): string {
    return dataRoot(this.#games.settings.dataDir, id);
  }

  #rowOf(id: string): ServerRow {
    const now = this.#host.now(id);
    if (now === undefined) throw new Error(`no actor for server ${id}`);
    return now.row;
  }
}

async function unknownJob(): Promise<never> {
  throw new Error('jobs are not available here');
}

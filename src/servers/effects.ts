import { fromCallback, fromPromise } from 'xstate';
import { HUNG } from '../../machines/server-reasons.ts';
import type { Booted, Deadline, Failure, Finished, Maintained, ServerEvent } from '../../machines/server-types.ts';
import type { serverMachine } from '../../machines/server.ts';
import type { Console } from '../engines/console/console.ts';
import type { Management } from '../engines/console/management-port.ts';
import { type Engine, EngineError, type Game, type GameSpec, type PublishedPort } from '../engines/engine.ts';
import { lostGame } from '../engines/lost-games.ts';
import type { Pinger } from '../engines/pinger.ts';
import { SANDBOX, gameSpec, installSpec } from '../game/container.ts';
import { packOfImage } from '../game/image-pack.ts';
import { forgetBuild, noteBuild, notedBuild } from '../game/installed-build.ts';
import { prepareDataRoot } from '../game/prepare.ts';
import { settleBanEnds } from '../game/players/settle-ends.ts';
import { liftProxyBans } from '../game/proxy-bans.ts';
import { dataRoot, eraseDataRoot } from '../jail/data-root.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { Log } from '../kernel/log.ts';
import { sleep } from '../kernel/sleep.ts';
import { StatusError } from '../kernel/status.ts';
import type { SteadyClock } from '../kernel/steady-clock.ts';
import { abortable } from '../kernel/timeout.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import { setAlarm } from './alarms.ts';
import { type DiagnoserOptions, createDiagnoser } from './failures/diagnoser.ts';
import { asFailure } from './failures/effect-failure.ts';
import type { EffectHost, InstallPack, Maintain, ServerMods } from './effect-host.ts';
import type { Presence } from './presence.ts';
import { MachineGone, onItsNode } from './lost-start.ts';
import { GameEnded, untilReady } from './readiness.ts';
import { type CrashArtefacts, createCrashArtefacts } from './failures/crash-artefacts.ts';
import type { ServerRow } from './rows.ts';
import { lastPosition, linesBehind } from './run-log.ts';
import { sampleEvery } from './sampling.ts';

/** The machine's named actors made real. */
export type Effects = NonNullable<Parameters<typeof serverMachine.provide>[0]['actors']>;

export interface EffectsOptions {
  engine: Engine;
  pinger: Pinger;
  console: Console;
  management: Management;
  /** Who is joined to the games. */
  presence: Pick<Presence, 'of' | 'forget' | 'isKnown'>;
  /** What the machines live by: what an effect tells of is an instant of it. */
  clock: SteadyClock;
  log: Log;
  dataDir: string;
  gameImage: string;
  sandboxImage: string;
  /** Further environment of sandbox servers, to rehearse trouble. */
  sandboxFaults: Record<string, string>;
  /** The user games run as, where files must be handed over to it. */
  owner: FileOwner | undefined;
  workers?: DiagnoserOptions['workers'];
  /** The node's idle time, for servers that set none. */
  idleAfterMs: number;
  /** How long a game that used to answer may be silent before it is ended and started again; 0: for ever. */
  hungAfterMs: number;
  rconPassword: (serverId: string) => string;
  /** Another one, for a game that is about to start. Absent: it stays. */
  newRconPassword?: (serverId: string) => Promise<string>;
  /** Brings a server's mods in order before it starts, and knows packs; absent: servers have none. */
  mods?: ServerMods | undefined;
  /** Installs mod packs; absent: the engine's image does. */
  installPack?: InstallPack | undefined;
  /** The server's ports that are given to the outside. */
  portsOf: (serverId: string) => readonly PublishedPort[];
  /** CPU time of a server with so much RAM, in cores; of several machines, as those of its region have them. */
  cpusFor: (ramMb: number, region?: string) => number;
  /** Rejects for a server that may not run what it is made of. Asked last, so that also what wakes by itself is. */
  mayRun?: ((row: ServerRow) => Promise<void>) | undefined;
  /** Whether this server's software needs Mojang's EULA and somebody has agreed to it: only then is that said to its game. */
  eulaAccepted: (row: ServerRow) => Promise<boolean>;
  /** How often the engine has come back after it was out of reach. */
  outages: () => number;
  /** Jobs on the files of a dormant server. Absent: none is ever asked for. */
  maintain?: (host: EffectHost) => Maintain;
  /** What else goes with a deleted server, in this order. Each may be run again, and rejects where it is not done. */
  erasers: readonly ((id: string) => Promise<void>)[];
}

/** So much of a stop's time is left for SIGTERM where the console's `stop` did not do. */
const SIGNAL_MS = MINUTE_MS;
/** A game that hangs, or is to be killed, gets no more than this. */
const GRACE_MS = 45_000;
/** An engine waits longer than the machine, so that it is the machine that kills, and knows. */
const BEHIND_DEADLINE_MS = 15_000;
/** What the runner in the game's image says where it was the first to lose patience. */
const RUNNER_KILLED = /Took too long, so killing server process/;
/** An engine that does not answer is asked again this often, for this long, before a start has failed. */
const ENGINE_RETRY_MS = 2_000;
const ENGINE_PATIENCE_MS = MINUTE_MS;
/** How often it is looked at after a failure that its going down would explain. */
const ENGINE_LOOKS = 3;

/**
 * Each effect says "make it so" and may be run again from the start at any time, as after a crash of this process. All wait
 * for the commit of the snapshot that asked for them, heed `signal`, and reject with a Failure that an owner can read.
 */
export function createEffects(options: EffectsOptions): (host: EffectHost) => Effects {
  const { engine, console, management, clock, log, dataDir } = options;
  const artefacts = createCrashArtefacts(options);
  const diagnose = createDiagnoser(options);

  return (host) => {
    const maintain = options.maintain?.(host) ?? unknownJob;

    async function specOf(row: ServerRow, toSpec: typeof gameSpec, build?: string): Promise<GameSpec> {
      const spec = toSpec(row, {
        dataDir: dataRoot(dataDir, row.id),
        gameImage: options.gameImage,
        sandboxImage: options.sandboxImage,
        cpus: options.cpusFor(row.ramMb, row.region || undefined),
        rconPassword: options.rconPassword(row.id),
        eulaAccepted: await options.eulaAccepted(row),
        ports: options.portsOf(row.id),
        build,
      });
      const placed = { ...spec, region: row.region || undefined };
      return row.type === SANDBOX ? { ...placed, env: { ...spec.env, ...options.sandboxFaults } } : placed;
    }

    function rowOf(id: string): ServerRow {
      const now = host.now(id);
      if (now === undefined) throw new Error(`no actor for server ${id}`);
      return now.row;
    }

    async function findingsOf({ id, phase }: NonNullable<Deadline['of']>): Promise<Failure> {
      const { lines, report } = await artefactsOf(id);
      return diagnose(rowOf(id), { lines, report, exit: null, phase });
    }

    async function failed(error: unknown, phase: 'install' | 'start', row: ServerRow): Promise<Failure> {
      return asFailure(error, { phase, row, artefacts: await artefactsOf(row.id), diagnose, dataDir });
    }

    function artefactsOf(id: string): Promise<CrashArtefacts> {
      return artefacts.read(id, clock.wallOf(host.now(id)?.context.wokenAt ?? clock.now()));
    }

    async function prepare(row: ServerRow, rconPassword: string): Promise<void> {
      const eulaAccepted = await options.eulaAccepted(row);
      await prepareDataRoot(dataDir, row, { rconPassword, eulaAccepted }, options.owner);
    }

    async function install(row: ServerRow, signal: AbortSignal): Promise<void> {
      if (row.modpackPlatform === '') return await engine.install(await specOf(row, installSpec), signal);
      if (options.installPack === undefined) return await installByImage(row, signal);
      const progress = (percent: number) => host.tell(row.id, { type: 'PROGRESS', phase: 'starting', percent });
      const software = await options.installPack(row, { signal, progress });
      signal.throwIfAborted();
      await host.patch(row.id, software);
    }

    /** The pack's version is settled first where it can be: the image would choose one, and so its Minecraft, at every start. */
    async function installByImage(row: ServerRow, signal: AbortSignal): Promise<void> {
      const { id, modpackPlatform: platform, modpackRef, modpackVersion, version } = row;
      const settled = (await options.mods?.pack(platform, { modpackRef, modpackVersion, version }, signal)) ?? {};
      signal.throwIfAborted();
      await host.patch(id, settled);
      const now = { ...row, ...settled };
      await engine.install(await specOf(now, installSpec), signal);
      const made = await packOfImage(dataRoot(dataDir, id), platform, now, readingFor(row));
      signal.throwIfAborted();
      await host.patch(id, made);
    }

    const readingFor = ({ accountId }: ServerRow) => ({ workers: options.workers, tenant: accountId });

    async function boot(id: string, signal: AbortSignal): Promise<Booted> {
      const { row, context } = host.now(id) ?? { row: rowOf(id), context: undefined };
      let rconPassword = options.rconPassword(id);
      const since = context?.wokenAt ?? clock.now();
      const { before, last } = await artefacts.begin(id);
      if (before === undefined || !before.up) {
        await options.mayRun?.(row);
        rconPassword = (await options.newRconPassword?.(id)) ?? rconPassword;
        await prepare(row, rconPassword);
        await liftProxyBans(dataRoot(dataDir, id), await engine.proxyAddresses(), options.owner);
        await settleBanEnds(dataRoot(dataDir, id), options.owner);
        await options.mods?.settle(id, signal);
      }
      const build = await notedBuild(dataRoot(dataDir, id), row);
      const game = await engine.boot(await specOf(row, gameSpec, build), signal);
      signal.throwIfAborted();
      await untilReady({
        ...options,
        row,
        rconPassword,
        after: last ?? undefined,
        game,
        published: options.portsOf(id),
        since,
        signal,
        progress: (phase, percent) => host.tell(id, { type: 'PROGRESS', phase, percent }),
      });
      if (game.game === null) throw new EngineError('unknown', 'the engine gave the game no address');
      const at = clock.now();
      if (build === undefined) await keepBuild(row);
      // A game that already ran when it was found says nothing of how long a cold start takes.
      if (!before?.up) noteColdStart(row, at - since);
      return { at, address: game.game, rcon: game.rcon, logAfter: artefacts.logAfter(id) };
    }

    /** So that later starts run the same build, however many newer ones there are by then. This one is none the worse without. */
    async function keepBuild(row: ServerRow): Promise<void> {
      await noteBuild(dataRoot(dataDir, row.id), row, { ...readingFor(row), owner: options.owner }).catch(
        (error: unknown) => {
          log.warn(
            { server: row.id, err: error },
            'the build that runs could not be noted; the next start takes the newest',
          );
        },
      );
    }

    /** It serves later estimates only, so neither the players who wait for this start nor its success depend on the write. */
    function noteColdStart({ id }: ServerRow, ms: number): void {
      const noted = ({ coldStartsMs }: ServerRow) => ({ coldStartsMs: [...coldStartsMs, ms].slice(-10) });
      host.patch(id, noted).catch((error: unknown) => {
        log.debug({ server: id, err: error }, 'the length of a start could not be stored');
      });
    }

    async function halt(id: string, kill: boolean): Promise<void> {
      const game = await engine.inspect(id);
      const { cause, deadlineAt } = host.now(id)?.context ?? { cause: undefined, deadlineAt: null };
      const until = cause?.id === HUNG.id || deadlineAt === null ? clock.now() + GRACE_MS : deadlineAt;
      if (kill) await engine.kill(id);
      else if (game?.up && game.rcon !== null) await saveAndStop(id, game, until - SIGNAL_MS);
      await engine.halt(id, Math.max(0, until - clock.now()) + BEHIND_DEADLINE_MS);
      if (game?.rcon) console.release(game.rcon);
      if (game?.management) management.release(game.management);
    }

    /**
     * Asks the game to save and end by itself, which no signal can do for every core, and waits for that. Failing that, the
     * engine's halt does.
     */
    async function saveAndStop(id: string, { rcon }: Game, until: number): Promise<void> {
      if (rcon === null) return;
      const password = options.rconPassword(id);
      try {
        await console.run(rcon, password, 'save-all flush');
        await console.run(rcon, password, 'stop');
      } catch (error) {
        return log.debug({ server: id, err: error }, 'console did not take the stop; halting without it');
      }
      for (; clock.now() < until; await sleep(clock, 250)) {
        if (!(await engine.inspect(id))?.up) return;
      }
    }

    /**
     * Tries again while the engine is out of reach. What it answers, and what becomes of games, while it is going down is
     * told from a real failure by asking it a little later.
     */
    async function withPatience<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
      for (const end = clock.now() + ENGINE_PATIENCE_MS; ; await sleep(clock, ENGINE_RETRY_MS, signal)) {
        const outages = options.outages();
        try {
          return await attempt();
        } catch (error) {
          signal.throwIfAborted();
          if (clock.now() >= end || !(isAway(error) || (mayBeGoing(error) && (await wasAway(outages, signal)))))
            throw error;
        }
      }
    }

    /** Whether the engine is out of reach now, or was since `outages` were counted. */
    async function wasAway(outages: number, signal: AbortSignal): Promise<boolean> {
      for (let look = 0; look < ENGINE_LOOKS; look++) {
        await sleep(clock, ENGINE_RETRY_MS, signal);
        if (options.outages() > outages || (await engine.list().then(() => false, isAway))) return true;
      }
      return false;
    }

    return {
      install: fromPromise<Finished, { id: string }>(async ({ input: { id }, signal }) => {
        await host.committed(id, signal);
        const row = rowOf(id);
        try {
          await artefacts.begin(id);
          await options.mayRun?.(row);
          await prepare(row, options.rconPassword(id));
          await forgetBuild(dataRoot(dataDir, id), options.owner);
          await install(row, signal);
        } catch (error) {
          signal.throwIfAborted();
          throw await failed(error, 'install', row);
        }
        return { at: clock.now() };
      }),

      boot: fromPromise<Booted, { id: string }>(async ({ input: { id }, signal }) => {
        await host.committed(id, signal);
        try {
          const start = (within: AbortSignal) => withPatience(within, () => boot(id, within));
          return await onItsNode({ engine, clock, id, signal }, start);
        } catch (error) {
          signal.throwIfAborted();
          if (error instanceof MachineGone) {
            log.warn({ server: id }, `${id} starts anew: ${error.message}`);
            host.tell(id, { type: 'DOWN', at: clock.now(), how: 'lost', failure: error.failure });
            return await abortable(new Promise<never>(() => {}), signal);
          }
          const level = isExplained(error) ? 'debug' : 'warn';
          log[level]({ server: id, err: error }, `${id} could not start: what follows says how that came`);
          const failure = await failed(error, 'start', rowOf(id));
          throw failure.code === 'no_room' ? { ...failure, at: clock.now() } : failure;
        }
      }),

      halt: fromPromise<Finished, { id: string; kill: boolean }>(async ({ input: { id, kill }, signal }) => {
        await host.committed(id, signal);
        const after = kill ? null : await lastPosition(engine, id);
        await halt(id, kill);
        const killed = !kill && (await linesBehind(engine, id, after)).some((line) => RUNNER_KILLED.test(line));
        return { at: clock.now(), ...(killed && { killed }) };
      }),

      maintain: fromPromise<Maintained, { id: string; jobId: string }>(async ({ input: { id, jobId }, signal }) => {
        await host.committed(id, signal);
        try {
          const failure = await maintain(id, jobId, signal);
          return { at: clock.now(), failure };
        } catch (error) {
          if (!signal.aborted)
            log.error({ server: id, err: error }, 'a job could be neither done nor undone; trying again');
          throw error;
        }
      }),

      erase: fromPromise<Finished, { id: string }>(async ({ input: { id }, signal }) => {
        await host.committed(id, signal);
        await halt(id, true);
        await engine.erase(id);
        for (const eraser of options.erasers) await eraser(id);
        await eraseDataRoot(dataDir, id);
        artefacts.forget(id);
        return { at: clock.now() };
      }),

      watch: fromCallback<ServerEvent, { id: string }>(({ input: { id }, sendBack }) =>
        sampleEvery(options, host, id, sendBack),
      ),

      alarm: fromCallback<ServerEvent, Deadline>(({ input: { at, of }, sendBack }) =>
        setAlarm(
          clock,
          at,
          sendBack,
          of && { findings: () => findingsOf(of), isHeldUp: () => lostGame(engine.nodes, of.id) !== undefined },
        ),
      ),

      pause: fromCallback<ServerEvent, { ms: number }>(({ input: { ms }, sendBack }) =>
        clock.at(clock.now() + ms, () => sendBack({ type: 'ALARM', at: clock.now() })),
      ),
    };
  };
}

async function unknownJob(): Promise<never> {
  throw new Error('nobody here does jobs');
}

/** The failure that is told of it says all there is to say. */
function isExplained(error: unknown): boolean {
  return error instanceof GameEnded || error instanceof EngineError || error instanceof StatusError;
}

function isAway(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'engine_unavailable';
}

/** An engine that is shutting down ends its games by signals and refuses in words of its own. */
function mayBeGoing(error: unknown): boolean {
  if (error instanceof GameEnded)
    return !error.exit?.oomKilled && [null, 0, 137, 143].includes(error.exit?.code ?? null);
  return error instanceof EngineError && error.code === 'unknown';
}

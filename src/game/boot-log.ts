import type { StartupPhase } from '../../machines/server-types.ts';
import { isBukkit } from './cores.ts';
import { type GameLine, fromServerThread, readGameLine, spoken } from './diagnosis/line.ts';

/** The progress of a start. */
export interface Progress {
  phase: StartupPhase;
  /** 0..100, whole; 100 exactly when ready. */
  percent: number;
  /** Estimated from earlier cold starts of the same server; null without any. */
  etaSeconds: number | null;
}

/** Follows one start by its log, line by line. */
export interface BootLog {
  /** Reads one line. Returns the new progress if the line changed phase or percent. */
  read(line: string, at: number): Progress | undefined;
  /** Returns the progress at `at` (epoch ms), with elapsed time included. */
  progress(at: number): Progress;
  /** The game has logged `Done (…)!`: it accepts players. */
  readonly ready: boolean;
  /** The game has logged `RCON running on …`: its console accepts connections. */
  readonly rconRunning: boolean;
}

export interface BootLogOptions {
  core: string;
  /** Usual length of this server's cold start, in ms; null if unknown. */
  expectedMs: number | null;
  /** Epoch ms. */
  startedAt: number;
}

const PHASES: readonly StartupPhase[] = ['starting', 'loading_mods', 'generating_world', 'ready'];

/** Elapsed time alone never completes a start. */
const MAX_PERCENT_BY_TIME = 95;
/** A finished spawn area does not complete a start either, because plugins start after it. */
const MAX_PERCENT_BY_LOG = 99;

const DONE = /^Done \(\d{1,6}[.,]\d{1,4}s\)!/;
const RCON = /^RCON running on \S{1,64}:\d{1,5}$/;
const SPAWN_PERCENT = /^Preparing spawn area(?: for world \S{1,80})?: (\d{1,3})%/;
const WORLD =
  /^(?:Preparing level "|Selecting (?:global world spawn|spawn point for world)|Preparing start region for )/;
const DIMENSION = /^(?:Preparing start region for dimension |Selecting (?:global world spawn|spawn point for world))/;
const DIMENSION_DONE = /^Time elapsed: \d{1,9} ms/;
const MODS =
  /^(?:Loading Minecraft \S{1,40} with (?:Fabric|Quilt) Loader|Loading \d{1,5} mods?\b|ModLauncher running|Found mod file |Forge Mod Loader version )/;
/** These lines look like chat, but a game without a world has no players. */
const PLUGINS = /^\[(?:PluginInitializerManager\] Initializing plugins|[^\]]{1,64}\] Loading server plugin )/;
const PLAIN_MODS = /^Starting (?:net\.fabricmc|org\.quiltmc)\./;

/** Whether the line is the game's ready message. */
export function saysReady(text: string): boolean {
  const line = readGameLine(text);
  return fromServerThread(line) && DONE.test(line.text);
}

/**
 * Reads the log of one start (log lines of each core: reference of the game container, "Log lines"). Pure: uses no
 * clock and no timers. Percent never decreases: it is the maximum of the logged world progress, scaled by dimension,
 * and elapsed over expected time, which covers cores and versions that log no percentages.
 */
export function createBootLog({ core, expectedMs, startedAt }: BootLogOptions): BootLog {
  // Bukkit servers prepare overworld, nether and end in sequence, each counting from 0.
  const dimensions = isBukkit(core) ? 3 : 1;
  let phase: StartupPhase = 'starting';
  let percent = 0;
  let dimension = -1;
  let rconRunning = false;

  function enter(next: StartupPhase): void {
    if (PHASES.indexOf(next) > PHASES.indexOf(phase)) phase = next;
    if (phase === 'ready') percent = 100;
  }
  function raise(to: number, most: number): void {
    percent = Math.max(percent, Math.min(most, Math.floor(to)));
  }
  function raiseByDimension(percentOfDimension: number): void {
    const index = Math.min(Math.max(dimension, 0), dimensions - 1);
    raise((index * 100 + Math.min(100, percentOfDimension)) / dimensions, MAX_PERCENT_BY_LOG);
  }
  function progress(at: number): Progress {
    if (phase === 'ready') return { phase, percent, etaSeconds: 0 };
    const elapsedMs = Math.max(0, at - startedAt);
    if (expectedMs === null || expectedMs <= 0) return { phase, percent, etaSeconds: null };
    raise((elapsedMs * 100) / expectedMs, MAX_PERCENT_BY_TIME);
    return { phase, percent, etaSeconds: Math.ceil(Math.max(0, expectedMs - elapsedMs) / 1000) };
  }

  function take(line: GameLine): void {
    if (line.source === 'plain' && PLAIN_MODS.test(line.text)) enter('loading_mods');
    if (!fromServerThread(line)) return;
    if (PLUGINS.test(line.text)) enter('loading_mods');
    if (spoken(line)) return;
    if (DONE.test(line.text)) enter('ready');
    else if (RCON.test(line.text)) rconRunning = true;
    else if (MODS.test(line.text)) enter('loading_mods');
    else if (WORLD.test(line.text)) enter('generating_world');
    if (phase === 'generating_world') measure(line.text);
  }
  function measure(text: string): void {
    const [, spawnPercent] = SPAWN_PERCENT.exec(text) ?? [];
    if (spawnPercent !== undefined) raiseByDimension(Number(spawnPercent));
    else if (DIMENSION_DONE.test(text)) raiseByDimension(100);
    else if (DIMENSION.test(text)) {
      dimension += 1;
      raiseByDimension(0);
    }
  }

  return {
    read(line, at) {
      const before = { phase, percent };
      take(readGameLine(line));
      const now = progress(at);
      return now.phase === before.phase && now.percent === before.percent ? undefined : now;
    },
    progress,
    get ready() {
      return phase === 'ready';
    },
    get rconRunning() {
      return rconRunning;
    },
  };
}

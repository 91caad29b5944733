import { coreOf } from './cores.ts';
import { compareVersions } from './minecraft-version.ts';
import { KIB } from '../kernel/units.ts';

/** A game's ticks per second (normally 20), and the average duration of a tick in ms. */
export interface TickStats {
  tps: number;
  mspt: number;
}

const FULL_TPS = 20;
const TICK_MS = 50;
/** Replies come from the game or a plugin; longer ones are ignored. */
const MAX_REPLY_CHARS = 16 * KIB;

const NUMBER = String.raw`(\d{1,6}(?:[.,]\d{1,6})?)`;
const TICK_QUERY = new RegExp(String.raw`Average time per tick: ${NUMBER} ?ms`);
const TPS = new RegExp(String.raw`TPS from last [^:]{1,60}:\s*\*?${NUMBER}`);
const MSPT = new RegExp(String.raw`Server tick times [^:]{1,80}:\s*◴?\s*${NUMBER}/${NUMBER}/${NUMBER}`);
const MEAN = new RegExp(String.raw`Overall ?: Mean tick time: ${NUMBER} ms\. Mean TPS: ${NUMBER}`);
const OVERALL = new RegExp(String.raw`Overall: ${NUMBER} TPS \(${NUMBER} ms/tick\)`);

/** Returns the console commands whose replies `readTickStats` parses; empty for games without such a command. */
export function tickCommands({ core, version }: { core: string; version: string }): string[] {
  // Weekly snapshots and unknown versions count as newer than 1.20.3, which added `tick query`.
  const knowsTickQuery = (compareVersions(version, '1.20.3') ?? 0) >= 0;
  return coreOf(core)?.tickCommands ?? (knowsTickQuery ? ['tick query'] : []);
}

/** Whether a game of this software and version reports tick statistics. */
export function tellsTicks(game: { core: string; version: string }): boolean {
  return tickCommands(game).length > 0;
}

/** Parses the replies; undefined if one is missing or unexpected. */
export function readTickStats(replies: readonly string[]): TickStats | undefined {
  const text = replies
    .map((reply) => reply.slice(0, MAX_REPLY_CHARS))
    .join('\n')
    .replaceAll(/§./g, '');
  const [, tps] = TPS.exec(text) ?? [];
  const [, mspt] = MSPT.exec(text) ?? [];
  if (tps !== undefined && mspt !== undefined) return stats(tps, mspt);
  const [, meanMspt, meanTps] = MEAN.exec(text) ?? [];
  if (meanTps !== undefined && meanMspt !== undefined) return stats(meanTps, meanMspt);
  const [, overallTps, overallMspt] = OVERALL.exec(text) ?? [];
  if (overallTps !== undefined && overallMspt !== undefined) return stats(overallTps, overallMspt);
  const [, average] = TICK_QUERY.exec(text) ?? [];
  return average === undefined ? undefined : stats(String(1_000 / Math.max(TICK_MS, numberOf(average))), average);
}

function stats(tps: string, mspt: string): TickStats {
  return { tps: rounded(Math.min(FULL_TPS, numberOf(tps))), mspt: rounded(numberOf(mspt)) };
}

/** Some locales use a decimal comma. */
function numberOf(text: string): number {
  return Number(text.replace(',', '.'));
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

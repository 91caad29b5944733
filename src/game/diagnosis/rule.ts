import type { GameLine } from './line.ts';

/** A class file's major version is 44 above its Java version (JVM specification §4.1). */
export const CLASS_FILE_OFFSET = 44;

/** The phase in which the log ended. */
export interface DiagnosisContext {
  phase: 'install' | 'start' | 'run';
  core: string;
  version: string;
  ramMb: number;
}

/**
 * How much a finding explains. `cause`: enough to end a game. `vague`: a consequence without a cause. `warning`: a part
 * fails, but the game continues.
 */
export type Weight = 'cause' | 'vague' | 'warning';

/** The finding of one line. */
export interface Finding {
  code: string;
  /** The mod, plugin, file or version concerned; empty without one. */
  subject: string;
  title: string;
  /** A sentence that follows the title and its colon. */
  detail: string;
  suggestion: string;
  weight?: Weight;
}

/** A line in its log. */
export interface Place {
  line: GameLine;
  index: number;
  lines: readonly GameLine[];
  context: DiagnosisContext;
}

/**
 * Matches one kind of line. `pattern` only runs on lines with a `needle`, which keeps the scan cheap. Every quantifier
 * is bounded, and a pattern that does not begin with a literal begins at a word, so that no line makes it slow. The
 * characters a rule reads of one log are limited too (`diagnosis.ts`).
 */
export interface Rule {
  needle: string | readonly string[];
  pattern: RegExp;
  find(groups: readonly string[], place: Place): Finding | Finding[] | undefined;
}

/** Largest distance, in lines, between the parts of one message. */
const MESSAGE_LINES = 80;

/**
 * Returns the message that a line of a stack trace or list belongs to: the nearest line with a prefix, from the line
 * itself upwards.
 */
export function headline({ lines, index }: Place): GameLine | undefined {
  for (let at = index; at >= Math.max(0, index - MESSAGE_LINES); at -= 1) {
    const line = lines[at];
    if (line && line.source !== 'plain') return line;
  }
  return undefined;
}

/** Cache by log and pattern: the first group in each line searched. */
const remembered = new WeakMap<readonly GameLine[], Map<RegExp, (string | null)[]>>();

/**
 * Returns the first group of a pattern in the lines around a place, nearest first above, then below. Each line is
 * matched once per log.
 */
export function nearby({ lines, index }: Place, pattern: RegExp): string | undefined {
  const ofLog = remembered.get(lines) ?? new Map<RegExp, (string | null)[]>();
  const groups = ofLog.get(pattern) ?? [];
  remembered.set(lines, ofLog.set(pattern, groups));
  for (let distance = 0; distance <= MESSAGE_LINES; distance += 1) {
    for (const at of [index - distance, index + distance]) {
      if (lines[at] === undefined) continue;
      const found = (groups[at] ??= pattern.exec(lines[at].text)?.[1] ?? null);
      if (found !== null) return found;
    }
  }
  return undefined;
}

/** Returns the last part of a path. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

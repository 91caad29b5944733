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
 * How much a finding explains. `cause`: enough to end a game. `vague`: a consequence that names no cause. `warning`: a part
 * does not work, the game goes on.
 */
export type Weight = 'cause' | 'vague' | 'warning';

/** The finding of one line. */
export interface Finding {
  code: string;
  /** The mod, plugin, file or version concerned; empty without one. */
  subject: string;
  title: string;
  /** A sentence to follow the title, without the title's colon. */
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
 * One kind of telling line. `pattern` is tried only on lines that hold a `needle`, which keeps the scan cheap. Each
 * quantifier of a pattern is bounded, and one that does not begin with a literal begins at a word, so that no line
 * makes it slow. What a rule may read of one log is bounded too (`diagnosis.ts`).
 */
export interface Rule {
  needle: string | readonly string[];
  pattern: RegExp;
  find(groups: readonly string[], place: Place): Finding | Finding[] | undefined;
}

/** How far apart the parts of one message may lie. */
const MESSAGE_LINES = 80;

/** The message a line of a stack trace or list belongs to: the nearest line above (or the line itself) with a prefix. */
export function headline({ lines, index }: Place): GameLine | undefined {
  for (let at = index; at >= Math.max(0, index - MESSAGE_LINES); at -= 1) {
    const line = lines[at];
    if (line && line.source !== 'plain') return line;
  }
  return undefined;
}

/** By log and pattern: the first group in each line searched. */
const remembered = new WeakMap<readonly GameLine[], Map<RegExp, (string | null)[]>>();

/** The first group of a pattern in the lines around a place, nearest first above, then below. Each line is read once a log. */
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

/** The file's own name in a path. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

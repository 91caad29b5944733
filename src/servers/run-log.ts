/** The output of one run or installation, cut from a server's whole log. */
import type { Engine, Game } from '../engines/engine.ts';
import { saysReady } from '../game/boot-log.ts';
import { newestCrashReport } from '../game/diagnosis/crash-reports.ts';
import { MAX_LINE_CHARS } from '../game/diagnosis/line.ts';
import { dataRoot } from '../jail/data-root.ts';
import { shortText } from '../kernel/short-text.ts';

/** Number of lines that a diagnosis reads. */
const MAX_LINES = 2_000;

/** Returns the end of a server's log; null if it is empty. Rejects with the engine's error. */
export async function lastPosition(engine: Engine, id: string): Promise<string | null> {
  let position: string | null = null;
  for await (const line of engine.logs(id, { tail: 1 })) ({ position } = line);
  return position;
}

/**
 * Returns the newest lines of a log; only those after `position` if the log still has it; [] if the engine is
 * unavailable.
 */
export async function linesBehind(engine: Engine, id: string, position: string | null): Promise<string[]> {
  let lines: string[] = [];
  try {
    for await (const line of engine.logs(id, { tail: MAX_LINES, lineChars: MAX_LINE_CHARS })) {
      if (line.position === position) lines = [];
      else lines.push(keptText(line.text));
    }
  } catch {
    // The engine is away, which the present failure already reports.
  }
  return lines;
}

/** Returns as much of a line as a diagnosis reads; games may print thousands of lines of 64 KB. */
export function keptText(text: string): string {
  return shortText(text, MAX_LINE_CHARS);
}

/**
 * Returns the lines after the game's last ready message. The game ran on after earlier lines, so they cannot explain
 * its end.
 */
export function sinceReady(lines: string[]): string[] {
  return lines.slice(lines.findLastIndex(saysReady) + 1);
}

/** The remains of a failed install or start, for its diagnosis. */
export interface CrashArtefacts {
  lines: string[];
  /** The game's own report of its crash. */
  report: string[];
}

/** Reads the artefacts of the latest installation or start of each server. */
export class CrashArtefactReader {
  readonly #engine: Engine;
  readonly #dataDir: string;
  /** The end of each log before the run; null if the whole log counts. */
  readonly #begun = new Map<string, string | null>();

  constructor(engine: Engine, dataDir: string) {
    this.#engine = engine;
    this.#dataDir = dataDir;
  }

  /**
   * Marks the beginning of a run. Returns the game that runs until then and the end of its log. Rejects if the engine
   * cannot be reached.
   */
  async begin(id: string): Promise<{ before: Game | undefined; last: string | null }> {
    this.#begun.delete(id);
    const before = await this.#engine.inspect(id);
    const last = await lastPosition(this.#engine, id);
    // A running game has already printed something.
    this.#begun.set(id, before?.up ? null : last);
    return { before, last };
  }

  /** Returns the end of the log before the run; null if the whole log counts or the position is unknown. */
  logAfter(id: string): string | null {
    return this.#begun.get(id) ?? null;
  }

  /** Never rejects. `since`: when the run was requested. */
  async read(id: string, since: number): Promise<CrashArtefacts> {
    const position = this.#begun.get(id);
    return {
      lines: position === undefined ? [] : sinceReady(await linesBehind(this.#engine, id, position)),
      report: await newestCrashReport(dataRoot(this.#dataDir, id), since),
    };
  }

  forget(id: string): void {
    this.#begun.delete(id);
  }
}

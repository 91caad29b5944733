/** The output of one run or installation, cut from a server's whole log. */
import type { Engine } from '../engines/engine.ts';
import { saysReady } from '../game/boot-log.ts';
import { MAX_LINE_CHARS } from '../game/diagnosis/line.ts';
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

/** The output of one run or one installation, cut from a log that spans all of a server's. */
import type { Engine } from '../engines/engine.ts';
import { saysReady } from '../game/boot-log.ts';
import { MAX_LINE_CHARS } from '../game/diagnosis/line.ts';
import { shortText } from '../kernel/short-text.ts';

/** As many of the newest lines as a diagnosis reads. */
const MAX_LINES = 2_000;

/** Returns where a server's log ends now; null if it is empty. Rejects if the engine cannot tell. */
export async function lastPosition(engine: Engine, id: string): Promise<string | null> {
  let position: string | null = null;
  for await (const line of engine.logs(id, { tail: 1 })) ({ position } = line);
  return position;
}

/** The newest lines, of those behind a position where one is given and still kept; none where the engine cannot say. */
export async function linesBehind(engine: Engine, id: string, position: string | null): Promise<string[]> {
  let lines: string[] = [];
  try {
    for await (const line of engine.logs(id, { tail: MAX_LINES, lineChars: MAX_LINE_CHARS })) {
      if (line.position === position) lines = [];
      else lines.push(keptText(line.text));
    }
  } catch {
    // The engine is away; the failure that brought us here says so already.
  }
  return lines;
}

/** As much of a line as a diagnosis reads; games may print lines of 64 KB by the thousand. */
export function keptText(text: string): string {
  return shortText(text, MAX_LINE_CHARS);
}

/** The lines after the game last said that it was ready: earlier ones cannot explain why it ended, as it ran on after them. */
export function sinceReady(lines: string[]): string[] {
  return lines.slice(lines.findLastIndex(saysReady) + 1);
}

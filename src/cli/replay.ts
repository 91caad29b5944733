import { setTimeout as delay } from 'node:timers/promises';

/** So many lines are enough to know a place in a log again. */
const KEPT = 50;
/** A backlog comes in one go: after so long a silence, what follows is new. */
const QUIET_MS = 300;
/** The most a stream replays. */
export const MAX_TAIL = 1000;

/** The last lines of a log that were passed on: where to go on in a stream that begins with lines from before. */
export class Tail {
  #lines: string[] = [];

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  note(line: string): string {
    this.#lines.push(line);
    if (this.#lines.length > KEPT) this.#lines.shift();
    return line;
  }

  /**
   * What of a replay is new: the lines behind the last place where those before it are the ones seen last. All of it where
   * there is no such place: too much was missed, or it is another log.
   */
  unseen(replay: readonly string[]): string[] {
    for (let end = this.isEmpty ? 0 : replay.length; end > 0; end--) {
      const known = Math.min(end, this.#lines.length);
      const before = replay.slice(end - known, end);
      if (this.#lines.slice(-known).every((line, index) => line === before[index])) return replay.slice(end);
    }
    return [...replay];
  }
}

/** A stream that begins with a replay, without the lines in it that were seen before. */
export async function* withoutSeen(lines: AsyncGenerator<string>, tail: Tail): AsyncGenerator<string> {
  const replay: string[] = [];
  let next = lines.next();
  for (let quiet = false; !quiet && replay.length < MAX_TAIL;) {
    const result = await Promise.race([next, delay(QUIET_MS)]);
    if (result === undefined) quiet = true;
    else if (result.done) break;
    else {
      replay.push(result.value);
      next = lines.next();
    }
  }
  yield* tail.unseen(replay);
  for (let result = await next; !result.done; result = await lines.next()) yield result.value;
}

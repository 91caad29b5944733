import { setTimeout as delay } from 'node:timers/promises';

/** Number of lines kept to recognise a position in a log. */
const KEPT = 50;
/** A replay arrives at once, so lines after a silence this long are new. */
const QUIET_MS = 300;
/** Most lines that a stream replays. */
export const MAX_TAIL = 1000;

/** The last lines passed on, used to find the position in a stream that repeats earlier lines. */
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
   * Returns the lines of a replay after those seen last. If these occur several times, uses the first place, because
   * repeated lines are better than lost ones. If they do not occur, returns all: too much was missed, or it is another
   * log.
   */
  unseen(replay: readonly string[]): string[] {
    const seen = this.#lines;
    for (let end = seen.length; end <= replay.length; end++) if (this.#endsAt(end, replay)) return replay.slice(end);
    // The replay may begin in the middle of the seen lines.
    for (let end = Math.min(seen.length, replay.length); end > 0; end--) {
      if (this.#endsAt(end, replay)) return replay.slice(end);
    }
    return [...replay];
  }

  #endsAt(end: number, replay: readonly string[]): boolean {
    const count = Math.min(end, this.#lines.length);
    return this.#lines.slice(this.#lines.length - count).every((line, index) => line === replay[end - count + index]);
  }
}

/** Yields a stream that begins with a replay, without the lines already seen. */
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

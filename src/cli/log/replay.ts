import { setTimeout as delay } from 'node:timers/promises';

/** How many lines are kept to find a place in a log again. */
const KEPT = 50;
/** A backlog comes in one go: what follows this silence is new. */
const QUIET_MS = 300;
/** The most a stream replays. */
export const MAX_TAIL = 1000;

/** The last lines of a log that were passed on, to find where to go on in a stream that repeats earlier lines. */
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
   * The new lines of a replay: those after the lines seen last. Where these occur more than once, those after the first
   * place, as repeated lines are better than lost ones; where they do not occur, all: too much was missed, or it is
   * another log.
   */
  unseen(replay: readonly string[]): string[] {
    const seen = this.#lines;
    for (let end = seen.length; end <= replay.length; end++) if (this.#endsAt(end, replay)) return replay.slice(end);
    // The replay may begin in the middle of them.
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

/** A stream that begins with a replay, without the lines that were seen before. */
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

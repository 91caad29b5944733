import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { LogLine, LogQuery } from '../ports.ts';
import type { ProcessLogFiles, Spot } from './process-log-files.ts';

const NEWLINE = 0x0a;
const POLL_MS = 200;

/** A game that never ends its line gets it cut into pieces of this size. */
const MAX_LINE = 64 * 1024;

/**
 * Reads a server's log; positions are `<generation>:<offset>`, the place behind the line. While `isRunning`, an unfinished
 * last line is held back until it ends.
 */
export async function* readLog(
  files: ProcessLogFiles,
  serverId: string,
  { after, tail, follow, signal }: LogQuery,
  isRunning: () => boolean,
): AsyncGenerator<LogLine> {
  const cursor = new Cursor(files, serverId, startOf(files, serverId, after, tail));
  let backlog: LogLine[] = [];
  for await (const line of cursor.lines(() => !isRunning())) {
    if (signal?.aborted) return;
    if (tail === undefined) yield line;
    else {
      backlog.push(line);
      if (backlog.length > 2 * tail + 1_000) backlog = backlog.slice(-tail);
    }
  }
  if (tail !== undefined && tail > 0) yield* backlog.slice(-tail);
  if (!follow) return;
  while (isRunning()) {
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    if (signal?.aborted) return;
    yield* cursor.lines(() => !isRunning());
  }
}

/** Goes through the files line by line, as far as they are written. */
class Cursor {
  readonly #files: ProcessLogFiles;
  readonly #serverId: string;
  /** Where `#rest` begins. */
  #spot: Spot;
  /** Read, and not yet a whole line. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(files: ProcessLogFiles, serverId: string, spot: Spot) {
    this.#files = files;
    this.#serverId = serverId;
    this.#spot = spot;
  }

  /** The lines there are now. `ended` is asked at the end of the log: whether what is left is a line too. */
  async *lines(ended: () => boolean): AsyncGenerator<LogLine> {
    for (;;) {
      // Asked before the reading: a game that has ended by now has written everything that is then read.
      const last = ended();
      const { generation, offset } = this.#spot;
      const chunk = this.#files.read(this.#serverId, { generation, offset: offset + this.#rest.length });
      if (chunk.length > 0) {
        this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
        yield* this.#whole();
        await nextTurn();
      } else if (this.#files.exists(this.#serverId, generation + 1)) {
        const moved = movedBytes(this.#files, this.#serverId, { generation, offset: offset + this.#rest.length });
        const here = this.#rest.length - moved;
        if (here > 0) yield this.#take(here, 0);
        // What has moved is read again where it is now, with its end.
        this.#rest = Buffer.alloc(0);
        this.#spot = { generation: generation + 1, offset: Math.max(0, -here) };
      } else {
        if (last && this.#rest.length > 0) yield this.#take(this.#rest.length, 0);
        return;
      }
    }
  }

  *#whole(): Generator<LogLine> {
    for (let end = this.#rest.indexOf(NEWLINE); end >= 0; end = this.#rest.indexOf(NEWLINE)) yield this.#take(end, 1);
    while (this.#rest.length >= MAX_LINE) yield this.#take(MAX_LINE, 0);
  }

  #take(length: number, lineEnd: number): LogLine {
    const text = this.#rest.toString('utf8', 0, length).replace(/\r$/, '');
    this.#rest = this.#rest.subarray(length + lineEnd);
    const { generation, offset } = this.#spot;
    this.#spot = { generation, offset: offset + length + lineEnd };
    return { position: `${generation}:${this.#spot.offset}`, text };
  }
}

/** How much of what was read up to a place has gone into the next file since: the beginning of an unfinished line. */
function movedBytes(files: ProcessLogFiles, serverId: string, { generation, offset }: Spot): number {
  if (!files.exists(serverId, generation) || !files.exists(serverId, generation + 1)) return 0;
  return Math.max(0, offset - files.size(serverId, generation));
}

function startOf(files: ProcessLogFiles, serverId: string, after: string | undefined, tail: number | undefined): Spot {
  const generations = files.generations(serverId);
  const oldest = { generation: generations[0] ?? 1, offset: 0 };
  const [, generation, offset] = /^(\d{1,15}):(\d{1,15})$/.exec(after ?? '')?.map(Number) ?? [];
  if (generation === undefined || offset === undefined || !generations.includes(generation)) {
    return tail === undefined ? oldest : tailSpot(files, serverId, generations, tail);
  }
  const moved = movedBytes(files, serverId, { generation, offset });
  if (moved > 0 && moved <= files.size(serverId, generation + 1)) return { generation: generation + 1, offset: moved };
  if (offset > files.size(serverId, generation)) return oldest;
  if (offset === 0) return { generation, offset };
  // A line that its game never finished was told without its end, which the next game's start has then written.
  const [before, at] = files.read(serverId, { generation, offset: offset - 1 }, 2);
  return { generation, offset: before !== NEWLINE && at === NEWLINE ? offset + 1 : offset };
}

/** A line's beginning with at least `count` lines behind it, or the oldest there is. */
function tailSpot(files: ProcessLogFiles, serverId: string, generations: number[], count: number): Spot {
  let missing = count + 1;
  for (const generation of generations.toReversed()) {
    let end = files.size(serverId, generation);
    while (end > 0) {
      const begin = Math.max(0, end - 64 * 1024);
      const chunk = files.read(serverId, { generation, offset: begin }, end - begin);
      for (let at = chunk.lastIndexOf(NEWLINE); at >= 0; at = at > 0 ? chunk.lastIndexOf(NEWLINE, at - 1) : -1) {
        missing -= 1;
        if (missing < 0) return { generation, offset: begin + at + 1 };
      }
      end = begin;
    }
  }
  return { generation: generations[0] ?? 1, offset: 0 };
}

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { shortText } from '../../kernel/short-text.ts';
import { KIB, MIB } from '../../kernel/units.ts';
import type { LogLine, LogQuery } from '../engine.ts';
import type { ProcessLogFiles, Spot } from './log-files.ts';
import { LOG_PACE, SKIP_TO_LINES, leftOut } from './log-pace.ts';

const NEWLINE = 0x0a;
const { windowMs: POLL_MS, amount: LOOK_BYTES } = LOG_PACE;

/** Longer lines are split into pieces of this size. */
const MAX_LINE = 64 * KIB;

/** Maximum number of bytes searched for the newest lines: a game that never ends a line must not block. */
const MAX_TAIL_BYTES = 16 * MIB;

/** Time limits for the reply to a typed line: until its beginning, between two lines, and in total. */
const FIRST_WORD_MS = 1_500;
const QUIET_MS = 450;
const REPLY_MS = 5_000;
const MAX_REPLY_CHARS = 64 * KIB;
/** A follower that is further behind than this continues near the log's end. */
const MAX_BEHIND = MIB;

/**
 * Reads a server's log. Positions are `<generation>:<offset>`, the place after the line. While `isRunning`, an
 * unfinished last line is held back until it ends. If a game prints faster than 640 KB a second, followers receive the
 * newest lines, and a line that states how much was skipped.
 */
export async function* readLog(
  files: ProcessLogFiles,
  serverId: string,
  { after, tail, lineChars, follow, signal }: LogQuery,
  isRunning: () => boolean,
): AsyncGenerator<LogLine> {
  const cursor = new Cursor(files, serverId, startOf(files, serverId, after, tail));
  let backlog: LogLine[] = [];
  // Reads only the present lines. Later ones are followed at their own pace.
  for await (const line of cursor.lines(() => !isRunning(), cursor.behind())) {
    if (signal?.aborted) return;
    if (tail === undefined) yield line;
    else {
      backlog.push(lineChars === undefined ? line : { ...line, text: shortText(line.text, lineChars) });
      if (backlog.length > 2 * tail + 1_000) backlog = backlog.slice(-tail);
    }
  }
  if (tail !== undefined && tail > 0) yield* backlog.slice(-tail);
  if (!follow) return;
  while (isRunning()) {
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    if (signal?.aborted) return;
    const running = isRunning();
    if (running && cursor.behind() > MAX_BEHIND) yield cursor.skip();
    yield* cursor.lines(() => !isRunning(), running ? LOOK_BYTES : MAX_BEHIND);
  }
}

/** Returns the position of the last line; undefined without one. */
export async function lastPosition(lines: AsyncIterable<LogLine>): Promise<string | undefined> {
  let last: string | undefined;
  for await (const { position } of lines) last = position;
  return last;
}

/** Returns the output after a position until the game is silent for a while. Limited in time and size. */
export async function printedAfter(
  after: string | undefined,
  read: (query: LogQuery) => AsyncIterable<LogLine>,
): Promise<string> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(REPLY_MS)]);
  let quiet = setTimeout(() => over.abort(), FIRST_WORD_MS);
  let reply = '';
  for await (const { text } of read({ ...(after !== undefined && { after }), follow: true, signal })) {
    reply += reply === '' ? text : `\n${text}`;
    if (reply.length > MAX_REPLY_CHARS) break;
    clearTimeout(quiet);
    quiet = setTimeout(() => over.abort(), QUIET_MS);
  }
  clearTimeout(quiet);
  return reply.slice(0, MAX_REPLY_CHARS);
}

/** Reads the files line by line, up to their present end. */
class Cursor {
  readonly #files: ProcessLogFiles;
  readonly #serverId: string;
  /** Position of the start of `#rest`. */
  #spot: Spot;
  /** Bytes that were read but do not form a whole line yet. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(files: ProcessLogFiles, serverId: string, spot: Spot) {
    this.#files = files;
    this.#serverId = serverId;
    this.#spot = spot;
  }

  /** Returns the number of unread bytes. */
  behind(): number {
    const { generation, offset } = this.#spot;
    const sizes = this.#files
      .generations(this.#serverId)
      .filter((each) => each >= generation)
      .map((each) => this.#files.size(this.#serverId, each));
    return Math.max(0, sizes.reduce((sum, size) => sum + size, 0) - offset - this.#rest.length);
  }

  /** Skips to near the end of the log and returns a line that reports it. */
  skip(): LogLine {
    const before = this.behind();
    this.#rest = Buffer.alloc(0);
    this.#spot = tailSpot(
      this.#files,
      this.#serverId,
      this.#files.generations(this.#serverId).slice(-1),
      SKIP_TO_LINES,
    );
    const { generation, offset } = this.#spot;
    return { position: `${generation}:${offset}`, text: leftOut(before - this.behind()) };
  }

  /**
   * Yields the present lines, from slightly more than `most` bytes. At the end of the log, `ended` decides whether an
   * unfinished line counts.
   */
  async *lines(ended: () => boolean, most: number): AsyncGenerator<LogLine> {
    for (let read = 0; ;) {
      // Check before reading: a game that has ended by now has already written everything that this read returns.
      const last = ended();
      const { generation, offset } = this.#spot;
      const chunk = this.#files.read(this.#serverId, { generation, offset: offset + this.#rest.length });
      if (chunk.length > 0) {
        read += chunk.length;
        this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
        yield* this.#whole();
        await nextTurn();
        if (read >= most && !last) return;
      } else if (this.#files.exists(this.#serverId, generation + 1)) {
        const moved = movedBytes(this.#files, this.#serverId, { generation, offset: offset + this.#rest.length });
        const here = this.#rest.length - moved;
        if (here > 0) yield this.#take(here, 0);
        // Moved text is read again at its new place, together with its end.
        this.#rest = Buffer.alloc(0);
        this.#spot = { generation: generation + 1, offset: Math.max(0, -here) };
      } else if (this.#isLost(generation)) {
        this.#rest = Buffer.alloc(0);
        this.#spot = { generation: this.#files.generations(this.#serverId)[0]!, offset: 0 };
      } else {
        if (last && this.#rest.length > 0) yield this.#take(this.#rest.length, 0);
        return;
      }
    }
  }

  /** Returns whether the file and the one after it are gone. */
  #isLost(generation: number): boolean {
    if (this.#files.exists(this.#serverId, generation)) return false;
    return (this.#files.generations(this.#serverId)[0] ?? 0) > generation;
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

/** Returns how many bytes before a position have since moved to the next file: the beginning of an unfinished line. */
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
  // A position after an unfinished line is before its line end, which the next game's start has since written.
  const [before, at] = files.read(serverId, { generation, offset: offset - 1 }, 2);
  return { generation, offset: before !== NEWLINE && at === NEWLINE ? offset + 1 : offset };
}

/** Returns the beginning of a line that at least `count` lines follow, or of the oldest one within the search limit. */
function tailSpot(files: ProcessLogFiles, serverId: string, generations: number[], count: number): Spot {
  let missing = count + 1;
  let looked = 0;
  let earliest: Spot | undefined;
  for (const generation of generations.toReversed()) {
    let end = files.size(serverId, generation);
    while (end > 0) {
      const begin = Math.max(0, end - 64 * KIB);
      const chunk = files.read(serverId, { generation, offset: begin }, end - begin);
      for (let at = chunk.lastIndexOf(NEWLINE); at >= 0; at = at > 0 ? chunk.lastIndexOf(NEWLINE, at - 1) : -1) {
        missing -= 1;
        earliest = { generation, offset: begin + at + 1 };
        if (missing < 0) return earliest;
      }
      end = begin;
      looked += chunk.length;
      if (looked >= MAX_TAIL_BYTES) return earliest ?? { generation, offset: begin };
    }
  }
  return { generation: generations[0] ?? 1, offset: 0 };
}

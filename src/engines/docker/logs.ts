import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { Pace } from './pace.ts';
import type { Clock } from '../../kernel/clock.ts';
import { monotonicClock } from '../../kernel/system-clock.ts';
import type { LogLine, LogQuery } from '../engine.ts';
import { LOG_PACE, SKIP_TO_LINES, leftOut } from '../process/log-pace.ts';
import { ARCHIVED_LINES, type LogArchive } from './archive.ts';
import { statusOf } from './errors.ts';
import { linesAfter, isLater, isPosition, logLines, newest, sinceFor } from './log-lines.ts';
import { openStream } from './streams.ts';

/** Bytes counted for the timestamp that Docker puts before each line. */
const STAMP_BYTES = 40;
/** A game may exceed its budget in this many windows in a row (5 s) before lines are skipped. */
const MAX_FULL_WINDOWS = 25;

/** Time limit for storing a log: an unresponsive engine must not prevent games from being stopped or started. */
const KEEP_MS = 30_000;

/** A container whose output is read, and its engine. */
export interface Printing {
  docker: Docker;
  id: string;
  running: boolean;
  /** Creation time in Docker's format. */
  createdAt: string;
}

type FindPrinting = (serverId: string) => Promise<Printing | undefined>;

/** `present` returns a server's container; undefined if none exists. */
export function serverLogs(archive: LogArchive, present: FindPrinting, clock = monotonicClock): ServerLogs {
  return new ServerLogs(archive, present, clock);
}

/** Reads a server's output without gaps across its removed containers (archive) and the present one. */
export class ServerLogs {
  readonly #archive: LogArchive;
  readonly #present: FindPrinting;
  readonly #clock: Clock;

  constructor(archive: LogArchive, present: FindPrinting, clock: Clock) {
    this.#archive = archive;
    this.#present = present;
    this.#clock = clock;
  }

  async *read(serverId: string, query: LogQuery): AsyncGenerator<LogLine> {
    const { after, tail, follow, signal } = query;
    let last = isPosition(after) ? after : undefined;
    const there =
      tail === undefined ? this.#keptWhole(serverId, last, signal) : await this.#tailOf(serverId, last, tail, query);
    for await (const line of there) {
      if (signal?.aborted) return;
      last = line.position;
      yield line;
    }
    if (tail === 0 && follow) last = (await this.#tailOf(serverId, last, 1, query)).at(-1)?.position ?? last;
    if (!follow || signal?.aborted) return;
    const container = await this.#present(serverId);
    if (container?.running) {
      try {
        // A line printed before the container was created is not in its log. Waiting for it would hold back new lines.
        const from = last !== undefined && isLater(container.createdAt, last) ? undefined : last;
        for await (const line of followed(container, from, { clock: this.#clock, signal })) {
          last = line.position;
          yield line;
        }
      } catch (error) {
        if (!isGone(error)) throw error;
      }
    }
    if (signal?.aborted) return;
    // Lines printed between the two reads, or by a container that was removed before it was completely read.
    for await (const line of this.#keptWhole(serverId, last, signal)) {
      if (signal?.aborted) return;
      yield line;
    }
  }

  /** Adds a container's last lines to the archive. Repeated calls add each line only once. */
  async keep(serverId: string, container: Pick<Printing, 'docker' | 'id'>): Promise<void> {
    const { container: archivedFrom, lines } = await this.#archive.read(serverId);
    const from = archivedFrom === container.id ? lines.at(-1)?.position : undefined;
    const late = new AbortController();
    const cancel = this.#clock.at(this.#clock.now() + KEEP_MS, () => late.abort());
    const within = { tail: ARCHIVED_LINES + 1, signal: late.signal };
    const fresh = await newest(printed(container, from, within), ARCHIVED_LINES).finally(cancel);
    if (fresh.length > 0) await this.#archive.append(serverId, container.id, fresh);
  }

  async forget(serverId: string): Promise<void> {
    await this.#archive.remove(serverId);
  }

  /**
   * Yields all stored lines after a position. Looks up the container first: if it is removed in the meantime, its lines
   * are in the archive.
   */
  async *#kept(serverId: string, after: string | undefined, signal: AbortSignal | undefined): AsyncGenerator<LogLine> {
    const container = await this.#present(serverId);
    const { container: archivedFrom, lines } = await this.#archive.read(serverId);
    const at = lines.findIndex((line) => line.position === after);
    const older =
      at < 0 && after !== undefined ? lines.filter((line) => isLater(line.position, after)) : lines.slice(at + 1);
    yield* older;
    if (container === undefined) return;
    const archivedUpTo = container.id === archivedFrom ? lines.at(-1)?.position : undefined;
    const from = at < 0 && older.length === 0 ? (after ?? archivedUpTo) : archivedUpTo;
    yield* printed(container, from, { signal });
  }

  /** Like `#kept`, but starts again if the container is archived and removed while it is read. */
  async *#keptWhole(
    serverId: string,
    after: string | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<LogLine> {
    let last = after;
    for (;;) {
      try {
        for await (const line of this.#kept(serverId, last, signal)) {
          last = line.position;
          yield line;
        }
        return;
      } catch (error) {
        if (!isGone(error)) throw error;
        await sleep(50);
      }
    }
  }

  /**
   * Returns the newest lines. Docker counts the pieces of long lines and may begin within a line, so its own tail can
   * be too short.
   */
  async #tailOf(
    serverId: string,
    after: string | undefined,
    tail: number,
    { lineChars, signal }: LogQuery,
  ): Promise<LogLine[]> {
    const container = after === undefined ? await this.#present(serverId) : undefined;
    if (container) {
      const all = printed(container, undefined, { tail: tail + 1, signal });
      const lines = await newest(all, tail + 1, lineChars).catch(emptyIfGone);
      if (lines.length > tail) return tail === 0 ? [] : lines.slice(-tail);
    }
    if (signal?.aborted) return [];
    return await newest(this.#keptWhole(serverId, after, signal), tail, lineChars);
  }
}

/** Yields a container's output after a position. `tail` bounds what Docker reads, counted from the end. */
async function* printed(
  { docker, id }: Pick<Printing, 'docker' | 'id'>,
  after: string | undefined,
  how: { follow?: boolean; tail?: number | undefined; signal?: AbortSignal | undefined } = {},
): AsyncGenerator<LogLine> {
  const opening = openLogs(docker, id, {
    follow: how.follow ?? false,
    tail: how.tail ?? 'all',
    since: after === undefined ? 0 : sinceFor(after),
  });
  const stream = await openStream(opening, how.signal);
  try {
    yield* linesAfter(logLines(stream), after);
  } catch (error) {
    if (!how.signal?.aborted) throw error;
  } finally {
    stream.destroy();
  }
}

/**
 * Yields a container's output after a position, live, until it ends. If a game exceeds its budget for five seconds in a
 * row, following skips to near the end of the log.
 */
async function* followed(
  container: Printing,
  after: string | undefined,
  { clock, signal }: { clock: Clock; signal: AbortSignal | undefined },
): AsyncGenerator<LogLine> {
  let last = after;
  let tail: number | undefined;
  for (;;) {
    const pace = new Pace(LOG_PACE, clock);
    let isOverlap = tail !== undefined;
    for await (const line of printed(container, tail === undefined ? last : undefined, {
      follow: true,
      tail,
      signal,
    })) {
      isOverlap &&= last !== undefined && !isLater(line.position, last);
      if (isOverlap) continue;
      last = line.position;
      yield line;
      if (!pace.take(line.text.length + STAMP_BYTES)) continue;
      await pace.rest(signal);
      if (pace.fullWindows >= MAX_FULL_WINDOWS) break;
    }
    if (pace.fullWindows < MAX_FULL_WINDOWS || signal?.aborted) return;
    yield { position: last!, text: leftOut() };
    tail = SKIP_TO_LINES;
  }
}

function emptyIfGone(error: unknown): LogLine[] {
  if (isGone(error)) return [];
  throw error;
}

// 409: the container is being removed.
function isGone(error: unknown): boolean {
  return [404, 409].includes(statusOf(error) ?? 0);
}

// dockerode's own `logs` collects the whole answer in memory unless it follows.
// `since`: seconds since the epoch; 0: everything.
function openLogs(
  docker: Docker,
  container: string,
  options: { follow: boolean; tail: number | 'all'; since: number },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    docker.modem.dial(
      {
        path: `/containers/${container}/logs?`,
        method: 'GET',
        isStream: true,
        statusCodes: { 200: true, 404: 'no such container', 500: 'server error' },
        options: { stdout: true, stderr: true, timestamps: true, ...options },
      },
      (error, stream) => {
        if (error) reject(error);
        else resolve(stream as IncomingMessage);
      },
    );
  });
}

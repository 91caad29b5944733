import { setTimeout as delay } from 'node:timers/promises';
import type { paths } from '../http/api-types.ts';
import { type Api, done, refusal } from './api.ts';
import { isTransient, unreachable } from './errors.ts';
import { chunksOf, eventData } from './http.ts';
import { LOGS, type Messages, read } from './shapes.ts';
import { readServer } from './waiting.ts';

type Query = paths['/v1/servers/{id}/logs']['get']['parameters']['query'];

const POLL_MS = 1000;
const ASLEEP_POLL_MS = 2000;
const LEAST_RETRY_MS = 1000;
const MOST_RETRY_MS = 15_000;
/** The states without a running game. */
export const ASLEEP: ReadonlySet<string> = new Set(['hibernated', 'start_failed', 'install_failed']);

interface Follow {
  api: Api;
  id: string;
  /** Number of earlier lines to start with. */
  tail: number;
  /** Called with notes about the connection. */
  note: (sentence: string) => void;
  signal: AbortSignal;
  /** Printed when the server goes to sleep. */
  asleep?: string;
}

/**
 * Follows a log without end: by the event stream if the service has one, otherwise by polling. Survives the end of a
 * stream, lost connections and the server's sleep. Throws CommandError if the server does not exist (any more).
 */
export async function* followLog(follow: Follow): AsyncGenerator<string> {
  const stream = await open(follow, follow.tail);
  yield* stream === undefined ? pollLog(follow) : streamLog(follow, stream);
}

async function* streamLog(follow: Follow, first: AsyncGenerator<string>): AsyncGenerator<string> {
  const { note, signal } = follow;
  const tail = new Tail();
  let retryMs = LEAST_RETRY_MS;
  for (let stream = first; ;) {
    try {
      for await (const line of tail.isEmpty ? stream : withoutSeen(stream, tail)) {
        retryMs = LEAST_RETRY_MS;
        yield tail.note(line);
      }
    } catch (error) {
      if (!isTransient(error)) throw error;
      note('Connection lost. Retrying.');
    }
    await delay(retryMs, undefined, { signal });
    retryMs = Math.min(MOST_RETRY_MS, retryMs * 2);
    stream = await again(follow, tail);
  }
}

/** Reopens the stream once the server is awake and the service responds. */
async function again(follow: Follow, tail: Tail): Promise<AsyncGenerator<string>> {
  const { signal } = follow;
  await awake(follow);
  for (let retryMs = LEAST_RETRY_MS; ; retryMs = Math.min(MOST_RETRY_MS, retryMs * 2)) {
    try {
      const stream = await open(follow, tail.isEmpty ? follow.tail : MAX_TAIL);
      if (stream) return stream;
      throw unreachable('The service closed the log stream. Try again.');
    } catch (error) {
      if (!isTransient(error)) throw error;
    }
    await delay(retryMs, undefined, { signal });
  }
}

async function awake(follow: Follow): Promise<void> {
  const { api, id, note, signal } = follow;
  for (let notified = false; ; await delay(ASLEEP_POLL_MS, undefined, { signal })) {
    try {
      const { server } = await readServer(api, id);
      if (!ASLEEP.has(server.state)) return;
      if (!notified) note(asleepNote(follow));
      notified = true;
    } catch (error) {
      if (!isTransient(error)) throw error;
    }
  }
}

/** Returns undefined if the service has no such stream. */
async function open({ api, id, signal }: Follow, tail: number): Promise<AsyncGenerator<string> | undefined> {
  const { data, error, response } = await api.GET('/v1/servers/{id}/logs/stream', {
    params: { path: { id }, query: { tail } },
    headers: { accept: 'text/event-stream' },
    parseAs: 'stream',
  });
  // An unknown server is a 404, too. Polling its log then reports that.
  if (response.status === 404) return undefined;
  if (!data) throw refusal(error, response);
  return eventData(chunksOf(data, api.url, signal));
}

async function* pollLog(follow: Follow): AsyncGenerator<string> {
  const { api, id, tail, note, signal } = follow;
  let query: Query = { tail };
  let retryMs = LEAST_RETRY_MS;
  for (let missing = false; ; await delay(retryMs, undefined, { signal })) {
    try {
      const reply: Messages['GetServerLogsResponse'] = await done(
        api.GET('/v1/servers/{id}/logs', { params: { path: { id }, query } }),
      );
      const { cursor, containerMissing } = read(LOGS, reply);
      if (cursor !== '') query = { cursor, tail: MAX_TAIL };
      yield* logLines(reply);
      if (containerMissing && !missing) note(asleepNote(follow));
      missing = containerMissing;
      retryMs = missing ? ASLEEP_POLL_MS : POLL_MS;
    } catch (error) {
      if (!isTransient(error)) throw error;
      if (retryMs === POLL_MS) note('Connection lost. Retrying.');
      retryMs = Math.min(MOST_RETRY_MS, retryMs * 2);
    }
  }
}

function asleepNote({ id, asleep = `${id} is asleep. Its log continues when it wakes.` }: Follow): string {
  return asleep;
}

/** Returns the lines of a log reply unchanged. */
export function logLines({ lines }: { lines: readonly string[] }): string[] {
  return (Array.isArray(lines) ? lines : []).filter((line) => typeof line === 'string');
}

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

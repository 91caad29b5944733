import * as z from 'zod';
import { type Engine, EngineError, type LogLine, type LogQuery } from '../engines/engine.ts';
import { clamped, message, reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import type { Served } from '../http/serve.ts';
import { dataFrame } from '../http/sse.ts';
import { unlessGone } from '../kernel/caller-gone.ts';
import { createSemaphore } from '../kernel/limits/semaphore.ts';
import { shortText } from '../kernel/short-text.ts';
import { StatusError } from '../kernel/status.ts';
import { ServerParams } from '../servers/api/messages.ts';
import { type LogStreams, MAX_TAIL } from './log-streams.ts';
import type { Shared } from '../servers/shared.ts';

const LINE_CHARS = 8192;
const READ_MS = 10_000;
/**
 * Limits concurrent reads, in total and per account. Reading a log with long lines takes a tenth of a second of CPU
 * time and 10 MB.
 */
const READING = { atOnce: 6, atOncePerKey: 2, mostWaiting: 128, mostWaitingPerKey: 24 };

const GetServerLogsResponse = z
  .object({
    lines: z.array(z.string()).default([]).describe('Oldest first.'),
    cursor: reply.text.describe('Pass it in the next call to get only newer lines.'),
    containerMissing: reply.flag.describe('There is no running container.'),
  })
  .meta({ id: 'GetServerLogsResponse' });

export const GetServerLogs = operation({
  id: 'GetServerLogs',
  method: 'get',
  path: '/v1/servers/{id}/logs',
  auth: 'key',
  scope: 'servers:read',
  role: 'limited',
  section: 'Console, logs and insight',
  summary: 'Read the log',
  description:
    'The newest `tail` lines, or with a `cursor` the next ones after it, at most `tail`. An unknown cursor is ignored.',
  params: ServerParams,
  query: message({
    cursor: z.string().max(1024).default('').describe('From an earlier reply: only lines after it.'),
    tail: clamped({ min: 0, max: MAX_TAIL, fallback: 100 }).describe(`Clamped to 0..${MAX_TAIL}.`),
  }),
  reply: GetServerLogsResponse,
});

export const StreamServerLogs = operation({
  answers: 'events',
  id: 'StreamServerLogs',
  method: 'get',
  path: '/v1/servers/{id}/logs/stream',
  auth: 'key',
  scope: 'servers:read',
  keyOnly: true,
  role: 'limited',
  section: 'Console, logs and insight',
  summary: 'Follow the log',
  description: [
    'Server-sent events: the newest `tail` lines, then new ones as they are printed. If the server is not running,',
    'the stream ends after the newest lines. A comment `: ping` is sent every 15 seconds. A stream ends after 30',
    'minutes. One key can have three streams open, one account ten; others are refused (429). Lines are cut at 8',
    'KiB. A client that reads too slowly gets a line with the number of missing lines.',
  ].join('\n'),
  params: ServerParams,
  query: message({ tail: clamped({ min: 0, max: MAX_TAIL, fallback: 100 }).describe(`Clamped to 0..${MAX_TAIL}.`) }),
  reply: z.string().describe('Frames `data: <line>`.'),
});

function leftOut(lines: number): string {
  return dataFrame(`[${lines} lines are missing here: this client reads too slowly]`);
}

function unavailable(error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  return logsUnavailable(error);
}

function logsUnavailable(cause?: unknown): StatusError {
  return new StatusError('UNAVAILABLE', 'LOGS_UNAVAILABLE', 'The log cannot be read now. Try again.', { cause });
}

/** Lines as shown, and the position after them in the log; '' is the position before the first line. */
interface Page {
  lines: LogLine[];
  position: string;
}

async function readPage(
  engine: Engine,
  id: string,
  after: string | undefined,
  tail: number,
  signal: AbortSignal,
): Promise<Page> {
  if (after === undefined) {
    // Reads at least one line, because the next call continues at its position.
    const newest = await take(engine.logs(id, { tail: Math.max(1, tail), lineChars: LINE_CHARS, signal }), MAX_TAIL);
    return {
      lines: newest.slice(newest.length - Math.min(tail, newest.length)),
      position: newest.at(-1)?.position ?? '',
    };
  }
  const query: LogQuery = after === '' ? { signal } : { after, signal };
  const lines = tail === 0 ? [] : await take(engine.logs(id, query), tail);
  return { lines, position: lines.at(-1)?.position ?? after };
}

async function take(lines: AsyncIterable<LogLine>, most: number): Promise<LogLine[]> {
  const taken: LogLine[] = [];
  for await (const line of lines) {
    taken.push({ ...line, text: plainText(line.text) });
    if (taken.length >= most) break;
  }
  return taken;
}

/** Removes line ends within a line and limits its length. Colours stay. */
function plainText(text: string): string {
  return shortText(text.replaceAll(/[\r\n]/g, ''), LINE_CHARS);
}

/** Returns a cursor for this server only, because a position in one log means nothing in another. */
function cursorOf(id: string, position: string): string {
  return Buffer.from(JSON.stringify([id, position])).toString('base64url');
}

function positionOf(cursor: string, id: string): string | undefined {
  try {
    const [server, position] = Cursor.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
    return server === id ? position : undefined;
  } catch {
    return undefined;
  }
}

const Cursor = z.tuple([z.string(), z.string()]);

export function logOperations({ serveServer }: Shared, engine: Engine, logStreams: LogStreams): readonly Served[] {
  const reading = createSemaphore(READING);
  return [
    serveServer(GetServerLogs, async ({ params, query, server, signal }) => {
      const after = positionOf(query.cursor, params.id);
      const leave = await unlessGone(signal, () => reading.enter({ key: server.row.accountId }, signal));
      try {
        const game = await engine.inspect(params.id);
        const late = AbortSignal.timeout(READ_MS);
        const page = await readPage(engine, params.id, after, query.tail, AbortSignal.any([signal, late]));
        if (late.aborted && page.lines.length === 0) throw logsUnavailable();
        return {
          lines: page.lines.map(({ text }) => text),
          cursor: cursorOf(params.id, page.position),
          containerMissing: !game?.up,
        };
      } catch (error) {
        throw unavailable(error);
      } finally {
        leave();
      }
    }),
    serveServer(StreamServerLogs, async ({ params, query: { tail } }) => {
      try {
        const follow = await logStreams.open(params.id);
        return { play: (sink) => follow(sink, tail), overflow: leftOut };
      } catch (error) {
        throw unavailable(error);
      }
    }),
  ];
}

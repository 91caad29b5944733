import { Readable } from 'node:stream';
import type { Engine, LogLine } from '../../engines/engine.ts';
import type { Download } from '../../http/download.ts';
import type { StreamSlots } from '../../http/stream-slots.ts';
import { KIB } from '../../kernel/units.ts';
import { logPieces } from '../../web/assets/log-line.js';
import type { ServerRequest } from '../../web/panel/panel.ts';

/** Dependencies of reading a log. */
export interface LogFileNeeds {
  engine: Pick<Engine, 'logs'>;
  /** Places for downloads that last. */
  transferSlots: StreamSlots;
}

const PIECE_CHARS = 64 * KIB;

/**
 * All lines that are kept of a server's log, as text without colours, for who may read the log over the API. Page by page, as the
 * API gives it, an engine would read all of it for each page. RESOURCE_EXHAUSTED where too many downloads go on at once.
 */
export async function logFile(request: ServerRequest, { engine, transferSlots }: LogFileNeeds): Promise<Download> {
  const { call, principal, server, signal } = request;
  await call('GetServerLogs', { id: server.id }, { tail: 0 });
  const release = transferSlots.take(principal, 'transfer');
  const text = Readable.from(textOf(engine.logs(server.id, { signal })), { objectMode: false });
  return { filename: `${server.id}.log`, open: () => text, close: () => (text.destroy(), release()) };
}

/** In pieces of some size: a log has hundreds of thousands of lines. */
async function* textOf(lines: AsyncIterable<LogLine>): AsyncGenerator<string> {
  let piece = '';
  for await (const { text } of lines) {
    piece += `${logPieces(text)
      .map((each) => each.text)
      .join('')}\n`;
    if (piece.length < PIECE_CHARS) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

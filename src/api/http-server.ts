import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';
import { errorAnswer } from './errors.ts';
import { StatusError } from '../status.ts';

/** Connections at once; more are refused by closing them. */
const MAX_CONNECTIONS = 10_000;
/** Longer than a reverse proxy keeps an idle connection, lest it reuse one that is just being closed. */
const KEEP_ALIVE_MS = 65_000;
const HEADERS_MS = 15_000;
/** What an upload may take in all; messages have their own, shorter time (`body.ts`). */
const REQUEST_MS = 6 * 3_600_000;
/** A body that is still being sent so long after its answer is nobody's. */
const LEFTOVER_MS = 30_000;

/** An HTTP server for the application, not yet listening, with bounds on what a client may hold open. */
export function createHttpServer(app: Koa): Server {
  const handle = app.callback();
  const times = { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, keepAliveTimeout: KEEP_ALIVE_MS };
  const server = createServer(times, (request, response) => {
    response.once('finish', () => {
      if (!request.complete) setTimeout(() => void (request.complete || request.destroy()), LEFTOVER_MS).unref();
    });
    void handle(request, response);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('clientError', refuse);
  return server;
}

/** What Node's parser refuses never reaches Koa: answered here in the same form, and the connection closed. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [httpStatus, words] = PARSER_ERRORS[error.code ?? ''] ?? [400, 'Bad Request'];
  const status = new StatusError('INVALID_ARGUMENT', 'INVALID_REQUEST', 'This is not valid HTTP.', { httpStatus });
  const body = JSON.stringify(errorAnswer(status, '').body);
  socket.end(
    `HTTP/1.1 ${httpStatus} ${words}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

const PARSER_ERRORS: Record<string, [number, string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Payload Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};

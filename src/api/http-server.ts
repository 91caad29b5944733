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

/** An HTTP server for the application, not yet listening, with bounds on what a client may hold open. */
export function createHttpServer(app: Koa): Server {
  const handle = app.callback();
  const server = createServer({ headersTimeout: HEADERS_MS, keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
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

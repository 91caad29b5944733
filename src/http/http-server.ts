import type { IncomingMessage, Server } from 'node:http';
import type { BlockList, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';
import { canonical, isListed } from '../kernel/ip.ts';
import { createCrowd } from '../kernel/limits/crowd.ts';
import { createServer } from '../kernel/node-http.ts';
import { StatusError } from '../kernel/status.ts';
import { HOUR_MS } from '../kernel/units.ts';
import { onceEnded } from './ended.ts';
import { errorAnswer } from './errors.ts';

/** Connections at once. Behind so many, a newcomer takes the place of one that is idle. */
const MOST_CONNECTIONS = 10_000;
/** Connections of one address: more than any browser, bot or office opens. */
const MOST_OF_ADDRESS = 256;
/** Over which the system closes what it is asked to, before anything here has seen it. */
const HEADROOM = 256;
/** How often those who are late with their headers are looked for. */
const LOOK_MS = 5_000;
/** Longer than a reverse proxy keeps an idle connection, lest it reuse one that is just being closed. */
const KEEP_ALIVE_MS = 65_000;
const HEADERS_MS = 15_000;
/** What an upload may take in all; messages have their own, shorter time (`body.ts`). */
const REQUEST_MS = 6 * HOUR_MS;
/** A body that is still being sent so long after its answer is nobody's. */
const LEFTOVER_MS = 30_000;

export interface HttpServerOptions {
  /** Reverse proxies: the world comes from their addresses, which are not limited as one. */
  trusted?: BlockList;
  mostConnections?: number;
  mostOfAddress?: number;
  /** Takes the connections of requests that ask for a link; other upgrades are requests like any. */
  link?: Link | undefined;
}

/** What becomes a connection of its own. */
export interface Link {
  isLink(request: IncomingMessage): boolean;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

/** An HTTP server for the application, not yet listening, with bounds on what a client may hold open. */
export function createHttpServer(app: Pick<Koa, 'callback'>, options: HttpServerOptions = {}): Server {
  const { mostConnections = MOST_CONNECTIONS, link } = options;
  const handle = app.callback();
  const times = {
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: LOOK_MS,
    shouldUpgradeCallback: (request: IncomingMessage) => link?.isLink(request) ?? false,
  };
  const busy = new WeakMap<Socket, number>();
  const server = createServer(times, (request, response) => {
    const { socket } = request;
    busy.set(socket, (busy.get(socket) ?? 0) + 1);
    onceEnded(response, () => busy.set(socket, (busy.get(socket) ?? 1) - 1));
    response.once('finish', () => {
      if (!request.complete) setTimeout(() => void (request.complete || request.destroy()), LEFTOVER_MS).unref();
    });
    void handle(request, response);
  });
  server.maxConnections = mostConnections + HEADROOM;
  limitConnections(server, options, (socket) => (busy.get(socket) ?? 0) > 0);
  server.on('clientError', refuse);
  if (link) server.on('upgrade', (request, socket, head) => link.upgrade(request, socket, head));
  return server;
}

/** Nobody alone may hold all connections there are: an address has its share, and idle ones make room for others. */
function limitConnections(
  server: Server,
  { trusted, mostConnections: most = MOST_CONNECTIONS, mostOfAddress = MOST_OF_ADDRESS }: HttpServerOptions,
  isBusy: (socket: Socket) => boolean,
): void {
  const isShared = (address: string) => trusted !== undefined && isListed(trusted, address);
  const crowd = createCrowd({ most, mostOfAddress, isShared });
  server.on('connection', (socket: Socket) => {
    const leave = crowd.enter({
      address: canonical(socket.remoteAddress ?? ''),
      state: () => (isBusy(socket) ? 'busy' : 'idle'),
      leave: () => socket.destroy(),
    });
    if (leave) socket.once('close', leave);
    else socket.destroy();
  });
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

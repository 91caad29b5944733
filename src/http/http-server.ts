import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { BlockList, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';
import { canonical, isListed } from '../kernel/ip.ts';
import { type Guest, createClientCount } from '../kernel/limits/client-count.ts';
import { createServer } from '../kernel/node-http.ts';
import { StatusError } from '../kernel/status.ts';
import { HOUR_MS, MINUTE_MS } from '../kernel/units.ts';
import { onceEnded } from './ended.ts';
import { errorAnswer } from './errors.ts';

/** Most concurrent connections. At the limit, a new one replaces an idle one. */
const MOST_CONNECTIONS = 10_000;
/** Most connections of one address: more than any browser, bot or office opens. */
const MOST_OF_ADDRESS = 256;
/** Most connections of one network, /24 or /48, whose owner can use many addresses. */
const MOST_OF_NETWORK = 1_024;
/** Most concurrent requests of one connection, and most that may queue after them. Browsers send one at a time. */
const MOST_AT_WORK = 4;
const MOST_WAITING = 32;
/** A client that reads none of an answer for this long has gone. */
const STALLED_MS = MINUTE_MS;
/** A connection waiting for its client counts as idle after this long without a byte in either direction. */
const SILENT_MS = 5_000;
/** Connections accepted beyond the limit, because the system would close them before they are seen here. */
const HEADROOM = 256;
/** Interval at which Node looks for connections with late headers. */
const LOOK_MS = 5_000;
/** Longer than reverse proxies keep idle connections, so that they do not reuse one that is closing. */
const KEEP_ALIVE_MS = 65_000;
const HEADERS_MS = 15_000;
/** Time limit of a whole upload. Messages have a shorter limit (`body.ts`). */
const REQUEST_MS = 6 * HOUR_MS;
/** A body still arriving this long after its answer is cut off. */
const LEFTOVER_MS = 30_000;

export interface HttpServerOptions {
  /** Reverse proxies: their addresses stand for many clients and are not limited as one. */
  trusted?: BlockList;
  mostConnections?: number;
  mostOfAddress?: number;
  mostOfNetwork?: number;
  stalledMs?: number;
  /** Handles upgrades that request a link. Other upgrades are treated as ordinary requests. */
  link?: Link | undefined;
}

/** A handler of an upgraded connection. */
export interface Link {
  isLink(request: IncomingMessage): boolean;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

/** Creates an HTTP server that is not listening yet. Limits the connections and requests a client may hold open. */
export function createHttpServer(app: Pick<Koa, 'callback'>, options: HttpServerOptions = {}): Server {
  const { mostConnections = MOST_CONNECTIONS, stalledMs = STALLED_MS, link } = options;
  const handle = app.callback();
  const times = {
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: LOOK_MS,
    shouldUpgradeCallback: (request: IncomingMessage) => link?.isLink(request) ?? false,
  };
  const connections = new WeakMap<Socket, Connection>();
  const server = createServer(times, (request, response) => {
    connections.get(request.socket)?.serve(request, () => {
      response.once('finish', () => {
        if (!request.complete) setTimeout(() => void (request.complete || request.destroy()), LEFTOVER_MS).unref();
      });
      void handle(request, response);
      return response;
    });
  });
  server.maxConnections = mostConnections + HEADROOM;
  server.timeout = stalledMs;
  server.on('timeout', (socket: Socket) => connections.get(socket)?.endIfStalled());
  limitConnections(server, options, connections);
  server.on('clientError', refuse);
  if (link) server.on('upgrade', (request, socket, head) => link.upgrade(request, socket, head));
  return server;
}

/** A connection and its requests, which a client may pipeline. */
class Connection {
  readonly #socket: Socket;
  readonly #unanswered = new Set<IncomingMessage>();
  readonly #waiting: (() => void)[] = [];
  #moved = { bytes: 0, at: performance.now() };

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Calls `begin` once few enough earlier requests are unanswered. Pauses reading until then. */
  serve(request: IncomingMessage, begin: () => ServerResponse): void {
    const start = () => {
      this.#unanswered.add(request);
      onceEnded(begin(), () => this.#answered(request));
    };
    if (this.#unanswered.size < MOST_AT_WORK) return start();
    this.#waiting.push(start);
    if (this.#waiting.length > MOST_WAITING) this.#socket.destroy();
    else this.#socket.pause();
  }

  #answered(request: IncomingMessage): void {
    this.#unanswered.delete(request);
    if (this.#socket.destroyed) return;
    this.#waiting.shift()?.();
    if (this.#waiting.length === 0) this.#socket.resume();
  }

  /** Ends a stalled connection. Called after a long silence. Spares slow handlers; bodies have their own time-out. */
  endIfStalled(): void {
    if (this.#unanswered.size === 0 || this.#socket.writableLength > 0) this.#socket.destroy();
  }

  /**
   * Returns the state for `createClientCount`. A connection that waits for its client may be replaced by one from a
   * smaller network, a silent one by any.
   */
  state(): ReturnType<Guest['state']> {
    const { bytesRead, bytesWritten, writableLength } = this.#socket;
    if (this.#unanswered.size === 0) return 'idle';
    if (writableLength === 0 && [...this.#unanswered].some(({ complete }) => complete)) return 'busy';
    const bytes = bytesRead + bytesWritten - writableLength;
    const now = performance.now();
    if (bytes !== this.#moved.bytes) this.#moved = { bytes, at: now };
    return now - this.#moved.at < SILENT_MS ? 'waiting' : 'idle';
  }
}

/**
 * Gives each address and network a share of the connections, so that no client can hold all of them. Idle connections
 * are replaced first.
 */
function limitConnections(server: Server, options: HttpServerOptions, connections: WeakMap<Socket, Connection>): void {
  const { trusted, mostConnections: most = MOST_CONNECTIONS } = options;
  const { mostOfAddress = MOST_OF_ADDRESS, mostOfNetwork = MOST_OF_NETWORK } = options;
  const isShared = (address: string) => trusted !== undefined && isListed(trusted, address);
  const clientCount = createClientCount({ most, mostOfAddress, mostOfNetwork, isShared });
  // Runs before the server's own listener, which may read a request at once.
  server.prependListener('connection', (socket: Socket) => {
    const connection = new Connection(socket);
    connections.set(socket, connection);
    const leave = clientCount.enter({
      address: canonical(socket.remoteAddress ?? ''),
      state: () => connection.state(),
      leave: () => socket.destroy(),
    });
    if (leave) socket.once('close', leave);
    else socket.destroy();
  });
}

/**
 * Answers requests that Node's parser rejects, which never reach Koa, in the usual format and closes the connection.
 */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [httpStatus, words] = PARSER_ERRORS[error.code ?? ''] ?? [400, 'Bad Request'];
  const sentence = 'The request is not valid HTTP.';
  const status = new StatusError('INVALID_ARGUMENT', 'INVALID_REQUEST', sentence, { httpStatus });
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

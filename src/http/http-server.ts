import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { BlockList, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';
import { canonical, isListed } from '../kernel/ip.ts';
import { type Guest, createCrowd } from '../kernel/limits/crowd.ts';
import { createServer } from '../kernel/node-http.ts';
import { StatusError } from '../kernel/status.ts';
import { HOUR_MS, MINUTE_MS } from '../kernel/units.ts';
import { onceEnded } from './ended.ts';
import { errorAnswer } from './errors.ts';

/** Connections at once. Behind so many, a newcomer takes the place of one that is idle. */
const MOST_CONNECTIONS = 10_000;
/** Connections of one address: more than any browser, bot or office opens. */
const MOST_OF_ADDRESS = 256;
/** Connections of one network, a /24 or a /48: its holder can choose among many addresses. */
const MOST_OF_NETWORK = 1_024;
/** Requests of one connection that are answered at the same time, and those that may wait for it. Browsers send one at a time. */
const MOST_AT_WORK = 4;
const MOST_WAITING = 32;
/** A client that reads no byte of an answer for this long has gone. */
const STALLED_MS = MINUTE_MS;
/** Without a byte in either direction for this long, a connection that waits for its client makes room for others first. */
const SILENT_MS = 5_000;
/** Over which the system closes what it is asked to, before anything here has seen it. */
const HEADROOM = 256;
/** How often those who are late with their headers are looked for. */
const LOOK_MS = 5_000;
/** Longer than a reverse proxy keeps an idle connection, lest it reuse one that is just being closed. */
const KEEP_ALIVE_MS = 65_000;
const HEADERS_MS = 15_000;
/** Time limit of a whole upload. Messages have a shorter limit (`body.ts`). */
const REQUEST_MS = 6 * HOUR_MS;
/** A body still being sent this long after its answer is cut off. */
const LEFTOVER_MS = 30_000;

export interface HttpServerOptions {
  /** Reverse proxies: the world comes from their addresses, which are not limited as one. */
  trusted?: BlockList;
  mostConnections?: number;
  mostOfAddress?: number;
  mostOfNetwork?: number;
  stalledMs?: number;
  /** Takes the connections of requests that ask for a link; other upgrades are requests like any. */
  link?: Link | undefined;
}

/** A handler of an upgraded connection. */
export interface Link {
  isLink(request: IncomingMessage): boolean;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

/** An HTTP server for the application, not yet listening, with bounds on what a client may hold open. */
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

/** A connection and its requests, which a client may send without waiting for their answers. */
class Connection {
  readonly #socket: Socket;
  readonly #unanswered = new Set<IncomingMessage>();
  readonly #waiting: (() => void)[] = [];
  #moved = { bytes: 0, at: performance.now() };

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Calls `begin` once few enough requests before it are without an answer, and reads no further until then. */
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

  /** To be called after a long silence. A handler may take its time, and a body has a time-out of its own. */
  endIfStalled(): void {
    if (this.#unanswered.size === 0 || this.#socket.writableLength > 0) this.#socket.destroy();
  }

  /** A client that is slow makes room for those of smaller networks, and one that is silent for every client. */
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

/** Each address and network has a share of the connections, so that no client can hold all of them. Idle connections make room. */
function limitConnections(server: Server, options: HttpServerOptions, connections: WeakMap<Socket, Connection>): void {
  const { trusted, mostConnections: most = MOST_CONNECTIONS } = options;
  const { mostOfAddress = MOST_OF_ADDRESS, mostOfNetwork = MOST_OF_NETWORK } = options;
  const isShared = (address: string) => trusted !== undefined && isListed(trusted, address);
  const crowd = createCrowd({ most, mostOfAddress, mostOfNetwork, isShared });
  // Before the server's own listener, which may read a request at once.
  server.prependListener('connection', (socket: Socket) => {
    const connection = new Connection(socket);
    connections.set(socket, connection);
    const leave = crowd.enter({
      address: canonical(socket.remoteAddress ?? ''),
      state: () => connection.state(),
      leave: () => socket.destroy(),
    });
    if (leave) socket.once('close', leave);
    else socket.destroy();
  });
}

/** Requests that Node's parser refuses never reach Koa. This answers in the same format and closes the connection. */
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

import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, rm } from 'node:fs/promises';
import type { IncomingMessage, Server } from 'node:http';
import { dirname } from 'node:path';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { LINK_PATH } from '../../../proxy/link/messages.ts';
import { socketPath, SOCKET_OPTIONS, openChannel } from '../../../proxy/link/socket.ts';
import { hashToken } from '../../kernel/ids.ts';
import { createServer } from '../../kernel/node-http.ts';
import type { LinkedProxies } from './linked-proxies.ts';

/** Accepts the links of proxies. */
export interface LinkServer {
  /** Accepts links at a file-system socket that only this user can reach. */
  listenAt(path: string): Promise<void>;
  /** Whether a request opens a link. Check it before any other handler. */
  isLink(request: IncomingMessage): boolean;
  /** Accepts a link from a client with the token; others get 401. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  close(): Promise<void>;
}

const HELLO_MS = 5_000;
/** Limit on links that have not identified themselves. */
const MOST_NEW = 64;

/** `token`: '' accepts no links over HTTP. */
export function createLinkServer(proxies: LinkedProxies, token: string): LinkServer {
  const sockets = new WebSocketServer({ noServer: true, ...SOCKET_OPTIONS, clientTracking: true });
  const local: Server[] = [];
  const expected = Buffer.from(hashToken(token));
  let greeting = 0;

  function serve(socket: WebSocket, isOwn: boolean): void {
    greeting++;
    let isNew = true;
    const known = (): void => {
      if (isNew) greeting--;
      isNew = false;
      clearTimeout(late);
    };
    const late = setTimeout(() => socket.terminate(), HELLO_MS);
    openChannel(socket, (channel) => {
      const events = proxies.connect(channel, isOwn);
      return {
        ...events,
        receive(text) {
          events.receive(text);
          known();
        },
        closed() {
          known();
          events.closed();
        },
      };
    });
  }

  function accept(request: IncomingMessage, socket: Duplex, head: Buffer, isOwn: boolean): void {
    if (greeting >= MOST_NEW) return refuse(socket, '503 Service Unavailable');
    sockets.handleUpgrade(request, socket, head, (opened) => serve(opened, isOwn));
  }

  return {
    async listenAt(path) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await rm(path, { force: true });
      const server = createServer((_request, response) => response.writeHead(426).end());
      server.on('upgrade', (request, socket, head) => accept(request, socket, head, true));
      server.listen(socketPath(path));
      await once(server, 'listening');
      await chmod(path, 0o600);
      local.push(server);
    },
    isLink: ({ url, headers }) =>
      token !== '' && url?.split('?')[0] === LINK_PATH && headers.upgrade?.toLowerCase() === 'websocket',
    upgrade(request, socket, head) {
      const [, given = ''] = /^Bearer (\S{1,512})$/.exec(request.headers.authorization ?? '') ?? [];
      // Compares in constant time.
      const isRight = token !== '' && timingSafeEqual(Buffer.from(hashToken(given)), expected);
      if (isRight) accept(request, socket, head, false);
      else refuse(socket, '401 Unauthorized');
    },
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      await Promise.all(local.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

function refuse(socket: Duplex, status: string): void {
  socket.on('error', () => {});
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

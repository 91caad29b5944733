import type { AddressInfo, BlockList } from 'node:net';
import type { Duplex } from 'node:stream';
import type Koa from 'koa';
import { listenAt } from '../../proxy/listen.ts';
import type { OnClose } from '../kernel/closers.ts';
import { type Link, createHttpServer } from './http-server.ts';

export interface ListenOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Reverse proxies: their addresses stand for many clients. */
  trusted?: BlockList;
  /** Handles upgrades that request a link. */
  link?: Link | undefined;
  onClose: OnClose;
}

/** Serves an application over HTTP. Rejects if the port is unavailable. */
export async function listenHttp(
  app: Pick<Koa, 'callback'>,
  { host, port, trusted, link, onClose }: ListenOptions,
): Promise<AddressInfo> {
  const server = createHttpServer(app, { link, ...(trusted && { trusted }) });
  // Upgraded connections. The server no longer counts them, but closing waits for them.
  const links = new Set<Duplex>();
  if (link)
    server.on('upgrade', (_request, socket) => {
      links.add(socket);
      socket.once('close', () => links.delete(socket));
    });
  const address = await listenAt(server, { host, port });
  onClose(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        for (const socket of links) socket.destroy();
      }),
  );
  return address;
}

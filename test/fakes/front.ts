import { once } from 'node:events';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import type { ExecutionContext } from 'ava';
import { FrameReader, encodeFrame, encodeString, readFrame } from '../../proxy/codec.ts';

/** A login at the fake front. */
export interface FakeLogin {
  host: string;
  port: number;
  protocol: number;
  name: string;
  socket: Socket;
  /** Resolves with the next packet of the client. */
  next: () => Promise<FrameReader>;
}

/**
 * A proxy or game for one client at a time: answers status requests with `status`, and passes logins to `login`. A null
 * status closes the connection.
 */
export async function fakeFront(
  t: ExecutionContext,
  login: (login: FakeLogin) => unknown = () => undefined,
  status: object | null = { version: { name: '1.20.4', protocol: 765 }, description: 'A §6castle' },
): Promise<{ port: number; logins: FakeLogin[] }> {
  const logins: FakeLogin[] = [];
  const sockets = new Set<Socket>();
  const serve = async (socket: Socket) => {
    let bytes = Buffer.alloc(0);
    const chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const next = async (): Promise<FrameReader> => {
      for (;;) {
        const frame = readFrame(bytes, 65_536);
        if (frame) {
          bytes = bytes.subarray(frame.size);
          return new FrameReader(frame.value);
        }
        const { value, done } = await chunks.next();
        if (done) throw new Error('the client has left');
        bytes = Buffer.concat([bytes, value]);
      }
    };
    const opening = await next();
    opening.varInt();
    const [protocol, host, port] = [opening.varInt(), opening.string(255), opening.unsignedShort()];
    const isStatus = opening.varInt() === 1;
    const request = await next();
    if (isStatus) {
      if (status === null) socket.destroy();
      else socket.end(encodeFrame(0, encodeString(JSON.stringify(status))));
      return;
    }
    request.varInt();
    const joined = { host, port, protocol, name: request.string(16), socket, next };
    logins.push(joined);
    await login(joined);
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    serve(socket).catch(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { port: (server.address() as AddressInfo).port, logins };
}

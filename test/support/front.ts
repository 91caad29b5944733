import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import type { ExecutionContext } from 'ava';
import { FrameReader, encodeFrame, encodeString, encodeVarInt, readFrame } from '../../proxy/codec.ts';
import { FRAME_LIMIT } from '../../proxy/handshake.ts';

/** The server that a front connects to, and the local address it connects from. */
interface Behind {
  port: number;
  from: string;
}

/**
 * Starts a small proxy in front of another, which forwards what `forward` returns for the host that a client names, and
 * relays everything else. Returns its port.
 */
export async function startFront(t: ExecutionContext, behind: Behind, forward: (host: string) => string) {
  const sockets = new Set<Socket>();
  const front = createServer((client) => {
    const backend = connect({ host: '127.0.0.1', port: behind.port, localAddress: behind.from });
    for (const [socket, other] of [
      [client, backend],
      [backend, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true).on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
    let bytes = Buffer.alloc(0);
    client.on('data', function read(chunk) {
      bytes = Buffer.concat([bytes, chunk]);
      const frame = readFrame(bytes, FRAME_LIMIT.handshake);
      if (!frame) return;
      client.off('data', read);
      backend.write(Buffer.concat([forwarded(frame.value, forward), bytes.subarray(frame.size)]));
      client.pipe(backend).pipe(client);
    });
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    front.close();
  });
  return (front.address() as AddressInfo).port;
}

/** Returns a handshake with the forwarded data in its server address. */
function forwarded(handshake: Buffer, forward: (host: string) => string): Buffer {
  const reader = new FrameReader(handshake);
  reader.varInt();
  const protocol = encodeVarInt(reader.varInt());
  const address = encodeString(forward(reader.string(255)));
  return encodeFrame(0, protocol, address, reader.bytes(reader.remaining));
}

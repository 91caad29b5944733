import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const TRIES = 250;
const PAUSE_MS = 20;

/** Returns a free port of the loopback. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Waits until a starting program listens. Returns false if it does not within some seconds. */
export async function opens(port: number): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries++) {
    const socket = connect({ host: '127.0.0.1', port });
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return true;
    await delay(PAUSE_MS);
  }
  return false;
}

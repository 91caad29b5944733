import { once } from 'node:events';
import { type ListenOptions, type Server, createServer } from 'node:net';
import { EngineError } from '../engine.ts';

/** Below the range of ephemeral ports, which an outgoing connection could use while a game starts. */
export const DEFAULT_PORT_RANGE = { from: 27_000, to: 31_999 };

export interface PortRange {
  from: number;
  to: number;
}

/** Ports that no other service on this machine chooses until they are released or this process ends. */
export interface HeldPorts {
  ports: number[];
  release: () => void;
}

/**
 * Holds `count` loopback ports that are currently free and not in `taken`. A game listens only once its world is
 * loaded, so they are held for it until then. Rejects with EngineError `port_in_use` if there are not enough.
 */
export async function holdPorts(count: number, range: PortRange, taken: ReadonlySet<number>): Promise<HeldPorts> {
  const size = range.to - range.from + 1;
  // Start at a random port, so that two installations on one machine seldom try the same ones.
  const offset = Math.floor(Math.random() * size);
  const ports: number[] = [];
  const holds: Server[] = [];
  const release = () => {
    for (const hold of holds.splice(0)) hold.close();
  };
  for (let step = 0; step < size && ports.length < count; step += 1) {
    const port = range.from + ((offset + step) % size);
    if (taken.has(port)) continue;
    const hold = await holdOf(port);
    if (hold && (await isFree(port))) {
      ports.push(port);
      holds.push(hold);
    } else hold?.close();
  }
  if (ports.length === count) return { ports, release };
  release();
  throw new EngineError('port_in_use', `No port between ${range.from} and ${range.to} is free.`, {
    suggestion: 'Stop another server, or ask the operator to free some of these ports.',
  });
}

/**
 * Listens at an abstract socket name for the port (man 7 unix), which only one process of this machine can do. The port
 * itself stays free for the game. Returns undefined if another process listens. Systems without such names hold no
 * ports.
 */
async function holdOf(port: number): Promise<Server | undefined> {
  try {
    return await listen({ path: `\0dormouse-port-${port}` });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? undefined : createServer();
  }
}

async function isFree(port: number): Promise<boolean> {
  try {
    const server = await listen({ port, host: '127.0.0.1' });
    await new Promise((resolve) => server.close(resolve));
    return true;
  } catch {
    return false;
  }
}

async function listen(options: ListenOptions): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).listen(options);
  await once(server, 'listening');
  return server.unref();
}

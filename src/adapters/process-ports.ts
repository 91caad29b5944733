import { createServer } from 'node:net';
import { EngineError } from '../ports.ts';

/** Below the range from which systems take the ports of outgoing connections, which could seize one while a game starts. */
export const DEFAULT_PORT_RANGE = { from: 27_000, to: 31_999 };

export interface PortRange {
  from: number;
  to: number;
}

/** As many loopback ports that are free now and not in `taken`. Rejects with EngineError `port_in_use` where there are none. */
export async function freePorts(count: number, range: PortRange, taken: ReadonlySet<number>): Promise<number[]> {
  const size = range.to - range.from + 1;
  // From somewhere in the middle, so that two installations on one machine seldom try the same.
  const offset = Math.floor(Math.random() * size);
  const found: number[] = [];
  for (let step = 0; step < size && found.length < count; step += 1) {
    const port = range.from + ((offset + step) % size);
    if (!taken.has(port) && (await isFree(port))) found.push(port);
  }
  if (found.length === count) return found;
  throw new EngineError('port_in_use', `No port between ${range.from} and ${range.to} is free.`, {
    suggestion: 'The operator can widen the range of ports.',
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

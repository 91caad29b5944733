import { type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startChild } from './children.ts';

export const HAS_HAPROXY = spawnSync('haproxy', ['-v']).status === 0;

/** '' or what to say of figures that have no peer. */
export const noHaproxyNote = HAS_HAPROXY ? '' : 'haproxy is not installed: no ratios';

/** HAProxy on one core, in front of the game at `gamePort`. */
export async function startHaproxy(gamePort: number): Promise<{ child: ChildProcess; port: number } & AsyncDisposable> {
  const folder = mkdtempSync(join(tmpdir(), 'haproxy-bench-'));
  const port = await freePort();
  const config = join(folder, 'haproxy.cfg');
  const times = 'timeout connect 3s\n timeout client 1h\n timeout server 1h';
  const ends = `bind 127.0.0.1:${port}\n server game 127.0.0.1:${gamePort}`;
  writeFileSync(config, `global\n nbthread 1\ndefaults\n mode tcp\n ${times}\nlisten relay\n ${ends}\n`);
  const child = startChild(0, 'haproxy', ['-db', '-q', '-f', config]);
  const stop = async (): Promise<void> => {
    child.kill();
    rmSync(folder, { recursive: true });
  };
  try {
    await opened(port);
  } catch (error) {
    await stop();
    throw error;
  }
  return { child, port, [Symbol.asyncDispose]: stop };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function opened(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const socket = connect({ host: '127.0.0.1', port });
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await delay(20);
  }
  throw new Error('haproxy does not listen');
}

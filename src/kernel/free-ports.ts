import { createServer } from 'node:net';
import { listenAt } from '../../proxy/listen.ts';

/** A TCP port of this machine; 0 stands for any free one. */
export interface Port {
  host: string;
  port: number;
}

const NOT_TO_BE_HAD = new Set(['EADDRINUSE', 'EACCES']);

/**
 * Rejects with the system's error (EADDRINUSE, EACCES) if one of these ports cannot be listened on now. This does not
 * cover later changes or host names that this machine lacks: the real listener reports those.
 */
export async function requireFreePorts(ports: readonly Port[]): Promise<void> {
  for (const { host, port } of ports) {
    if (port === 0) continue;
    const server = createServer();
    try {
      await listenAt(server, { host, port, exclusive: true });
    } catch (error) {
      if (NOT_TO_BE_HAD.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    } finally {
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    }
  }
}

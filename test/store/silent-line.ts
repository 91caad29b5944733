import { once } from 'node:events';
import { type AddressInfo, type Socket, createServer, createConnection } from 'node:net';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';

/** A line to a database that can go silent without an error at either end. */
export interface SilentLine {
  /** The URL of the database through this line. */
  url: string;
  /** Keeps open connections open, but carries no more data. `also`: silences new connections too. */
  silence(also?: 'new ones'): void;
  /** Breaks the connection of the next COMMIT: before the database receives it, or after the database has answered. */
  breakAtCommit(when: 'before' | 'after'): void;
  /** Ends new connections at once while `on`. */
  refuse(on: boolean): void;
  /** The number of connections so far. */
  made(): number;
}

/** Forwards TCP connections to a database of the tests' own PostgreSQL, which listens on a socket. */
export async function silentLine(t: ExecutionContext, databaseUrl: string): Promise<SilentLine> {
  const { hostname, pathname } = new URL(databaseUrl);
  const path = join(decodeURIComponent(hostname), '.s.PGSQL.5432');
  const ends = new Set<Socket>();
  let isDeaf = false;
  let isRefusing = false;
  let breaksAt: 'before' | 'after' | undefined;
  let made = 0;
  const server = createServer((near) => {
    made++;
    ends.add(near.on('error', () => {}));
    if (isRefusing) near.destroy();
    if (isRefusing || isDeaf) return;
    const far = createConnection(path);
    ends.add(far.on('error', () => {}));
    near.on('data', (sent: Buffer) => {
      if (breaksAt === undefined || !sent.includes('COMMIT')) return;
      if (breaksAt === 'before') {
        far.destroy();
        near.destroy();
      } else {
        far.unpipe(near);
        far.once('data', () => near.destroy());
      }
      breaksAt = undefined;
    });
    near.pipe(far);
    far.pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const end of ends) end.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://dormouse@127.0.0.1:${port}${pathname}`,
    silence(also) {
      isDeaf = also !== undefined;
      for (const end of ends) end.unpipe().pause();
    },
    breakAtCommit: (when) => void (breaksAt = when),
    refuse: (on) => void (isRefusing = on),
    made: () => made,
  };
}

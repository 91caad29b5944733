import { once } from 'node:events';
import { type AddressInfo, type Socket, createServer, createConnection } from 'node:net';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';

/** A line to a database on which nothing comes through any more when it is told so, and nobody is told. */
export interface SilentLine {
  /** The database, by this line. */
  url: string;
  /** Connections that are open stay so and carry nothing; `also`: those that are made from now on too. */
  silence(also?: 'new ones'): void;
  /** The next COMMIT breaks its connection: before the database gets it, or when the database has answered it. */
  breakAtCommit(when: 'before' | 'after'): void;
  /** New connections end at once, or no more. */
  refuse(on: boolean): void;
  /** How many connections have been made. */
  made(): number;
}

/** A forwarder over TCP to a database that the tests' own PostgreSQL has on its socket. */
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

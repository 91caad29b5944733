import { type Pool, type PoolConnection, type SslOptions, createPool } from 'mysql2/promise';
import { MINUTE_MS } from '../kernel/units.ts';

const CONNECT_MS = 5_000;

/** Connections to a database server, one at a time. */
export interface Connections {
  /** To be released. Rejects where the server is out of reach, or does not let this account in. */
  take(): Promise<PoolConnection>;
  close(): Promise<void>;
}

/**
 * Connects when first asked. `auto` encrypts where the server offers it, and takes whatever certificate it shows, as most
 * make their own: that keeps out who listens, not who pretends to be the server. `verify` keeps out both.
 */
export function openConnections(adminUrl: string, tls: 'auto' | 'verify' | 'off'): Connections {
  let pool = open(
    adminUrl,
    tls === 'off' ? undefined : { rejectUnauthorized: tls === 'verify', verifyIdentity: tls === 'verify' },
  );
  return {
    async take() {
      const asked = pool;
      try {
        return await asked.getConnection();
      } catch (error) {
        if (tls !== 'auto' || (error as { code?: string }).code !== 'HANDSHAKE_NO_SSL_SUPPORT') throw error;
        // If several callers find out at once, one opens the other pool. The next run of the service tries
        // encryption again.
        if (pool === asked) {
          pool = open(adminUrl, undefined);
          void asked.end().catch(() => {});
        }
        return pool.getConnection();
      }
    },
    close: () => pool.end(),
  };
}

function open(adminUrl: string, ssl: SslOptions | undefined): Pool {
  const { hostname, port, username, password } = new URL(adminUrl);
  return createPool({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 3_306 : Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    ...(ssl !== undefined && { ssl }),
    connectionLimit: 1,
    queueLimit: 1_000,
    connectTimeout: CONNECT_MS,
    enableKeepAlive: true,
    idleTimeout: MINUTE_MS,
    maxIdle: 0,
  });
}

import { type Pool, type PoolConnection, type SslOptions, createPool } from 'mysql2/promise';
import { MINUTE_MS } from '../kernel/units.ts';

const CONNECT_MS = 5_000;

/** Connections to a database server, one at a time. */
export interface Connections {
  /**
   * Returns the connection; the caller releases it. Rejects if the server cannot be reached or refuses this account.
   */
  take(): Promise<PoolConnection>;
  close(): Promise<void>;
}

/**
 * Connects on first use. `auto` encrypts if the server offers it and accepts any certificate, because most servers
 * create their own: this protects against eavesdroppers, but not against impostors. `verify` protects against both.
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
        // If several callers fail at once, only the first replaces the pool. The next run of the service tries
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

import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { listenAt } from '../../proxy/listen.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import { sweepDrafts } from '../kernel/atomic-file.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import type { Tables } from './data-source.ts';
import { storeError } from './errors.ts';
import { type Lease, type Waiting, acquireLease } from './lease.ts';
import { type Secret, openSecret, requireSecret } from './secret.ts';
import { type Store, openStore } from './store.ts';

/** State that outlives the process. */
export interface Installation {
  store: Store;
  secret: Secret;
  lease: Lease;
}

export interface InstallationOptions {
  dataDir: string;
  databaseUrl: string;
  tables: Tables;
  /** Returns the ports that the service will listen on but does not yet. Called just before the lease is taken. */
  ports: () => Promise<readonly Port[]>;
  /**
   * Waits for the lease and for the database. Default: rejects if another process holds the installation or the
   * database is unreachable.
   */
  waiting?: Waiting | undefined;
  clock: Clock;
  log: Log;
  onClose: OnClose;
  /** Called when another process has taken over the database. */
  onLost: () => void;
}

/** Files of the data directory readable by this user alone. */
const SECRETS = new Set(['secret.key', 'first-run.json', 'ssh_host_ed25519_key', 'restic-password']);
/** Between two attempts to reach the database. */
const PAUSE_MS = 1_000;

/**
 * Opens the database for this process alone and migrates it. Rejects if the database cannot be used, or if a port is
 * taken while another process may hold the database.
 */
export async function openInstallation(options: InstallationOptions): Promise<Installation> {
  const { dataDir, ports, waiting, clock, log, onClose, onLost } = options;
  await mkdir(dataDir, { recursive: true, mode: 0o750 });
  const store = await openSoon(options);
  onClose(() => store.close());
  if (waiting) await requireSecret(store, dataDir);
  const beforeTaking = async () => {
    await store.requireKnown();
    await requireFreePorts(await ports());
  };
  const lease = await acquireLease(store, { clock, log, onLost, beforeTaking, waiting });
  onClose(() => lease.release());
  await store.migrate();
  // A draft of a secret contains a secret, too.
  await sweepDrafts(dataDir, (name) => SECRETS.has(name));
  return { store, secret: await openSecret(store, dataDir), lease };
}

/** Opens the database. A process that waits for another one also waits for a database that is unreachable. */
async function openSoon({ databaseUrl, tables, waiting }: InstallationOptions): Promise<Store> {
  for (;;) {
    waiting?.signal.throwIfAborted();
    try {
      return await openStore(databaseUrl, tables);
    } catch (error) {
      const trouble = storeError(error);
      if (!waiting || !(trouble instanceof StatusError && trouble.code === 'UNAVAILABLE')) throw error;
      waiting.onHeld(undefined);
    }
    await delay(PAUSE_MS);
  }
}

/** A TCP port of this machine; 0 stands for any free one. */
interface Port {
  host: string;
  port: number;
}

const NOT_TO_BE_HAD = new Set(['EADDRINUSE', 'EACCES']);

/**
 * Rejects with the system's error (EADDRINUSE, EACCES) if one of these ports cannot be listened on now. This does not
 * cover later changes or host names that this machine lacks: the real listener reports those.
 */
async function requireFreePorts(ports: readonly Port[]): Promise<void> {
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

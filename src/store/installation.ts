import { mkdir } from 'node:fs/promises';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import { sweepDrafts } from '../kernel/drafts.ts';
import { type Port, requireFreePorts } from '../kernel/free-ports.ts';
import type { Log } from '../kernel/log.ts';
import type { Tables } from './data-source.ts';
import { acquireLease } from './lease.ts';
import { type Secret, openSecret } from './secret.ts';
import { type Store, openStore } from './store.ts';

/** What outlives the process. */
export interface Installation {
  store: Store;
  secret: Secret;
}

export interface InstallationOptions {
  dataDir: string;
  databaseUrl: string;
  tables: Tables;
  /** All that the service is going to listen on. */
  ports: readonly Port[];
  clock: Clock;
  log: Log;
  onClose: OnClose;
  /** Another process has taken the database over. */
  onLost: () => void;
}

/** Files of the data directory that nobody else may read. */
const SECRETS = new Set(['secret.key', 'first-run.json', 'ssh_host_ed25519_key']);

/**
 * Opens the database for this process alone and brings it up to date. Rejects with StatusError where it cannot be had, or where
 * one of the ports is taken and another process may hold the database.
 */
export async function openInstallation(options: InstallationOptions): Promise<Installation> {
  const { dataDir, databaseUrl, tables, ports, clock, log, onClose, onLost } = options;
  await mkdir(dataDir, { recursive: true, mode: 0o750 });
  const store = await openStore(databaseUrl, tables);
  onClose(() => store.close());
  const lease = await acquireLease(store, { clock, log, onLost, beforeTaking: () => requireFreePorts(ports) });
  onClose(() => lease.release());
  await store.migrate();
  // A draft of a secret holds one, too.
  await sweepDrafts(dataDir, (name) => SECRETS.has(name));
  return { store, secret: await openSecret(store, dataDir) };
}

import { mkdir } from 'node:fs/promises';
import { openWallet } from '../billing/ledger.ts';
import type { Config } from '../config.ts';
import { type ConsolePasswords, openConsolePasswords } from '../engines/console/passwords.ts';
import { sweepDrafts } from '../kernel/drafts.ts';
import { type Port, requireFreePorts } from '../kernel/free-ports.ts';
import { type FirstRun, type FirstRunFile, firstRun, openFirstRunFile } from '../people/first-run.ts';
import type { Tables } from '../store/data-source.ts';
import { acquireLease } from '../store/lease.ts';
import { type Secret, openSecret } from '../store/secret.ts';
import { type Store, type Tx, openStore } from '../store/store.ts';
import type { Startup } from './startup.ts';

/** What outlives the process. */
export interface Installation {
  store: Store;
  secret: Secret;
  consolePasswords: ConsolePasswords;
  rconPassword: (serverId: string) => string;
  /** The operator's credentials; only on an empty database. */
  operator: FirstRun | undefined;
  firstRunFile: FirstRunFile;
  /** Gives a new account its wallet, in the write that makes it. */
  onAccount: (tx: Tx, accountId: string, at: number) => Promise<void>;
}

/** Files of the data directory that nobody else may read. */
const SECRETS = new Set(['secret.key', 'first-run.json', 'ssh_host_ed25519_key']);

/**
 * Opens the database for this process alone and brings it up to date. `onLost` is called when another has taken it over. Rejects
 * with StatusError where it cannot be had.
 */
export async function openInstallation(
  { config, log, clock, onClose }: Startup,
  tables: Tables,
  onLost: () => void,
): Promise<Installation> {
  const { dataDir, baseUrl } = config;
  await mkdir(dataDir, { recursive: true, mode: 0o750 });
  const store = await openStore(config.databaseUrl, tables);
  onClose(() => store.close());
  const lease = await acquireLease(store, {
    clock,
    log,
    onLost,
    beforeTaking: () => requireFreePorts(portsOf(config)),
  });
  onClose(() => lease.release());
  await store.migrate();
  // A draft of a secret holds one, too.
  await sweepDrafts(dataDir, (name) => SECRETS.has(name));
  const secret = await openSecret(store, dataDir);
  const onAccount = async (tx: Tx, id: string, at: number) =>
    void (await openWallet(tx, id, at, config.signupCreditMicros));
  const operator = await firstRun(store, { clock, dataDir, baseUrl, onAccount });
  const firstRunFile = await openFirstRunFile(dataDir, log);
  const consolePasswords = await openConsolePasswords(store, secret);
  const rconPassword = (serverId: string) => consolePasswords.of(serverId);
  return { store, secret, consolePasswords, rconPassword, operator, firstRunFile, onAccount };
}

/** All that the service listens on. */
function portsOf({ httpHost, httpPort, proxyHost, proxyPort, sftpHost, sftpPort }: Config): Port[] {
  return [
    { host: httpHost, port: httpPort },
    { host: proxyHost, port: proxyPort },
    { host: sftpHost, port: sftpPort },
  ];
}

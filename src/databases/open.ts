import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';
import type { Secret } from '../store/secret.ts';
import type { Store } from '../store/store.ts';
import { type ServerDatabases, createServerDatabases } from './databases.ts';
import type { MysqlOptions } from './mysql.ts';

export interface DatabasesSettings {
  /** Null: there is no database server. */
  mysqlAdminUrl: string | null;
  mysqlGameHosts: readonly string[];
  mysqlTls: MysqlOptions['tls'];
}

export interface OpenDatabasesOptions {
  store: Store;
  secret: Secret;
  settings: DatabasesSettings;
  clock: Clock;
  log: Log;
  onClose: OnClose;
}

/** Servers' databases; undefined where no database server is set. */
export async function openDatabases(options: OpenDatabasesOptions): Promise<ServerDatabases | undefined> {
  const { store, secret, settings, clock, log, onClose } = options;
  if (settings.mysqlAdminUrl === null) return undefined;
  // Only here, so that nobody else pays for it.
  const { createMysqlDatabases } = await import('./mysql.ts');
  const databases = createMysqlDatabases(settings.mysqlAdminUrl, {
    hosts: settings.mysqlGameHosts,
    tls: settings.mysqlTls,
  });
  const opened = createServerDatabases({ store, clock, databases, secret, log });
  onClose(() => opened.close());
  return opened;
}

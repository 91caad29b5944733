/** A server's own MySQL database, created and removed with one call. Never stores a password. */
import type { Address } from '../kernel/address.ts';
import type { Shared } from '../servers/shared.ts';
import type { Secret } from '../store/secret.ts';
import type { Feature } from '../web/feature.ts';
import { databaseOperations } from './api.ts';
import type { Databases } from './database-server.ts';
import { ServerDatabases } from './databases.ts';
import type { MysqlOptions } from './mysql.ts';
import { mountDatabase } from './pages.ts';

export interface DatabasesSettings {
  /** Null without a database server. */
  mysqlAdminUrl: string | null;
  mysqlGameHosts: readonly string[];
  mysqlTls: MysqlOptions['tls'];
}

/** Opens the configured database server; undefined without one. */
export async function openMysql(settings: DatabasesSettings): Promise<Databases | undefined> {
  const { mysqlAdminUrl, mysqlGameHosts: hosts, mysqlTls: tls } = settings;
  if (mysqlAdminUrl === null) return undefined;
  // Imported on demand, to keep other starts fast.
  const { createMysqlDatabases } = await import('./mysql.ts');
  return createMysqlDatabases(mysqlAdminUrl, { hosts, tls });
}

export interface OpenDatabasesOptions extends Shared {
  secret: Secret;
  /** Undefined: servers have no databases. */
  port: Databases | undefined;
  /** The address of the database server for games. */
  mysqlAddress: Address;
}

/** Opens the servers' databases, with their API and pages. `databases` is undefined without a database server. */
export function openDatabases(options: OpenDatabasesOptions): {
  databases: ServerDatabases | undefined;
  feature: Feature;
} {
  const { store, secret, port, serverOperation, mysqlAddress, clock, log, onClose } = options;
  const databases = port && new ServerDatabases({ store, clock, databases: port, secret, log });
  onClose(() => databases?.close());
  const config = { mysqlAddress };
  const operations = databaseOperations({ databases, serverOperation, clock, config });
  return { databases, feature: { operations, panel: mountDatabase } };
}

/** A server's own MySQL database, created and removed with one call. Never stores a password. */
import type { Address } from '../kernel/address.ts';
import type { Shared } from '../servers/shared.ts';
import type { Secret } from '../store/secret.ts';
import type { Feature } from '../web/feature.ts';
import { databaseOperations } from './api.ts';
import { type Databases, ServerDatabases } from './databases.ts';
import type { MysqlTls } from './mysql.ts';
import { mountDatabase } from './pages.ts';

/** Opens the configured database server; undefined without one. */
export async function openMysql(settings: {
  mysqlAdminUrl: string | null;
  mysqlGameHosts: readonly string[];
  mysqlTls: MysqlTls;
}): Promise<Databases | undefined> {
  const { mysqlAdminUrl, mysqlGameHosts: hosts, mysqlTls: tls } = settings;
  if (mysqlAdminUrl === null) return undefined;
  // Imported on demand, to keep other starts fast.
  const { createMysqlDatabases } = await import('./mysql.ts');
  return createMysqlDatabases(mysqlAdminUrl, { hosts, tls });
}

/**
 * Opens the servers' databases, with their API and pages. Without `port`, servers have none. `mysqlAddress`: of the
 * database server, for games.
 */
export function openDatabases(
  shared: Shared,
  secret: Secret,
  port: Databases | undefined,
  mysqlAddress: Address,
): { databases: ServerDatabases | undefined; feature: Feature } {
  const databases = port && new ServerDatabases(shared, port, secret);
  shared.onClose(() => databases?.close());
  const operations = databaseOperations(shared, databases, mysqlAddress);
  return {
    databases,
    feature: { operations, panel: (panel) => mountDatabase(panel, { isOffered: databases !== undefined }) },
  };
}

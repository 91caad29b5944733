import { SANDBOX, isProxy } from './cores.ts';
import { MANAGEMENT_PORT } from '../engines/engine.ts';
import { createHmac } from 'node:crypto';
import { compareVersions } from './minecraft-version.ts';
import type { OwnerSettings } from './settings.ts';

/** The first release with a management port (https://minecraft.wiki/w/Minecraft_Server_Management_Protocol). */
const SINCE = '1.21.9';

/** The part of a server's row that decides whether its game has a management port. */
export type ManagedRow = Pick<OwnerSettings, 'type' | 'version'>;

/**
 * Whether a server's game is known to have a management port. The sandbox without a version counts as the newest
 * release.
 */
export function hasManagement({ type, version }: ManagedRow): boolean {
  if (version === '') return type === SANDBOX;
  return !isProxy(type) && (compareVersions(version, SINCE) ?? -1) >= 0;
}

/**
 * Returns the secret of a server's management port: 40 letters and digits, as games require. Derived from the console's
 * password, which it does not reveal; both grant the same access and are in the same file.
 */
export function managementSecret(rconPassword: string): string {
  return createHmac('sha256', rconPassword).update('management').digest('hex').slice(0, 40);
}

/** The properties of the management port: open if the game has one, and only for clients with the secret. */
export function managementProperties(row: ManagedRow, rconPassword: string): [string, string][] {
  if (!hasManagement(row)) return [['management-server-enabled', 'false']];
  return [
    ['management-server-enabled', 'true'],
    // The port is as reachable as the console: only from the game's own network, because it is not published.
    ['management-server-host', '0.0.0.0'],
    ['management-server-port', String(MANAGEMENT_PORT)],
    ['management-server-secret', managementSecret(rconPassword)],
    // On by default and would require a certificate; the connection stays on one network of this machine.
    ['management-server-tls-enabled', 'false'],
    // Only browsers send an origin, and they must not use the port.
    ['management-server-allowed-origins', ''],
  ];
}

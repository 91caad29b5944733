import { createHmac } from 'node:crypto';
import { MANAGEMENT_PORT, SANDBOX } from './container.ts';
import { compareVersions } from './minecraft-version.ts';
import type { OwnerSettings } from './settings.ts';

/** The first release that has a management port (https://minecraft.wiki/w/Minecraft_Server_Management_Protocol). */
const SINCE = '1.21.9';

/** The part of a server's row that decides whether its game has a management port. */
export type ManagedRow = Pick<OwnerSettings, 'type' | 'version'>;

/** Whether the game of a server is known to have a management port; the sandbox without a version is the newest release. */
export function hasManagement({ type, version }: ManagedRow): boolean {
  if (version === '') return type === SANDBOX;
  return (compareVersions(version, SINCE) ?? -1) >= 0;
}

/**
 * The secret of a server's management port: 40 letters and digits, as games demand. Derived from the password of its
 * console, which it does not reveal; both open as much and lie in the same file.
 */
export function managementSecret(rconPassword: string): string {
  return createHmac('sha256', rconPassword).update('management').digest('hex').slice(0, 40);
}

/** The properties of the management port: open if the game has one, and only for clients with the secret. */
export function managementProperties(row: ManagedRow, rconPassword: string): [string, string][] {
  if (!hasManagement(row)) return [['management-server-enabled', 'false']];
  return [
    ['management-server-enabled', 'true'],
    // As reachable as the console: from the game's own network only, where nothing is published.
    ['management-server-host', '0.0.0.0'],
    ['management-server-port', String(MANAGEMENT_PORT)],
    ['management-server-secret', managementSecret(rconPassword)],
    // It is on by default and would need a certificate; the way is one network of this machine.
    ['management-server-tls-enabled', 'false'],
    // Only pages in browsers send an origin, and none may use the port.
    ['management-server-allowed-origins', ''],
  ];
}

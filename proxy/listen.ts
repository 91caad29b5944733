import { once } from 'node:events';
import type { AddressInfo, ListenOptions, Server } from 'node:net';

/** Error codes of a machine without IPv6. */
const NO_IPV6: ReadonlySet<unknown> = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL']);

/**
 * Opens a listener and resolves with its address. On a machine without IPv6, `::` means all IPv4 addresses. Rejects
 * with the system's error if the port cannot be opened.
 */
export async function listenAt(server: Server, where: ListenOptions & { host: string }): Promise<AddressInfo> {
  try {
    server.listen(where);
    await once(server, 'listening');
    return server.address() as AddressInfo;
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && NO_IPV6.has(error.code);
    if (where.host !== '::' || !isMissing) throw error;
    return await listenAt(server, { ...where, host: '0.0.0.0' });
  }
}

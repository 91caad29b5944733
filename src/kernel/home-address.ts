import { networkInterfaces } from 'node:os';

const PRIVATE = /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)/;
const EVERY_CARD: ReadonlySet<string> = new Set(['::', '0.0.0.0']);

/**
 * Returns this machine's first private IPv4 address (RFC 1918); undefined without one. Ignores the interfaces of
 * containers and virtual machines.
 */
export function homeAddressOf(interfaces = networkInterfaces()): string | undefined {
  return Object.entries(interfaces)
    .filter(([name]) => !/^(?:docker|br-|veth|virbr)/.test(name))
    .flatMap(([, addresses = []]) => addresses)
    .find(({ family, internal, address }) => family === 'IPv4' && !internal && PRIVATE.test(address))?.address;
}

/**
 * Returns the address at which other devices in the network reach `host`; undefined unless `host` listens on all
 * interfaces. Also undefined inside a container, where the machine's address is unknown.
 */
export function homeHost(host: string, inContainer: boolean): string | undefined {
  return !inContainer && EVERY_CARD.has(host) ? homeAddressOf() : undefined;
}

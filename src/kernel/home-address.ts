import { networkInterfaces } from 'node:os';

const PRIVATE = /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)/;
const EVERY_CARD: ReadonlySet<string> = new Set(['::', '0.0.0.0']);

/** This machine's first private IPv4 address (RFC 1918), where it has one. */
export function homeAddressOf(interfaces = networkInterfaces()): string | undefined {
  return Object.entries(interfaces)
    .filter(([name]) => !/^(?:docker|br-|veth|virbr)/.test(name))
    .flatMap(([, addresses = []]) => addresses)
    .find(({ family, internal, address }) => family === 'IPv4' && !internal && PRIVATE.test(address))?.address;
}

/**
 * Returns the address of `host` for other devices in the network; undefined without one. It cannot be known inside
 * a container.
 */
export function homeHost(host: string, inContainer: boolean): string | undefined {
  return !inContainer && EVERY_CARD.has(host) ? homeAddressOf() : undefined;
}

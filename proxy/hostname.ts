/** Host names in the form that nearly all clients send. */
const PLAIN = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/;

/** The start of Floodgate's data about a Bedrock player. */
export const FLOODGATE = '^Floodgate^';
/**
 * The start of what mod loaders (`\0FML2\0`), forwarding proxies (`host\0ip\0uuid`), Floodgate and filters
 * (`host///ip`, `host\\ip`) append to a host.
 */
const AFTER_HOST = /\0|\/\/\/|\\|\^Floodgate\^/;
/** Floodgate's data may also come first. */
const BEFORE_HOST = /^\^Floodgate\^[^\0]*\0/;
/** The service part of an SRV record's name (RFC 2782), which some clients send instead of its target. */
const SRV_SERVICE = '_minecraft._tcp.';

/**
 * Returns the name to look up a server by, from the server address of a handshake: lower case, without port, trailing
 * dots and additions. For routing only: the game gets the address as the client sent it.
 */
export function lookupKey(serverAddress: string): string {
  if (PLAIN.test(serverAddress)) return serverAddress;
  const host = hostBefore(serverAddress) ?? serverAddress;
  const name = withoutDots(withoutPort(withoutDots(host))).toLowerCase();
  return name.startsWith(SRV_SERVICE) ? name.slice(SRV_SERVICE.length) : name;
}

/** Returns the part of a server address before its additions, as sent; undefined if it has none. */
export function hostBefore(serverAddress: string): string | undefined {
  const address = serverAddress.replace(BEFORE_HOST, '');
  const end = address.search(AFTER_HOST);
  if (end >= 0) return address.slice(0, end);
  return address === serverAddress ? undefined : address;
}

function withoutDots(host: string): string {
  let end = host.length;
  while (host[end - 1] === '.') end--;
  return host.slice(0, end);
}

function withoutPort(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(host);
  if (bracketed) return bracketed[1] ?? '';
  // An address with more than one colon is a bare IPv6 address.
  return host.replace(/^([^:]*):\d*$/, '$1');
}

/** The start of the keys of private ports. Upper case, so that no host name of a client leads to such a route. */
const PRIVATE = 'PORT:';

/** Returns the lookup key of the server behind a private port. */
export function keyOfPort(port: number): string {
  return `${PRIVATE}${port}`;
}

/** Returns the private port of a lookup key; undefined if it is a host name. */
export function portOfKey(key: string): number | undefined {
  return key.startsWith(PRIVATE) ? Number(key.slice(PRIVATE.length)) : undefined;
}

/** Host names used by players on the service's own machine. */
const OWN_MACHINE: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1', '0.0.0.0']);

/** The server that players reach without naming one. */
export interface Nameless {
  /** The server's host name. */
  host: string;
  /**
   * Domain of the servers' host names. Any unknown name outside this domain leads to this server. Null: only the
   * machine's own names do.
   */
  unlessBelow: string | null;
}

/** Reports whether a host name that belongs to no server leads to the server reachable without a name. */
export function isNameless(host: string, { unlessBelow }: Nameless): boolean {
  if (portOfKey(host) !== undefined) return false;
  return OWN_MACHINE.has(host) || (unlessBelow !== null && !host.endsWith(`.${unlessBelow}`));
}

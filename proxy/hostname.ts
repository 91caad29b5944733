/** Host names in the form that nearly all clients send. */
const PLAIN = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/;

/**
 * Returns the name to look up a server by, from the server address of a handshake: lower case, without port and
 * trailing dot, and without the additions of mod loaders (`\0FML2\0`), forwarding proxies (`host\0ip\0uuid`) and
 * filters (`host///ip`, `host\\ip`). For routing only: the game gets the address as the client sent it.
 */
export function lookupKey(serverAddress: string): string {
  if (PLAIN.test(serverAddress)) return serverAddress;
  const [host = ''] = serverAddress.split(/\0|\/\/\/|\\/, 1);
  return withoutPort(host).replace(/\.$/, '').toLowerCase();
}

function withoutPort(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(host);
  if (bracketed) return bracketed[1] ?? '';
  // An address with more than one colon is a bare IPv6 address.
  return host.replace(/^([^:]*):\d*$/, '$1');
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
  return OWN_MACHINE.has(host) || (unlessBelow !== null && !host.endsWith(`.${unlessBelow}`));
}

/** Host names as nearly all clients send them. */
const PLAIN = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/;

/**
 * The name to look a server up by, from the server address of a handshake: lower case, without port and trailing dot,
 * and without what mod loaders (`\0FML2\0`), forwarding proxies (`host\0ip\0uuid`) and filters (`host///ip`,
 * `host\\ip`) append to it. For routing only: the game gets the address as the client sent it.
 */
export function lookupKey(serverAddress: string): string {
  if (PLAIN.test(serverAddress)) return serverAddress;
  const [host = ''] = serverAddress.split(/\0|\/\/\/|\\/, 1);
  return withoutPort(host).replace(/\.$/, '').toLowerCase();
}

function withoutPort(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d*)?$/.exec(host);
  if (bracketed) return bracketed[1] ?? '';
  // More than one colon is a bare IPv6 address.
  return host.replace(/^([^:]*):\d*$/, '$1');
}

/** Where players connect who play on the service's own machine: without a name to tell servers apart, its oldest one is meant. */
export const OWN_MACHINE: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1', '0.0.0.0']);

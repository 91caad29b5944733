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

/** Host names used by players on the service's own machine. */
const OWN_MACHINE: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1', '0.0.0.0']);

/** The server that is meant where none is named. */
export interface Nameless {
  /** Its name. */
  host: string;
  /** It is meant by every name that is not one of a server's below this one; null: by the machine's own names alone. */
  unlessBelow: string | null;
}

/** Whether a name that no server has means the one that needs none. */
export function isNameless(host: string, { unlessBelow }: Nameless): boolean {
  return OWN_MACHINE.has(host) || (unlessBelow !== null && !host.endsWith(`.${unlessBelow}`));
}

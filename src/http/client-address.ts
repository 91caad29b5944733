import type { IncomingMessage } from 'node:http';
import type { BlockList } from 'node:net';
import { canonical, isListed } from '../kernel/ip.ts';

/**
 * Returns the client address of a request. Trusts `X-Forwarded-For` only as far as trusted proxies wrote it: from the
 * right, past each trusted peer, to the first untrusted address. An invalid entry ends the walk, because its author
 * could have written anything. Returns '' if the connection is already gone.
 */
export function clientAddress(peer: string | undefined, forwardedFor: string | undefined, trusted: BlockList): string {
  let address = canonical(peer ?? '');
  for (const entry of (forwardedFor ?? '').split(',').toReversed()) {
    if (address === '' || !isListed(trusted, address)) break;
    const before = canonical(entry.trim());
    if (before === '') break;
    address = before;
  }
  return address;
}

/** Creates `clientAddress` for requests. */
export function createClientAddress(trusted: BlockList): (request: IncomingMessage) => string {
  return ({ socket, headers }) => {
    const forwardedFor = headers['x-forwarded-for'];
    return clientAddress(socket.remoteAddress, Array.isArray(forwardedFor) ? undefined : forwardedFor, trusted);
  };
}

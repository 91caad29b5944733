import type { IncomingMessage } from 'node:http';
import { type BlockList, isIP } from 'node:net';
import { canonical, groupsOf } from '../kernel/ip-address.ts';

/**
 * The address a request comes from. `X-Forwarded-For` is believed only as far as trusted proxies wrote it: from the right,
 * past each trusted peer, to the first address that is none. An entry that is no address ends the walk, as whoever wrote
 * it could write anything. '' where the connection is gone already.
 */
export function clientAddress(peer: string | undefined, forwardedFor: string | undefined, trusted: BlockList): string {
  let address = canonical(peer ?? '');
  for (const entry of (forwardedFor ?? '').split(',').toReversed()) {
    if (address === '' || !trusted.check(address, familyOf(address))) break;
    const before = canonical(entry.trim());
    if (before === '') break;
    address = before;
  }
  return address;
}

/** `clientAddress` of requests. */
export function createClientAddress(trusted: BlockList): (request: IncomingMessage) => string {
  return ({ socket, headers }) => {
    const forwardedFor = headers['x-forwarded-for'];
    return clientAddress(socket.remoteAddress, Array.isArray(forwardedFor) ? undefined : forwardedFor, trusted);
  };
}

/** What a limit by address counts: an IPv4 address, or the /64 of an IPv6 one, which its holder can choose within freely. */
export function addressKey(address: string): string {
  if (isIP(address) !== 6) return address;
  return `${groupsOf(address).slice(0, 4).map(hex).join(':')}::/64`;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

function hex(group: number): string {
  return group.toString(16);
}

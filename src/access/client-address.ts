import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { BlockList } from 'node:net';

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

/** An address written one way: IPv6 in lower case without zone, one that is really IPv4 as IPv4. '' for what is none. */
export function canonical(text: string): string {
  if (isIP(text) !== 6) return isIP(text) === 4 ? text : '';
  const groups = groupsOf(text);
  const [high = 0, low = 0] = groups.slice(6);
  // RFC 4291 §2.5.5.2: ::ffff:192.0.2.1
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return mapped ? `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}` : hostOf(text);
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = [], tail = []] = hostOf(address)
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  return groups.map((group) => parseInt(group, 16));
}

/** URLs write an IPv6 address in one way, without dots in it (https://url.spec.whatwg.org/#concept-ipv6-serializer). */
function hostOf(address: string): string {
  const [withoutZone = ''] = address.split('%');
  return new URL(`http://[${withoutZone}]`).hostname.slice(1, -1);
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

function hex(group: number): string {
  return group.toString(16);
}

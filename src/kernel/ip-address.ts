import { isIP } from 'node:net';

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
export function groupsOf(address: string): number[] {
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

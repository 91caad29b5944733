import { type BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** How many bits of an address are the network's, by kind. */
export interface PrefixBits {
  ipv4: number;
  ipv6: number;
}

/**
 * Returns an address in normal form: IPv6 after RFC 5952 without zone, IPv4-mapped as IPv4. '' if the text is not an
 * address.
 */
export function canonical(text: string): string {
  switch (isIP(text)) {
    case 0:
      return '';
    case 4:
      return text;
    default:
      return ipaddr.process(withoutZone(text)).toString();
  }
}

/**
 * The unit of limits by address: an IPv4 address, or the /64 of an IPv6 one, within which its holder can choose freely.
 */
export function addressKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = ipaddr.IPv6.parse(withoutZone(address)).parts.slice(0, 4);
  // Not shortened as in RFC 5952: such keys are stored.
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`;
}

/**
 * Returns the network of an address, as `192.0.2.0/24` or `2001:db8:1::/48`: about what one customer or site has, so
 * that changing the address does not reset a count. IPv4 written as IPv6 is IPv4. Text that is not an address is its
 * own network.
 */
export function networkOf(address: string, prefix: PrefixBits = { ipv4: 24, ipv6: 48 }): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(withoutZone(address));
  const bits = prefix[parsed.kind()];
  const { IPv4, IPv6 } = ipaddr;
  const network = (parsed.kind() === 'ipv4' ? IPv4 : IPv6).networkAddressFromCIDR(`${parsed.toString()}/${bits}`);
  return `${network.toString()}/${bits}`;
}

/** Whether an address, as `canonical` writes it, is in one of a list's networks. */
export function isListed(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Reports whether an address (IPv4 or IPv6, as text) belongs to the public internet. Excluded are this machine, private
 * networks, link-local addresses with a cloud's metadata service, carrier NAT, multicast, and the forms in which IPv6
 * carries an IPv4 address.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_IPV6);
}

/** Whether an address is a loopback address (127.0.0.0/8, ::1), in any spelling. */
export function isLoopback(address: string): boolean {
  const plain = canonical(address);
  return plain !== '' && ipaddr.parse(plain).range() === 'loopback';
}

function withoutZone(address: string): string {
  const [plain = ''] = address.split('%', 1);
  // `::192.0.2.1` is no address of IPv4's (RFC 4291 §2.5.5.1), though the library reads it so where it begins like this.
  return /^::\d+\./.test(plain) ? `0${plain}` : plain;
}

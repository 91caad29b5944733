import ipaddr from 'ipaddr.js';

/** Global unicast, all that is in use of IPv6 (RFC 4291 §2.4). */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an address (IPv4 or IPv6, as text) is one of the public internet. Everything else is ours or nobody's: this
 * machine, private networks, link-local addresses with a cloud's metadata service, carrier NAT, multicast, and the forms
 * in which IPv6 carries an IPv4 address.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_IPV6);
}

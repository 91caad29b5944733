import ipaddr from 'ipaddr.js';

/**
 * The network an address is in, as `192.0.2.0/24` or `2001:db8:1::/48`: about what one customer or site is given, so that
 * nobody gets a count of their own by choosing another address. IPv4 written as IPv6 is IPv4. What is no address is a
 * network of its own.
 */
export function networkOf(address: string, prefix: { ipv4: number; ipv6: number } = { ipv4: 24, ipv6: 48 }): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  const bits = prefix[parsed.kind()];
  const { IPv4, IPv6 } = ipaddr;
  const network = (parsed.kind() === 'ipv4' ? IPv4 : IPv6).networkAddressFromCIDR(`${withoutZone(parsed)}/${bits}`);
  return `${network.toString()}/${bits}`;
}

function withoutZone(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  return address.toString().split('%', 1)[0] ?? '';
}

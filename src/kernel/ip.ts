import { type BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** The length of a network prefix in bits, by IP version. */
export interface PrefixBits {
  ipv4: number;
  ipv6: number;
}

/**
 * Returns an address in normal form: IPv6 as in RFC 5952 without a zone, IPv4-mapped IPv6 as IPv4. Returns '' if the
 * text is not an address.
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
 * Returns the key for limits by address: an IPv4 address itself, or the /64 of an IPv6 address, because its holder can
 * use any address within it.
 */
export function addressKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = ipaddr.IPv6.parse(withoutZone(address)).parts.slice(0, 4);
  // Not shortened as in RFC 5952, because stored keys have this form.
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

/** Reports whether an address in canonical form is in one of a list's networks. */
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

/** Reports whether an address is a loopback address (127.0.0.0/8, ::1), in any spelling. */
export function isLoopback(address: string): boolean {
  const plain = canonical(address);
  return plain !== '' && ipaddr.parse(plain).range() === 'loopback';
}

function withoutZone(address: string): string {
  const [plain = ''] = address.split('%', 1);
  // `::192.0.2.1` is not an IPv4 address (RFC 4291 §2.5.5.1), but the library would parse it as one. A leading 0 prevents that.
  return /^::\d+\./.test(plain) ? `0${plain}` : plain;
}

const PRIVATE = /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)/;

/** Whether a listener at this host accepts connections at all addresses of its machine. */
export function isEveryAddress(host: string): boolean {
  return host === '::' || host === '0.0.0.0';
}

/**
 * Returns this machine's first private IPv4 address (RFC 1918); undefined without one. Ignores the interfaces of
 * containers and virtual machines.
 */
export function homeAddressOf(interfaces = networkInterfaces()): string | undefined {
  return Object.entries(interfaces)
    .filter(([name]) => !/^(?:docker|br-|veth|virbr)/.test(name))
    .flatMap(([, addresses = []]) => addresses)
    .find(({ family, internal, address }) => family === 'IPv4' && !internal && PRIVATE.test(address))?.address;
}

/**
 * Returns the address at which other devices in the network reach `host`; undefined unless `host` listens on all
 * interfaces. Also undefined inside a container, where the machine's address is unknown.
 */
export function homeHost(host: string, inContainer: boolean): string | undefined {
  return !inContainer && isEveryAddress(host) ? homeAddressOf() : undefined;
}

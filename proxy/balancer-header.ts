import { isIPv4, isIPv6 } from 'node:net';
import { type Parsed, ProtocolError } from './codec.ts';
import { normalAddress } from './limits.ts';

/**
 * The header that a load balancer sends before a connection's first byte (PROXY protocol, versions 1 and 2). `ip` is
 * the client's address without IPv4 mapping. It is null if the header contains no address, as in health checks: the
 * connection then belongs to the balancer itself.
 */
interface BalancerHeader {
  ip: string | null;
}

/** The longest line of version 1, including its line end. */
const LINE_BYTES = 107;
const LINE_START = Buffer.from('PROXY ');
const LINE_END = '\r\n';

/**
 * The start of a version 2 header. After it come one byte for version and command, one for family and transport, and
 * two for the remaining length.
 */
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const HEAD_BYTES = 16;
/** Limit of addresses and extensions together. The protocol guarantees that receivers accept a header of 536 bytes. */
const MOST_REST_BYTES = 536;
const VERSION = 2;
const COMMANDS = { local: 0, proxy: 1 } as const;
/** Address families over TCP. Both addresses come first, then both ports. */
const FAMILIES = { unspecified: 0x00, ipv4: 0x11, ipv6: 0x21 } as const;
const IPV4_BYTES = 4;
const IPV6_BYTES = 16;
const PORTS_BYTES = 4;

/** The check that both addresses of a version 1 line must pass, by family. */
const LINE_FAMILIES = new Map([
  ['TCP4', isIPv4],
  ['TCP6', isPlainIPv6],
]);

/**
 * Returns the header at the start of `bytes`; undefined while it is incomplete, for at most 552 bytes. Throws
 * ProtocolError as soon as the bytes cannot be a header.
 */
export function readBalancerHeader(bytes: Buffer): Parsed<BalancerHeader> | undefined {
  if (startsLike(bytes, LINE_START)) return readLine(bytes);
  if (startsLike(bytes, SIGNATURE)) return readBinary(bytes);
  throw new ProtocolError('the connection does not begin with a PROXY header');
}

/** Reports whether the bytes received so far match `start`. */
function startsLike(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.compare(start, 0, length, 0, length) === 0;
}

/** Reads `PROXY TCP4 <source> <destination> <port> <port>`, `TCP6`, or `UNKNOWN` with anything after it. */
function readLine(bytes: Buffer): Parsed<BalancerHeader> | undefined {
  const line = bytes.toString('latin1', 0, LINE_BYTES);
  const end = line.indexOf(LINE_END);
  if (end < 0) {
    if (bytes.length >= LINE_BYTES) throw new ProtocolError('PROXY line too long');
    return undefined;
  }
  const size = end + LINE_END.length;
  const [, family, ...fields] = line.slice(0, end).split(' ');
  if (family === 'UNKNOWN') return { value: { ip: null }, size };
  const isAddress = LINE_FAMILIES.get(family ?? '');
  const [source = '', destination = '', ...ports] = fields;
  const isWhole = isAddress?.(source) && isAddress(destination) && ports.length === 2 && ports.every(isPort);
  if (!isWhole) throw new ProtocolError('malformed PROXY line');
  return { value: { ip: normalAddress(source) }, size };
}

function isPort(text: string): boolean {
  return /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) < 65_536;
}

/** Reports whether `text` is an IPv6 address without a zone, which has no meaning on another machine. */
function isPlainIPv6(text: string): boolean {
  return isIPv6(text) && !text.includes('%');
}

function readBinary(bytes: Buffer): Parsed<BalancerHeader> | undefined {
  if (bytes.length < HEAD_BYTES) return undefined;
  const [versionAndCommand = 0, family = 0] = bytes.subarray(SIGNATURE.length);
  const command = versionAndCommand & 0x0f;
  const length = bytes.readUInt16BE(HEAD_BYTES - 2);
  if (versionAndCommand >> 4 !== VERSION) throw new ProtocolError('PROXY header of an unknown version');
  if (length > MOST_REST_BYTES) throw new ProtocolError(`PROXY header with ${length} bytes after its head`);
  const size = HEAD_BYTES + length;
  const rest = bytes.subarray(HEAD_BYTES, size);
  if (command === COMMANDS.local) return rest.length < length ? undefined : { value: { ip: null }, size };
  if (command !== COMMANDS.proxy) throw new ProtocolError('PROXY header with an unknown command');
  const needed = addressesBytes(family);
  if (length < needed) throw new ProtocolError('PROXY header too short for its addresses');
  if (rest.length < length) return undefined;
  return { value: { ip: sourceOf(rest, family) }, size };
}

function addressesBytes(family: number): number {
  switch (family) {
    case FAMILIES.unspecified:
      return 0;
    case FAMILIES.ipv4:
      return 2 * IPV4_BYTES + PORTS_BYTES;
    case FAMILIES.ipv6:
      return 2 * IPV6_BYTES + PORTS_BYTES;
    default:
      throw new ProtocolError('PROXY header for a connection other than TCP');
  }
}

/** Returns the source address, which comes first. The extensions after the ports are ignored. */
function sourceOf(rest: Buffer, family: number): string | null {
  if (family === FAMILIES.unspecified) return null;
  if (family === FAMILIES.ipv4) return rest.subarray(0, IPV4_BYTES).join('.');
  return normalAddress((rest.toString('hex', 0, IPV6_BYTES).match(/.{4}/g) ?? []).join(':'));
}

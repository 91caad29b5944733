import { isIPv4 } from 'node:net';
import test from 'ava';
import { readBalancerHeader } from '../../proxy/balancer-header.ts';
import { ProtocolError } from '../../proxy/codec.ts';
import * as fc from '../support/property.ts';

const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
const MOST_BYTES = 16 + 536;

/** Returns a version 2 header. `head` is version with command, then family with transport. */
function binary(head: [number, number], rest: Buffer, length = rest.length): Buffer {
  return Buffer.concat([SIGNATURE, Buffer.from([...head, length >> 8, length & 0xff]), rest]);
}

const port = fc.integer({ min: 0, max: 65_535 });
const ipv4 = fc.tuple(...Array.from({ length: 4 }, () => fc.integer({ min: 0, max: 255 })));
/** IPv6 addresses, except those that carry an IPv4 address, which are written in IPv4 form. */
const ipv6 = fc
  .tuple(...Array.from({ length: 8 }, () => fc.integer({ min: 0, max: 0xffff })))
  .filter(([first = 0]) => first > 0);
const tlvs = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 40 })), { maxLength: 8 })
  .map((all) => Buffer.concat(all.map(([type, value]) => Buffer.from([type, 0, value.length, ...value]))));

const hexOf = (groups: readonly number[]): string => groups.map((group) => group.toString(16)).join(':');
const bytesOf = (groups: readonly number[]): Buffer =>
  Buffer.from(groups.flatMap((group) => [group >> 8, group & 0xff]));
/** Formats an IPv6 address as browsers and sockets do. */
const canonical = (groups: readonly number[]): string => new URL(`http://[${hexOf(groups)}]`).hostname.slice(1, -1);
const portBytes = (...ports: number[]): Buffer => Buffer.from(ports.flatMap((each) => [each >> 8, each & 0xff]));

const headers = fc.oneof(
  fc.record({ from: ipv4, to: ipv4, ports: fc.tuple(port, port), more: tlvs }).chain(({ from, to, ports, more }) =>
    fc.constantFrom(
      {
        ip: from.join('.'),
        bytes: Buffer.from(`PROXY TCP4 ${from.join('.')} ${to.join('.')} ${ports.join(' ')}\r\n`),
      },
      {
        ip: from.join('.'),
        bytes: binary([0x21, 0x11], Buffer.concat([Buffer.from([...from, ...to]), portBytes(...ports), more])),
      },
    ),
  ),
  fc.record({ from: ipv6, to: ipv6, ports: fc.tuple(port, port), more: tlvs }).chain(({ from, to, ports, more }) =>
    fc.constantFrom(
      {
        ip: canonical(from),
        bytes: Buffer.from(`PROXY TCP6 ${hexOf(from).toUpperCase()} ${hexOf(to)} ${ports.join(' ')}\r\n`),
      },
      {
        ip: canonical(from),
        bytes: binary([0x21, 0x21], Buffer.concat([bytesOf(from), bytesOf(to), portBytes(...ports), more])),
      },
    ),
  ),
  tlvs.map((more) => ({ ip: null, bytes: binary([0x20, 0x00], more) })),
  tlvs.map((more) => ({ ip: null, bytes: binary([0x21, 0x00], more) })),
  fc.stringMatching(/^[ -~]{0,90}$/).map((text) => ({ ip: null, bytes: Buffer.from(`PROXY UNKNOWN ${text}\r\n`) })),
);

test('a PROXY header of either version names the client, needs all of its bytes and consumes no others', (t) => {
  fc.assert(
    fc.property(headers, fc.uint8Array({ maxLength: 40 }), ({ ip, bytes }, behind) => {
      for (let cut = 0; cut < bytes.length; cut++) t.is(readBalancerHeader(bytes.subarray(0, cut)), undefined);
      t.deepEqual(readBalancerHeader(Buffer.concat([bytes, behind])), { value: { ip }, size: bytes.length });
    }),
    { numRuns: 100 },
  );
});

test('random bytes are parsed or throw ProtocolError, and the maximum header length suffices to decide', (t) => {
  const outcome = (bytes: Buffer): unknown => {
    try {
      return readBalancerHeader(bytes);
    } catch (error) {
      if (error instanceof ProtocolError) return error;
      throw error;
    }
  };
  const starts = fc.constantFrom('', 'PROXY ', 'PROXY TCP4 ', 'PROXY TCP6 ', SIGNATURE.toString('latin1'));
  const tail = fc.uint8Array({ maxLength: MOST_BYTES, size: 'max' });
  fc.assert(
    fc.property(starts, tail, (start, bytes) => {
      const all = Buffer.concat([Buffer.from(start, 'latin1'), bytes]);
      const found = outcome(all);
      if (all.length >= MOST_BYTES) t.not(found, undefined);
    }),
    { numRuns: 2_000 },
  );
  fc.assert(
    fc.property(headers, fc.nat(), fc.integer({ min: 1, max: 255 }), ({ bytes }, at, change) => {
      const changed = Buffer.from(bytes);
      changed[at % bytes.length] = (changed[at % bytes.length] ?? 0) ^ change;
      outcome(changed);
    }),
    { numRuns: 2_000 },
  );
  t.pass();
});

for (const [what, bytes] of [
  ['a handshake', Buffer.from('1000', 'hex')],
  ['an unknown family', Buffer.from('PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n')],
  ['a family that every object has', Buffer.from('PROXY constructor 1.2.3.4 1.2.3.4 1 2\r\n')],
  ['an address of the other family', Buffer.from('PROXY TCP4 ::1 ::1 1 2\r\n')],
  ['a name', Buffer.from('PROXY TCP4 localhost 1.2.3.4 1 2\r\n')],
  ['a zone', Buffer.from('PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n')],
  ['no ports', Buffer.from('PROXY TCP4 1.2.3.4 1.2.3.4\r\n')],
  ['a port too high', Buffer.from('PROXY TCP4 1.2.3.4 1.2.3.4 65536 1\r\n')],
  ['an extra word', Buffer.from('PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n')],
  ['a line that does not end', Buffer.from(`PROXY UNKNOWN ${' '.repeat(93)}`)],
  ['version 3', binary([0x31, 0x11], Buffer.alloc(12))],
  ['an unknown command', binary([0x22, 0x11], Buffer.alloc(12))],
  ['datagrams', binary([0x21, 0x12], Buffer.alloc(12))],
  ['a local socket', binary([0x21, 0x31], Buffer.alloc(216))],
  ['too few bytes for the addresses', binary([0x21, 0x21], Buffer.alloc(35))],
  ['a declared length beyond the limit', binary([0x20, 0x00], Buffer.alloc(0), 537)],
] as const) {
  test(`an invalid PROXY header is rejected: ${what}`, (t) => {
    t.throws(() => readBalancerHeader(bytes), { instanceOf: ProtocolError });
  });
}

test('an IPv4-mapped IPv6 address in a PROXY header is read as IPv4', (t) => {
  const groups = [0, 0, 0, 0, 0, 0xffff, 0xcb00, 0x7109];
  const rest = Buffer.concat([bytesOf(groups), bytesOf(groups), portBytes(1, 2)]);
  for (const bytes of [binary([0x21, 0x21], rest), Buffer.from('PROXY TCP6 ::ffff:203.0.113.9 ::1 1 2\r\n')]) {
    const ip = readBalancerHeader(bytes)?.value.ip ?? '';
    t.true(isIPv4(ip));
    t.is(ip, '203.0.113.9');
  }
});

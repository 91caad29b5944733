import { Readable } from 'node:stream';
import test from 'ava';
import { packetsOf } from '../../src/sftp/sftp-session.ts';
import * as fc from '../support/property.ts';
import { attributesOf, longName, readAttributes } from '../../src/sftp/attributes.ts';
import { readInit, readRequest } from '../../src/sftp/requests.ts';
import { BadPacket, Fields, MOST_PACKET_BYTES, REQUEST, string, uint32, uint64 } from '../../src/sftp/wire.ts';

const NOW = Date.UTC(2026, 10, 21, 12);

function bytes(options: fc.IntArrayConstraints = {}): fc.Arbitrary<Buffer> {
  return fc.uint8Array(options).map((array) => Buffer.from(array));
}

async function all(chunks: readonly Buffer[]): Promise<Buffer[]> {
  const packets: Buffer[] = [];
  for await (const packet of packetsOf(Readable.from(chunks, { objectMode: false }))) packets.push(Buffer.from(packet));
  return packets;
}

test('a stream is split into its packets, however it is chunked', async (t) => {
  const stream = fc.array(bytes({ minLength: 1, maxLength: 40 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(stream, fc.array(fc.nat(200), { maxLength: 12 }), async (packets, cuts) => {
      const whole = Buffer.concat(packets.map(string));
      const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length].toSorted((a, b) => a - b);
      const chunks = places.slice(1).map((place, index) => whole.subarray(places[index], place));
      t.deepEqual(await all(chunks.filter(({ length }) => length > 0)), packets);
    }),
  );
});

test('a stream may end within a packet; an impossible packet length is refused at once', async (t) => {
  const whole = string('whole');
  for (let length = 0; length < whole.length; length++)
    t.deepEqual(await all([whole, whole.subarray(0, length)]), [Buffer.from('whole')]);
  for (const length of [0, MOST_PACKET_BYTES + 1, 2 ** 32 - 1])
    await t.throwsAsync(all([whole, uint32(length)]), { instanceOf: BadPacket });
});

test('arbitrary bytes are parsed as a request or rejected as a bad packet', (t) => {
  const kinds = fc.constantFrom(...Object.values(REQUEST));
  fc.assert(
    fc.property(
      fc.oneof(
        bytes(),
        fc.tuple(kinds, bytes()).map(([kind, rest]) => Buffer.of(kind, ...rest)),
      ),
      (packet) => {
        for (const read of [readRequest, readInit]) {
          try {
            read(packet);
          } catch (error) {
            t.true(error instanceof BadPacket, String(error));
          }
        }
      },
    ),
    { numRuns: 2_000 },
  );
  t.is(readRequest(Buffer.concat([Buffer.of(99), uint32(7)])).type, 'unknown');
});

test('a request is parsed as it was encoded, except invalid text and oversized offsets', (t) => {
  const text = fc.string({ unit: 'binary' });
  fc.assert(
    fc.property(fc.nat(), text, text, (id, path, to) => {
      const packet = Buffer.concat([Buffer.of(REQUEST.rename), uint32(id), string(path), string(to)]);
      t.deepEqual(readRequest(packet), { type: 'rename', id, path, to, replace: false });
    }),
  );
  const noText = Buffer.concat([Buffer.of(REQUEST.stat), uint32(1), string(Buffer.of(0xc3, 0x28))]);
  t.deepEqual(readRequest(noText), { type: 'stat', id: 1, path: undefined });
  const tooFar = Buffer.concat([Buffer.of(REQUEST.read), uint32(1), string('1'), uint64(2n ** 53n), uint32(1)]);
  t.throws(() => readRequest(tooFar), { instanceOf: BadPacket });
});

test('attributes survive encoding and decoding, except owners and extensions', (t) => {
  const file = { kind: 'file', sizeBytes: 5 * 2 ** 40, modifiedAt: NOW, mode: 0o640 } as const;
  const times = { atime: NOW / 1_000, mtime: NOW / 1_000 };
  t.deepEqual(readAttributes(new Fields(attributesOf(file))), { size: 5 * 2 ** 40, mode: 0o100640, ...times });
  const extended = [uint32(0x80_00_00_02), uint32(0), uint32(0), uint32(1), string('acl'), string('x')];
  const fields = new Fields(Buffer.concat([...extended, string('behind')]));
  t.deepEqual([readAttributes(fields), fields.text()], [{}, 'behind']);
  t.throws(() => readAttributes(new Fields(Buffer.concat([uint32(0x80_00_00_00), uint32(2 ** 32 - 1)]))), {
    instanceOf: BadPacket,
  });
  // Times that do not fit in 32 bits.
  for (const modifiedAt of [-1, 1e15]) t.is(attributesOf({ ...file, modifiedAt }).length, 24);
});

test('a long name has the format of ls -l', (t) => {
  const file = { kind: 'file', sizeBytes: 1_234, modifiedAt: Date.UTC(2026, 10, 3, 4, 5), mode: 0o640 } as const;
  t.is(longName('a b', file, NOW), '-rw-r-----    1 game     game         1234 Nov  3 04:05 a b');
  const old = { ...file, kind: 'directory', modifiedAt: Date.UTC(2020, 0, 31), mode: 0o755 } as const;
  t.is(longName('world', old, NOW), 'drwxr-xr-x    1 game     game         1234 Jan 31  2020 world');
  t.is(longName('l', { ...file, kind: 'link', mode: 0o777 }, NOW).slice(0, 10), 'lrwxrwxrwx');
});

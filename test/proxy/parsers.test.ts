import test, { type ExecutionContext } from 'ava';
import * as fc from '../support/property.ts';
import mc from 'minecraft-protocol';
import {
  FrameReader,
  type Parse,
  ProtocolError,
  encodeFrame,
  encodeString,
  encodeVarInt,
  readFrame,
  readVarInt,
} from '../../proxy/codec.ts';
import { FRAME_LIMIT, asLogin, readLoginStart, readOpening, readStatusPacket } from '../../proxy/handshake.ts';
import { lookupKey } from '../../proxy/hostname.ts';
import { encodeLegacyKick, encodeLegacyStatus, readLegacyLogin, readLegacyPing } from '../../proxy/legacy.ts';
import { parseStatus } from '../../proxy/ping.ts';
import { DEFAULT_TIMINGS } from '../../proxy/settings.ts';
import { cleanText, plainText, toComponent, wordsOf } from '../../proxy/text.ts';
import { type Fixture, fixtures } from './fixtures.ts';
import { HOST, handshake } from './support.ts';

/** Returns the result of `act`, or the codec's own error. Throws any other error. */
function attempt<T>(act: () => T): T | ProtocolError {
  try {
    return act();
  } catch (error) {
    if (error instanceof ProtocolError) return error;
    throw error;
  }
}

/**
 * Parses the shortest beginning of `bytes` that suffices, and checks that the bytes after it change nothing. Returns
 * the value and the rest.
 */
function throughEverySplit<T>(t: ExecutionContext, bytes: Buffer, parse: Parse<T>): { value: T; rest: Buffer } {
  for (let length = 1; length <= bytes.length; length++) {
    const parsed = parse(bytes.subarray(0, length));
    if (!parsed) continue;
    t.deepEqual(parse(bytes), parsed, 'more bytes behind change nothing');
    return { value: parsed.value, rest: bytes.subarray(parsed.size) };
  }
  throw new Error('never complete');
}

test('VarInts survive a round trip, and overlong ones are refused', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), (value) => {
      const bytes = encodeVarInt(value);
      t.deepEqual(readVarInt(bytes), { value, size: bytes.length });
      for (let cut = 0; cut < bytes.length; cut++) t.is(readVarInt(bytes.subarray(0, cut)), undefined);
    }),
  );
  t.is(encodeVarInt(-1).toString('hex'), 'ffffffff0f');
  t.is(encodeVarInt(2_097_151).toString('hex'), 'ffff7f');
  t.throws(() => readVarInt(Buffer.from('ffffffffff01', 'hex')), { instanceOf: ProtocolError });
  t.throws(() => readVarInt(Buffer.from('ffffffff1f', 'hex')), { instanceOf: ProtocolError });
  t.throws(() => readVarInt(Buffer.from('808080', 'hex'), 0, 3), { instanceOf: ProtocolError });
});

test('a frame length out of bounds is refused before its bytes arrive', (t) => {
  for (const hex of ['00', '8008', 'ffff7f', 'ffffffff0f', '80808000']) {
    t.throws(() => readFrame(Buffer.from(hex, 'hex'), FRAME_LIMIT.handshake - 1), { instanceOf: ProtocolError }, hex);
  }
  t.is(readFrame(Buffer.from('ff07', 'hex'), FRAME_LIMIT.handshake), undefined);
  fc.assert(
    fc.property(fc.nat(100), fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 9 }), (id, data, more) => {
      const frame = encodeFrame(id, Buffer.from(data));
      const parsed = readFrame(Buffer.concat([frame, more]), 1024);
      t.is(parsed?.size, frame.length);
      const reader = new FrameReader(parsed?.value ?? Buffer.alloc(0));
      t.is(reader.varInt(), id);
      t.deepEqual(reader.bytes(reader.remaining), Buffer.from(data));
    }),
  );
});

test('strings are limited in characters, and first by their announced length in bytes', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
      t.is(new FrameReader(encodeString(text)).string(120), text);
    }),
  );
  t.throws(() => new FrameReader(encodeString('a'.repeat(17))).string(16), { instanceOf: ProtocolError });
  t.throws(() => new FrameReader(encodeVarInt(2 ** 31 - 1)).string(16), { instanceOf: ProtocolError });
  t.throws(() => new FrameReader(encodeVarInt(-1)).string(16), { instanceOf: ProtocolError });
  t.throws(() => new FrameReader(Buffer.from([5, 65])).string(16), { instanceOf: ProtocolError });
});

const anyOpening = (bytes: Buffer): ReturnType<typeof readOpening> => readOpening(bytes, () => true);

function checkFixture(t: ExecutionContext, { bytes, packets, expect }: Fixture): void {
  const opening = throughEverySplit(t, bytes, anyOpening);
  if (opening.value.kind === 'legacyPing') {
    t.is(expect.intent, 'legacyPing');
    for (let length = 1; length < bytes.length; length++) t.false(readLegacyPing(bytes.subarray(0, length)).complete);
    const ping = readLegacyPing(bytes);
    t.true(ping.form === expect.form);
    t.is(ping.serverAddress, expect.key);
    t.is(ping.complete, expect.key !== null);
    return;
  }
  if (opening.value.kind === 'legacyLogin') {
    t.is(expect.intent, 'legacyLogin');
    t.is(throughEverySplit(t, bytes, readLegacyLogin).value.serverAddress, expect.key);
    return;
  }
  const { protocol, intent, serverAddress, raw } = opening.value;
  t.is(protocol, expect.protocol);
  t.true(intent === expect.intent);
  t.true(lookupKey(serverAddress) === expect.key);
  t.deepEqual(raw, packets[0]);
  if (intent === 'status') {
    const request = throughEverySplit(t, opening.rest, readStatusPacket);
    t.deepEqual(request.value, { kind: 'request' });
    const ping = throughEverySplit(t, request.rest, readStatusPacket);
    t.deepEqual(ping.value, { kind: 'ping', payload: bytes.subarray(-8) });
  } else {
    t.is(asLogin(opening.value).at(-1), 2);
    t.deepEqual(asLogin(opening.value).subarray(0, -1), raw.subarray(0, -1));
    const login = throughEverySplit(t, opening.rest, (rest) => readLoginStart(rest, protocol));
    t.like(login.value, { name: expect.name, uuid: expect.uuid });
    t.deepEqual(login.value.raw, packets[1]);
    t.is(login.rest.length, 0);
  }
}

for (const fixture of fixtures)
  test(
    `recorded client bytes are parsed at every split: ${fixture.title} (${fixture.bytes.length} bytes)`,
    checkFixture,
    fixture,
  );

/** The part of minecraft-protocol's deserializer that its types leave out. */
interface Oracle {
  parsePacketBuffer(bytes: Buffer): { data: { name: string; params: Record<string, unknown> } };
}

for (const version of [
  '1.8.8',
  '1.12.2',
  '1.16.5',
  '1.18.2',
  '1.19',
  '1.19.2',
  '1.19.3',
  '1.20.1',
  '1.20.2',
  '1.21.1',
  '26.1',
]) {
  test(`minecraft-protocol ${version} parses the recorded logins with the same results`, (t) => {
    const same = fixtures.filter(({ title, expect }) => title.startsWith(`${version},`) && expect.intent === 'login');
    t.true(same.length > 0);
    for (const { packets, expect } of same) {
      const oracle = (state: 'handshaking' | 'login'): Oracle =>
        mc.createDeserializer({
          isServer: true,
          state: state as mc.States,
          version,
          customPackets: {},
        }) as Oracle;
      const [handshake, login] = packets.map((packet) => packet.subarray(readVarInt(packet)?.size));
      const opened = oracle('handshaking').parsePacketBuffer(handshake ?? Buffer.alloc(0)).data;
      t.like(opened.params, { protocolVersion: expect.protocol, nextState: 2 });
      const started = oracle('login').parsePacketBuffer(login ?? Buffer.alloc(0)).data;
      t.is(started.name, 'login_start');
      t.is(started.params.username, expect.name);
      t.is(started.params.playerUUID ?? null, expect.uuid);
    }
  });
}

test('on garbage every parser returns, waits for more or throws a ProtocolError', (t) => {
  const parsers: Parse<unknown>[] = [anyOpening, readStatusPacket, readLegacyLogin, (bytes) => readFrame(bytes, 4096)];
  for (const protocol of [4, 47, 393, 758, 759, 760, 761, 764, 999])
    parsers.push((bytes) => readLoginStart(bytes, protocol));
  const noise = fc.uint8Array({ minLength: 1, maxLength: 80 });
  const mutated = fc
    .tuple(fc.constantFrom(...fixtures), fc.nat(), fc.nat(255), fc.nat())
    .map(([{ bytes }, at, byte, skip]) => {
      const copy = Buffer.from(bytes);
      copy[at % copy.length] = byte;
      return copy.subarray(skip % copy.length);
    });
  const check = (bytes: Uint8Array): void => {
    for (const parse of parsers) attempt(() => parse(Buffer.from(bytes)));
    attempt(() => readLegacyPing(Buffer.from([0xfe, ...bytes])));
    attempt(() => readLegacyPing(Buffer.from([0xfe, 0x01, 0xfa, 0x00, 0x0b, ...bytes])));
  };
  fc.assert(fc.property(fc.oneof(noise, mutated), check), { numRuns: 2000 });
  t.pass();
});

test('other protocols are rejected by their first bytes', (t) => {
  const heads = ['GET ', '\x16\x03', 'PROXY', '\r\n\r\n\0\r\nQUIT\n', 'SSH-2.0', '{"', '\x03\0\0\x13'];
  for (const head of heads)
    t.true(attempt(() => anyOpening(Buffer.from(head, 'latin1'))) instanceof ProtocolError, head);
});

test('a forwarded handshake is read only for a known host, and otherwise refused before the rest arrives', (t) => {
  const hosts: (string | undefined)[] = [];
  const parse = (bytes: Buffer): ReturnType<typeof readOpening> =>
    readOpening(bytes, (host) => hosts.push(host) > 0 && host === HOST);
  const address = `${HOST}\u0000198.51.100.7\u0000${'0'.repeat(32)}\u0000${'s'.repeat(32_000)}`;
  const bytes = handshake(767, 'login', address);
  t.like(parse(bytes)?.value, { kind: 'handshake', serverAddress: address, raw: bytes });
  t.is(parse(bytes.subarray(0, -1)), undefined);
  t.deepEqual([...new Set(hosts)], [HOST]);
  t.is(parse(bytes.subarray(0, FRAME_LIMIT.handshake - 1)), undefined, 'too little to judge');
  const strangers = ['other.example.com\0', '\0', 'x', `${HOST}.`].map((head) => `${head}${'x'.repeat(2000)}`);
  for (const stranger of strangers) {
    const beginning = handshake(767, 'login', stranger).subarray(0, FRAME_LIMIT.handshake);
    t.throws(() => parse(beginning), { instanceOf: ProtocolError }, stranger.slice(0, 20));
  }
  const tooLong = handshake(767, 'login', `${HOST}\0${'x'.repeat(32_767)}`);
  t.throws(() => parse(tooLong), { instanceOf: ProtocolError, message: /characters/ });
  const farTooLong = handshake(767, 'login', `${HOST}\0${'x'.repeat(98_500)}`);
  t.throws(() => parse(farTooLong.subarray(0, 3)), { instanceOf: ProtocolError, message: /at most/ });
});

test('a lookup key is the host name without port, mod markers and forwarded data', (t) => {
  const keys: [string, string][] = [
    ['Play.Example.COM', 'play.example.com'],
    ['play.example.com.', 'play.example.com'],
    ['play.example.com:25565', 'play.example.com'],
    ['play.example.com.:25565', 'play.example.com'],
    ['play.example.com\0FML\0', 'play.example.com'],
    ['play.example.com.\0FML3\0', 'play.example.com'],
    ['play.example.com\u0000203.0.113.7\0uuid\0[{"name":"textures"}]', 'play.example.com'],
    ['play.example.com///203.0.113.7:1///1///sig\0FML2\0', 'play.example.com'],
    ['play.example.com\\\\203.0.113.7:1\\\\1', 'play.example.com'],
    ['203.0.113.7:25566', '203.0.113.7'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:DB8::1]:25565', '2001:db8::1'],
    ['\0', ''],
    ['', ''],
  ];
  for (const [address, key] of keys) t.is(lookupKey(address), key, JSON.stringify(address));
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void t.notRegex(lookupKey(text), /\\|\/\/\//)));
});

test('legacy replies count UTF-16 units and strip characters that would break their format', (t) => {
  const reply = encodeLegacyStatus('extended', { motd: 'a\0b ☃', versionName: '1.21', online: 1, max: 20 });
  t.is(reply[0], 0xff);
  t.is(reply.readUInt16BE(1), (reply.length - 3) / 2);
  const text = Buffer.from(reply.subarray(3)).swap16().toString('utf16le');
  t.deepEqual(text.split('\0'), ['§1', '127', '1.21', 'ab ☃', '1', '20']);
  const beta = encodeLegacyStatus('beta', { motd: '§aHi §§', versionName: '', online: 0, max: 5 });
  t.deepEqual(beta, encodeLegacyKick('aHi §0§5'));
});

test('§ codes become styles for newer clients and stay as they are for older ones', (t) => {
  t.deepEqual(toComponent('§aHi §lthere§r!', 47), { text: '§aHi §lthere§r!' });
  t.deepEqual(toComponent('§aHi §lthere§r!', 735), {
    text: '',
    extra: [{ text: 'Hi ', color: 'green' }, { text: 'there', color: 'green', bold: true }, { text: '!' }],
  });
  t.deepEqual(toComponent('§l§cred', 767), { text: '', extra: [{ text: 'red', color: 'red' }] });
  t.deepEqual(toComponent('§x§1§2§3§a§B§cx', 767), { text: '', extra: [{ text: 'x', color: '#123abc' }] });
  t.deepEqual(toComponent('plain', 767), { text: 'plain' });
  t.is(cleanText('a\u0000\u001b[31m\nb\ud800', 9), 'a[31m\nb');
  t.is(cleanText('x'.repeat(99), 9), 'x'.repeat(9));
  t.is(wordsOf({ text: '§aA', extra: ['b', { text: 'c', extra: [{ translate: 'x' }, { text: 'd' }] }, 7] }), 'Abcd');
  let deep: unknown = 'x';
  for (let depth = 0; depth < 10_000; depth++) deep = [deep];
  t.is(wordsOf(deep), '');
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('§', 'a', 'l', 'r', 'x', '0', '"', '\n', ' ') }), (text) => {
      const words = JSON.stringify(wordsOf(JSON.parse(JSON.stringify(toComponent(text, 767)))));
      t.false(/§[0-9a-fk-or]/.test(words));
      t.is(typeof plainText(text), 'string');
    }),
  );
});

test('a status of any shape is read if it is a JSON object or array, and anything else throws', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const raw = JSON.stringify(value);
      if (typeof value !== 'object' || value === null) {
        t.throws(() => parseStatus(raw));
        return;
      }
      const { playersOnline, playersMax, versionName } = parseStatus(raw);
      t.true(Number.isInteger(playersOnline) && Number.isInteger(playersMax) && typeof versionName === 'string');
    }),
  );
  const players = (online: number) => parseStatus(JSON.stringify({ players: { online, max: online } }));
  t.like(players(3_000_000_000), { playersOnline: 2 ** 31 - 1, playersMax: 2 ** 31 - 1 });
  t.like(players(-5), { playersOnline: 0, playersMax: 0 });
  t.is(parseStatus('{"version":{"protocol":-1}}').protocol, -1);
});

test('the default timings fit each other and the timeouts of clients', (t) => {
  const times = DEFAULT_TIMINGS;
  const clientMs = 30_000;
  // The longest silence: a hand-over that begins just before a beat is due, and fails.
  t.true(Math.max(times.beatMs, times.compressionFirstBeatMs) + times.dialMs + times.firstPacketMs < clientMs);
  t.true(times.silentHoldMs + times.sweepMs < 20_000, 'clients before 1.8 wait 20 s');
  t.true(times.answerMs > times.beatMs && times.answerMs < clientMs);
  t.true(times.firstByteMs < times.openingMs && times.openingMs < times.statusMs);
  t.true(times.pingMs + times.openingMs < times.statusMs);
});

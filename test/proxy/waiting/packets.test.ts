import test from 'ava';
import mc from 'minecraft-protocol';
import { ProtocolError, encodeFrame, encodeString, readFrame } from '../../../proxy/codec.ts';
import { failureDialog, waitingDialog } from '../../../proxy/waiting/dialogs.ts';
import {
  type Nbt,
  type NbtCompound,
  encodeNbt,
  brand,
  clearDialog,
  disconnect,
  isAcknowledgement,
  keepAlive,
  loginSuccess,
  readClientPacket,
  showDialog,
  transfer,
} from '../../../proxy/waiting/packets.ts';
import * as fc from '../../support/property.ts';
import { route } from '../support.ts';

const UUID = '069a79f4-44e9-4726-a5be-fca90e38aaf5';
/** The versions of minecraft-data that have dialogs, each with its protocol. */
const VERSIONS = [
  ['1.21.6', 771],
  ['1.21.8', 772],
  ['1.21.11', 774],
  ['26.1', 775],
] as const;

type State = (typeof mc.states)['LOGIN' | 'CONFIGURATION'];

interface Codec {
  parsePacketBuffer(bytes: Buffer): { data: { name: string; params: unknown }; metadata: { size: number } };
  createPacketBuffer(packet: { name: string; params: unknown }): Buffer;
}

/** Decodes a whole frame as a client of this version does. */
function understood(version: string, state: State, frame: Buffer): { name: string; params: unknown } {
  const body = readFrame(frame, 1_000_000);
  if (body?.size !== frame.length) throw new Error('not one whole frame');
  const codec = mc.createDeserializer({ state, isServer: false, version, customPackets: {} }) as Codec;
  const { data, metadata } = codec.parsePacketBuffer(body.value);
  if (metadata.size !== body.value.length)
    throw new Error(`${metadata.size} of ${body.value.length} bytes are understood`);
  return data;
}

/** Encodes a packet as a client of this version does, without the length in front. */
function sent(version: string, name: string, params: unknown = {}): Buffer {
  const codec = mc.createSerializer({ state: mc.states.CONFIGURATION, isServer: false, version, customPackets: {} });
  return (codec as Codec).createPacketBuffer({ name, params });
}

/** Converts minecraft-data's form of NBT to plain values. */
function plain({ type, value }: { type: string; value: unknown }): unknown {
  if (type === 'compound') {
    const fields = Object.entries(value as Record<string, { type: string; value: unknown }>);
    return Object.fromEntries(fields.map(([name, field]) => [name, plain(field)]));
  }
  if (type !== 'list') return value;
  const list = value as { type: string; value: unknown[] };
  return list.value.map((item) => plain({ type: list.type, value: item }));
}

function dialogOf(version: string, dialog: NbtCompound): unknown {
  const { name, params } = understood(version, mc.states.CONFIGURATION, showDialog(dialog));
  if (name !== 'show_dialog') throw new Error(name);
  return plain((params as { dialog: { type: string; value: unknown } }).dialog);
}

/** Returns a value as it reads back from NBT, which has bytes in place of booleans. */
function asRead(value: Nbt | undefined): unknown {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(asRead);
  const fields = Object.entries(value as NbtCompound).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, asRead(field)]));
}

for (const [version, protocol] of VERSIONS) {
  test(`${version}: minecraft-data decodes every packet of the waiting room`, (t) => {
    const { LOGIN, CONFIGURATION } = mc.states;
    t.deepEqual(understood(version, LOGIN, loginSuccess(UUID, 'Steve', protocol)), {
      name: 'success',
      params: { uuid: UUID, username: 'Steve', properties: [] },
    });
    t.deepEqual(understood(version, CONFIGURATION, brand('Dormouse')), {
      name: 'custom_payload',
      params: { channel: 'minecraft:brand', data: Buffer.from('\x08Dormouse') },
    });
    const { name, params } = understood(version, CONFIGURATION, keepAlive(0x0102_0304_0506_0708n));
    t.is(name, 'keep_alive');
    t.is(String((params as { keepAliveId: bigint }).keepAliveId), String(0x0102_0304_0506_0708n));
    t.is(understood(version, CONFIGURATION, clearDialog()).name, 'clear_dialog');
    t.deepEqual(understood(version, CONFIGURATION, transfer('play.example.com', 25_565)), {
      name: 'transfer',
      params: { host: 'play.example.com', port: 25_565 },
    });
    const bye = understood(version, CONFIGURATION, disconnect('§cNo', protocol));
    t.is(bye.name, 'disconnect');
    const { reason } = bye.params as { reason: { type: string; value: unknown } };
    t.deepEqual(plain(reason), { text: '', extra: [{ text: 'No', color: 'red' }] });
    const others = { names: ['Alex'], more: 0 };
    const waiting = waitingDialog({
      route: route({ motd: '§lHi\nthere' }),
      place: null,
      leftSeconds: 9,
      waitedSeconds: 1,
      others,
    });
    t.deepEqual(dialogOf(version, waiting), asRead(waiting));
    const failure = failureDialog(route(), 'It could not start.');
    t.deepEqual(dialogOf(version, failure), asRead(failure));
  });

  test(`${version}: client packets are read or ignored`, (t) => {
    t.deepEqual(readClientPacket(sent(version, 'keep_alive', { keepAliveId: [0, 7] })), { kind: 'keepAlive', id: 7n });
    const click = sent(version, 'custom_click_action', { id: 'dormouse:leave', nbt: undefined });
    t.deepEqual(readClientPacket(click), { kind: 'click', id: 'dormouse:leave' });
    for (const packet of [
      sent(version, 'custom_payload', { channel: 'minecraft:brand', data: Buffer.from('\x07vanilla') }),
      sent(version, 'pong', { id: 1 }),
      sent(version, 'finish_configuration'),
    ])
      t.deepEqual(readClientPacket(packet), { kind: 'other' });
    const acknowledged = mc.createSerializer({ state: mc.states.LOGIN, isServer: false, version, customPackets: {} });
    t.true(isAcknowledgement((acknowledged as Codec).createPacketBuffer({ name: 'login_acknowledged', params: {} })));
  });
}

test('login success has other fields in 1.20.6 and in protocol 776', (t) => {
  t.deepEqual(understood('1.20.6', mc.states.LOGIN, loginSuccess(UUID, 'Steve', 766)).params, {
    uuid: UUID,
    username: 'Steve',
    properties: [],
    strictErrorHandling: false,
  });
  t.is(loginSuccess(UUID, 'Steve', 776).length, loginSuccess(UUID, 'Steve', 775).length + 16, 'the id of a session');
});

test('any text, number, list and compound survives an NBT round trip', (t) => {
  // minecraft-data's reader expects Java's form of UTF-8, which is the same in this range except for zero.
  const unit = fc.integer({ min: 1, max: 0xd7ff }).map((code) => String.fromCharCode(code));
  const { value } = fc.letrec<{ value: Nbt }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.string({ unit, maxLength: 60 }),
      fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
      fc.boolean(),
      fc.array(fc.string({ unit, maxLength: 20 }), { minLength: 1, maxLength: 4 }),
      fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), tie('value'), { maxKeys: 5 }),
    ),
  }));
  const compound = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), value, {
    maxKeys: 6,
    noNullPrototype: true,
  });
  fc.assert(
    fc.property(compound, (fields) => {
      t.deepEqual(dialogOf('1.21.11', fields), asRead(fields));
    }),
    { numRuns: 300 },
  );
});

test('NBT text uses Java’s modified UTF-8 and is bounded, and a list holds a single type', (t) => {
  const bytes = encodeNbt({ t: 'a\0é€😀' }).toString('hex');
  t.is(bytes, `0a08000174000e61c080c3a9e282aceda0bdedb88000`);
  t.throws(() => encodeNbt({ t: 'x'.repeat(65_536) }), { instanceOf: RangeError });
  t.throws(() => encodeNbt({ t: ['a', 1] }), { instanceOf: TypeError });
});

test('a client packet shorter than its fields is refused and never read past its end', (t) => {
  for (const frame of [encodeFrame(0x04, Buffer.alloc(7)), encodeFrame(0x04, Buffer.alloc(9)), encodeFrame(0x08)]) {
    const body = readFrame(frame, 100);
    t.throws(() => readClientPacket(body?.value ?? frame), { instanceOf: ProtocolError });
  }
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (bytes) => {
      try {
        readClientPacket(Buffer.from(bytes));
      } catch (error) {
        t.true(error instanceof ProtocolError);
      }
    }),
  );
  t.deepEqual(readClientPacket(Buffer.concat([Buffer.from([8]), encodeString('other:id')])), {
    kind: 'click',
    id: 'other:id',
  });
});

import { randomBytes } from 'node:crypto';
import { FrameReader, ProtocolError, encodeFrame, encodeString, encodeVarInt } from '../codec.ts';
import { PROTOCOL } from '../handshake.ts';
import { type TextComponent, toComponent } from '../text.ts';
import { type NbtCompound, encodeNbt } from './nbt.ts';

/**
 * The packets that keep a logged-in client in the configuration state and transfer it. Their ids and fields have not
 * changed since they were introduced: dialogs in 1.21.6, all others in 1.20.5. minecraft-data confirms this up to 26.1;
 * 26.2 changed only the login success.
 */
const FROM_US = {
  customPayload: 0x01,
  disconnect: 0x02,
  keepAlive: 0x04,
  transfer: 0x0b,
  clearDialog: 0x11,
  showDialog: 0x12,
} as const;
const FROM_CLIENT = { keepAlive: 0x04, customClick: 0x08 } as const;
const LOGIN_SUCCESS = 0x02;
const LOGIN_ACKNOWLEDGED = 0x03;
const BRAND_CHANNEL = 'minecraft:brand';
const ID_UNITS = 32_767;

/** The relevant packets of the configuration state. */
export type ClientPacket = { kind: 'keepAlive'; id: bigint } | { kind: 'click'; id: string } | { kind: 'other' };

/** Encodes the packet that completes the login under the claimed name and UUID. The caller encrypts it if necessary. */
export function loginSuccess(uuid: string, name: string, protocol: number): Buffer {
  const fields = [Buffer.from(uuid.replaceAll('-', ''), 'hex'), encodeString(name), encodeVarInt(0)];
  // "Strict error handling".
  if (protocol >= PROTOCOL.V1_20_5 && protocol < PROTOCOL.V1_21_2) fields.push(Buffer.from([0]));
  // Session id.
  if (protocol >= PROTOCOL.V26_2) fields.push(randomBytes(16));
  return encodeFrame(LOGIN_SUCCESS, ...fields);
}

/** Reports whether this is the answer to Login Success, after which the configuration state begins. */
export function isAcknowledgement(body: Buffer): boolean {
  return body.length === 1 && body[0] === LOGIN_ACKNOWLEDGED;
}

export function brand(name: string): Buffer {
  return encodeFrame(FROM_US.customPayload, encodeString(BRAND_CHANNEL), encodeString(name));
}

export function keepAlive(id: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(id);
  return encodeFrame(FROM_US.keepAlive, bytes);
}

/** Replaces the open dialog. */
export function showDialog(dialog: NbtCompound): Buffer {
  return encodeFrame(FROM_US.showDialog, encodeNbt(dialog));
}

export function clearDialog(): Buffer {
  return encodeFrame(FROM_US.clearDialog);
}

/** Makes the client reconnect to `host` and `port`. Its handshake then has the intent `transfer`. */
export function transfer(host: string, port: number): Buffer {
  return encodeFrame(FROM_US.transfer, encodeString(host), encodeVarInt(port));
}

/** Ends the connection and shows a text on the client's screen; `§` codes are allowed. */
export function disconnect(text: string, protocol: number): Buffer {
  return encodeFrame(FROM_US.disconnect, encodeNbt(componentNbt(toComponent(text, protocol))));
}

/** Encodes a text component for packets of this state. */
export function componentNbt({ extra, ...own }: TextComponent): NbtCompound {
  return { ...own, extra: extra?.map(componentNbt) };
}

/** Reads a client packet. Throws ProtocolError if it is shorter than its fields. */
export function readClientPacket(body: Buffer): ClientPacket {
  const reader = new FrameReader(body);
  switch (reader.varInt()) {
    case FROM_CLIENT.keepAlive: {
      const id = reader.bytes(8).readBigInt64BE();
      if (reader.remaining > 0) throw new ProtocolError('keep-alive with more than its id');
      return { kind: 'keepAlive', id };
    }
    case FROM_CLIENT.customClick:
      return { kind: 'click', id: reader.string(ID_UNITS) };
    default:
      return { kind: 'other' };
  }
}

/**
 * The part of a Minecraft client that a login needs (protocol: minecraft.wiki Java Edition protocol, "Login"). The bot
 * never acknowledges a login, so games since 1.20.2 do not let it into their world.
 */
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { inflateSync } from 'node:zlib';
import {
  FrameReader,
  ProtocolError,
  encodeFrame,
  encodeString,
  encodeVarInt,
  readFrame,
  readVarInt,
} from '../../proxy/codec.ts';
import { PROTOCOL } from '../../proxy/handshake.ts';
import type { Address } from '../../proxy/ports.ts';
import { cleanText, wordsOf } from '../../proxy/text.ts';
import { offlineUuid } from '../game/players/profiles.ts';
import { MIB } from '../kernel/units.ts';

export const BOT_NAME = 'TryAJoin';

/** The answer to a login. `account`: the bot must prove a Minecraft account. `text` is what a client shows. */
export type LoginAnswer = { kind: 'in' } | { kind: 'account' } | { kind: 'refused'; text: string };

/** Also the limit of a packet after decompression. Mod loaders send the longest ones. */
const MOST_BYTES = MIB;
/** Limits of a login. The game's software is its owner's, and may send packets without end. */
const MOST_PACKETS = 256;
const MOST_READ = 4 * MIB;
const TEXT_UNITS = 2_048;
const KEY_UNITS = 32_767;
const LOGIN = 2;
const NO = Buffer.from([0]);
/**
 * Mod loaders append data after this mark. Such clients wait on the loading screen and not in the waiting room, whose
 * Login Success comes from the proxy and says nothing about the game.
 */
const MARK = '\0';

/** The game's own refusals, which it sends as keys of the client's translations. */
const TRANSLATED: Readonly<Record<string, string>> = {
  not_whitelisted: 'You are not white-listed on this server!',
  banned: 'You are banned from this server.',
  'banned.reason': 'You are banned from this server.',
  banned_ip: 'Your IP address is banned from this server.',
  'banned_ip.reason': 'Your IP address is banned from this server.',
  server_full: 'The server is full!',
  incompatible: 'Incompatible client version.',
  outdated_client: 'Outdated client version.',
  outdated_server: 'The server is older than the client.',
  name_taken: 'That name is already taken.',
};

/** Connects. Rejects with the socket's error. The connection ends when `signal` fires. */
export async function reach(address: Address, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect({ ...address, noDelay: true, signal });
  // An error after the connection ends the reads, which report it.
  await once(socket, 'connect', { signal });
  return socket;
}

/**
 * Logs in and leaves at the first answer. Packets that keep a held client connected are answered until then. `host` and
 * `port`: the address that a player has typed. Rejects with a socket error, a ProtocolError, or an Error if the
 * connection ends without an answer.
 */
export async function logIn(socket: Socket, { host, port }: Address, protocol: number): Promise<LoginAnswer> {
  const portBytes = Buffer.alloc(2);
  portBytes.writeUInt16BE(port);
  const address = [encodeVarInt(protocol), encodeString(host + MARK), portBytes, encodeVarInt(LOGIN)];
  socket.write(Buffer.concat([encodeFrame(0x00, ...address), loginStart(protocol)]));
  let isCompressed = false;
  let packets = 0;
  let bytesRead = 0;
  for await (const body of frames(socket)) {
    const content = isCompressed ? inflated(body) : body;
    packets += 1;
    bytesRead += content.length;
    if (packets > MOST_PACKETS || bytesRead > MOST_READ) throw new ProtocolError('too many packets before an answer');
    const reader = new FrameReader(content);
    const send = (id: number, ...fields: Buffer[]) => {
      // A zero before the packet: it is not compressed.
      const packet = Buffer.concat([encodeVarInt(id), ...fields]);
      socket.write(isCompressed ? encodeFrame(0, packet) : encodeFrame(id, ...fields));
    };
    switch (reader.varInt()) {
      case 0x00:
        return { kind: 'refused', text: refusalText(reader.string(KEY_UNITS * 8)) };
      case 0x01:
        return { kind: 'account' };
      case 0x02:
        return { kind: 'in' };
      case 0x03:
        isCompressed = reader.varInt() >= 0;
        break;
      case 0x04:
        // Not understood, as every client answers on a channel that it does not know.
        send(0x02, encodeVarInt(reader.varInt()), NO);
        break;
      case 0x05:
        send(0x04, encodeString(reader.string(KEY_UNITS)), NO);
    }
  }
  throw new Error('closed without an answer');
}

/** Yields the content of each frame. Leaving the loop closes the connection. */
async function* frames(socket: Socket): AsyncGenerator<Buffer> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    bytes = Buffer.concat([bytes, chunk]);
    for (let frame = readFrame(bytes, MOST_BYTES); frame; frame = readFrame(bytes, MOST_BYTES)) {
      bytes = bytes.subarray(frame.size);
      yield frame.value;
    }
  }
}

function inflated(body: Buffer): Buffer {
  const length = readVarInt(body);
  const packet = body.subarray(length?.size ?? 0);
  return length?.value === 0 ? packet : inflateSync(packet, { maxOutputLength: MOST_BYTES });
}

function loginStart(protocol: number): Buffer {
  const name = encodeString(BOT_NAME);
  if (protocol >= PROTOCOL.V1_20_2)
    return encodeFrame(0x00, name, Buffer.from(offlineUuid(BOT_NAME).replaceAll('-', ''), 'hex'));
  // Neither a chat key (1.19 to 1.19.2) nor a UUID (from 1.19.1).
  const absent = [
    ...(protocol >= PROTOCOL.V1_19 && protocol < PROTOCOL.V1_19_3 ? [NO] : []),
    ...(protocol >= PROTOCOL.V1_19_1 ? [NO] : []),
  ];
  return encodeFrame(0x00, name, ...absent);
}

/** Returns a refusal as a client shows it, on one line. */
function refusalText(json: string): string {
  const component: unknown = JSON.parse(json);
  const key = typeof component === 'object' && component !== null && 'translate' in component && component.translate;
  const text = typeof key === 'string' ? translated(key) : wordsOf(component);
  return cleanText(text, TEXT_UNITS).replaceAll(/\s+/g, ' ').trim();
}

function translated(key: string): string {
  return TRANSLATED[key.replace('multiplayer.disconnect.', '')] ?? key;
}

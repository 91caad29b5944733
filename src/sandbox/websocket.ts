import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** RFC 6455 §1.3: what a server adds to the client's key, to show that it speaks this protocol. */
const proof = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const text = 1;
const close = 8;
const ping = 9;
const pong = 10;
/** RFC 6455 §7.4.1. */
const protocolError = 1002;
const unsupported = 1003;
const tooBig = 1009;
/** What may wait for a client that does not read. */
const maxUnsentBytes = 4 * 1024 * 1024;

/** A connection that carries texts, seen from its server. */
export interface TextSocket {
  send(message: string): void;
  close(): void;
}

export interface TextSocketOptions {
  socket: Duplex;
  /** What has arrived behind the client's request. */
  head: Buffer;
  /** A client that sends more in one message is hung up on. */
  maxMessageBytes: number;
  /** What is sent back for a text, if anything. */
  answer: (message: string) => string | undefined;
}

/** The key a client asks with; undefined where its request is for no WebSocket of this version. */
export function webSocketKey({ method, headers }: IncomingMessage): string | undefined {
  const key = headers['sec-websocket-key'];
  const asked = method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
  return asked && headers['sec-websocket-version'] === '13' ? key : undefined;
}

/** Takes a client's request up (RFC 6455 §4.2.2) and reads its messages: whole texts of one frame each, as clients of the game send. */
export function openTextSocket(key: string, { socket, head, maxMessageBytes, answer }: TextSocketOptions): TextSocket {
  let pending = head;
  const send = (opcode: number, payload: Buffer) => {
    if (socket.writableLength > maxUnsentBytes) socket.destroy();
    else if (socket.writable) socket.write(encodeFrame(opcode, payload));
  };
  const sendText = (message: string | undefined) => {
    if (message !== undefined) send(text, Buffer.from(message));
  };
  const hangUp = (code: number) => {
    send(close, Buffer.from([code >> 8, code & 0xff]));
    socket.end();
  };
  const receive = () => {
    for (;;) {
      const frame = decodeFrame(pending, maxMessageBytes);
      if (typeof frame === 'number') return hangUp(frame);
      if (!frame || socket.writableEnded) return;
      pending = pending.subarray(frame.length);
      if (frame.opcode === text) sendText(answer(frame.payload.toString()));
      else if (frame.opcode === ping) send(pong, frame.payload);
      else if (frame.opcode === close) return hangUp(1000);
      else if (frame.opcode !== pong) return hangUp(unsupported);
    }
  };
  const accept = createHash('sha1').update(`${key}${proof}`).digest('base64');
  const reply = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
  socket.write(`${[...reply, `Sec-WebSocket-Accept: ${accept}`].join('\r\n')}\r\n\r\n`);
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    receive();
  });
  receive();
  return { send: sendText, close: () => hangUp(1000) };
}

/** A whole frame and the length it took; undefined: there is more to come; a number: the code to hang up with. */
function decodeFrame(
  bytes: Buffer,
  maxBytes: number,
): { opcode: number; payload: Buffer; length: number } | number | undefined {
  if (bytes.length < 2) return undefined;
  const opcode = bytes[0]! & 0x0f;
  // Only whole messages without extensions, and masked ones: every client's are (RFC 6455 §5.1).
  if ((bytes[0]! & 0xf0) !== 0x80 || (bytes[1]! & 0x80) === 0) return protocolError;
  const short = bytes[1]! & 0x7f;
  if (opcode >= close && short > 125) return protocolError;
  const maskAt = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (bytes.length < maskAt + 4) return undefined;
  const size = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
  if (size > maxBytes) return tooBig;
  const length = maskAt + 4 + size;
  if (bytes.length < length) return undefined;
  const payload = Buffer.from(bytes.subarray(maskAt + 4, length));
  for (let at = 0; at < size; at++) payload[at]! ^= bytes[maskAt + (at & 3)]!;
  return { opcode, payload, length };
}

function encodeFrame(opcode: number, payload: Buffer): Buffer {
  const size = payload.length;
  const header = Buffer.alloc(size > 0xffff ? 10 : size > 125 ? 4 : 2);
  header[0] = 0x80 | opcode;
  header[1] = size > 0xffff ? 127 : size > 125 ? 126 : size;
  if (size > 0xffff) header.writeBigUInt64BE(BigInt(size), 2);
  else if (size > 125) header.writeUInt16BE(size, 2);
  return Buffer.concat([header, payload]);
}

import { createHash, randomBytes } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Address } from '../ports.ts';

/** RFC 6455 §1.3: what a server adds to our key, to show that it speaks this protocol. */
const PROOF = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const CONTINUATION = 0;
const TEXT = 1;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const MAX_HEADER_BYTES = 8 * 1024;
/** What may wait for a server that does not read. */
const MAX_UNSENT_BYTES = 64 * 1024;
/** Each frame counts as one that is longer by this, as many small ones cost more than a large one. */
const FRAME_BYTES = 1024;

export interface WebSocketClientOptions {
  headers: Record<string, string>;
  maxMessageBytes: number;
  /** A server that sends more than this in a second has something else in mind. */
  maxBytesPerSecond: number;
  opened: () => void;
  /** A whole message. */
  text: (message: string) => void;
  /** It is over; called once, and for `destroy` too. */
  ended: (cause: Error) => void;
}

interface Frame {
  fin: boolean;
  opcode: number;
  payload: Buffer;
  /** With its header. */
  length: number;
}

/**
 * The client's side of a WebSocket (RFC 6455) that carries texts, in clear, without extensions. Node's own buffers 128 MiB
 * of a message, waits without end for a server that does not answer its close, and keeps the process alive; this one trusts
 * nobody, hangs up rather than closes, and does not.
 */
export class WebSocketClient {
  readonly #options: WebSocketClientOptions;
  readonly #abort = new AbortController();
  #socket: Duplex | undefined;
  #received: Buffer = Buffer.alloc(0);
  #message: Buffer[] = [];
  #messageBytes = 0;
  #second = 0;
  #bytesThisSecond = 0;
  #over = false;

  constructor({ host, port }: Address, options: WebSocketClientOptions) {
    this.#options = options;
    const key = randomBytes(16).toString('base64');
    const asking = request({
      host,
      port,
      agent: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      signal: this.#abort.signal,
      headers: {
        ...options.headers,
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Key': key,
        'Sec-WebSocket-Version': '13',
      },
    });
    asking.on('socket', (socket) => socket.unref());
    asking.on('error', (error) => this.#end(error));
    asking.on('response', ({ statusCode }) => this.#end(new Error(`refused with status ${statusCode}`)));
    asking.on('upgrade', (response, socket, head) => this.#open(response, socket, head, key));
    asking.end();
  }

  get isOpen(): boolean {
    return this.#socket !== undefined && !this.#over;
  }

  send(message: string): void {
    this.#write(TEXT, Buffer.from(message));
  }

  destroy(): void {
    this.#end(new Error('hung up'));
  }

  #open(response: IncomingMessage, socket: Duplex, head: Buffer, key: string): void {
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the connection was closed')));
    const accept = createHash('sha1').update(`${key}${PROOF}`).digest('base64');
    if (this.#over || response.headers['sec-websocket-accept'] !== accept) {
      socket.destroy();
      return this.#end(new Error('what answers there is no WebSocket'));
    }
    this.#socket = socket;
    this.#options.opened();
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    this.#receive(head);
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    while (!this.#over) {
      const frame = decodeFrame(this.#received, this.#options.maxMessageBytes);
      if (frame instanceof Error) return this.#end(frame);
      if (frame === undefined) return;
      this.#received = this.#received.subarray(frame.length);
      if (this.#isTooMuch(frame.length)) return this.#end(new Error('the server sends without end'));
      this.#take(frame);
    }
  }

  #take({ fin, opcode, payload }: Frame): void {
    if (opcode === PING) return this.#write(PONG, payload);
    if (opcode === PONG) return;
    const begun = this.#message.length > 0;
    if (opcode !== (begun ? CONTINUATION : TEXT)) {
      const cause = opcode === CLOSE ? 'the server closed' : 'the server sent what is no text';
      return this.#end(new Error(cause));
    }
    this.#message.push(payload);
    this.#messageBytes += payload.length + FRAME_BYTES;
    if (this.#messageBytes > this.#options.maxMessageBytes) return this.#end(new Error('the message is too big'));
    if (!fin) return;
    const message = Buffer.concat(this.#message).toString();
    this.#message = [];
    this.#messageBytes = 0;
    this.#options.text(message);
  }

  #isTooMuch(bytes: number): boolean {
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.#second) this.#bytesThisSecond = 0;
    this.#second = second;
    this.#bytesThisSecond += bytes + FRAME_BYTES;
    return this.#bytesThisSecond > this.#options.maxBytesPerSecond;
  }

  #write(opcode: number, payload: Buffer): void {
    if (!this.#socket || this.#over) return;
    if (this.#socket.writableLength > MAX_UNSENT_BYTES) return this.#end(new Error('the server does not read'));
    this.#socket.write(encodeFrame(opcode, payload));
  }

  #end(cause: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#socket?.destroy();
    this.#abort.abort();
    this.#options.ended(cause);
  }
}

/** The first frame of some bytes; undefined: there is more to come; an error: never a frame of a server's that we take. */
function decodeFrame(bytes: Buffer, maxBytes: number): Frame | Error | undefined {
  if (bytes.length < 2) return undefined;
  const [first = 0, second = 0] = bytes;
  const opcode = first & 0x0f;
  const fin = (first & 0x80) !== 0;
  const short = second & 0x7f;
  // Reserved bits belong to extensions, and only clients mask.
  if ((first & 0x70) !== 0 || (second & 0x80) !== 0) return new Error('the frame is not one of RFC 6455');
  if (opcode >= CLOSE && (short > 125 || !fin)) return new Error('the control frame is not one of RFC 6455');
  const headerLength = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (bytes.length < headerLength) return undefined;
  const size = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
  if (size > maxBytes) return new Error('the message is too big');
  const length = headerLength + size;
  if (bytes.length < length) return undefined;
  return { fin, opcode, payload: bytes.subarray(headerLength, length), length };
}

/** A whole message in one frame, masked as a client's must be (RFC 6455 §5.3). */
function encodeFrame(opcode: number, payload: Buffer): Buffer {
  const size = payload.length;
  const header = Buffer.alloc(size > 125 ? 4 : 2);
  header[0] = 0x80 | opcode;
  header[1] = 0x80 | (size > 125 ? 126 : size);
  if (size > 125) header.writeUInt16BE(size, 2);
  const mask = randomBytes(4);
  return Buffer.concat([header, mask, payload.map((byte, at) => byte ^ mask[at & 3]!)]);
}

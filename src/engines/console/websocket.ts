import { WebSocket } from 'ws';
import { type Address, hostAndPort } from '../../kernel/address.ts';
import type { Clock } from '../../kernel/clock.ts';
import { KIB } from '../../kernel/units.ts';

const MAX_HEADER_BYTES = 8 * KIB;
/** Maximum number of bytes that wait for a server that does not read. */
const MAX_UNSENT_BYTES = 64 * KIB;
/** Extra bytes counted for each message or ping, because many small ones cost more than a large one. */
const MESSAGE_BYTES = 1024;
const MAX_FRAGMENTS = 256;

export interface WebSocketClientOptions {
  headers: Record<string, string>;
  maxMessageBytes: number;
  /** A server that sends more than this in a second is disconnected. */
  maxBytesPerSecond: number;
  clock: Clock;
  opened: () => void;
  /** Called with each complete message. */
  text: (message: string) => void;
  /** Called once when the connection has ended, including after `destroy`. */
  ended: (cause: Error) => void;
}

/**
 * A WebSocket client (RFC 6455) for text messages, without TLS. The server may run untrusted code. So messages are
 * limited in size, fragments and bytes per second, compression is off, and the connection is dropped without a closing
 * handshake. It does not keep this process alive.
 */
export class WebSocketClient {
  readonly #options: WebSocketClientOptions;
  readonly #socket: WebSocket;
  #second = 0;
  #bytesThisSecond = 0;
  #over = false;

  constructor(address: Address, options: WebSocketClientOptions) {
    this.#options = options;
    this.#socket = new WebSocket(`ws://${hostAndPort(address)}`, {
      headers: options.headers,
      maxPayload: options.maxMessageBytes,
      maxFragments: MAX_FRAGMENTS,
      perMessageDeflate: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      agent: false,
      finishRequest(request) {
        request.on('socket', (socket) => socket.unref());
        request.end();
      },
    });
    this.#socket.on('open', () => options.opened());
    this.#socket.on('message', (data: Buffer, isBinary) => this.#take(data, isBinary));
    this.#socket.on('ping', (data) => this.#count(data.length));
    this.#socket.on('pong', (data) => this.#count(data.length));
    this.#socket.on('upgrade', ({ socket }) =>
      socket.once('end', () => this.#end(new Error('the server closed the connection'))),
    );
    this.#socket.on('error', (error) => this.#end(error));
    this.#socket.on('close', () => this.#end(new Error('the connection was closed')));
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN && !this.#over;
  }

  send(message: string): void {
    if (!this.isOpen) return;
    if (this.#socket.bufferedAmount > MAX_UNSENT_BYTES) return this.#end(new Error('the server does not read'));
    this.#socket.send(message);
  }

  destroy(): void {
    this.#end(new Error('the service closed the connection'));
  }

  #take(data: Buffer, isBinary: boolean): void {
    if (this.#over) return;
    if (isBinary) return this.#end(new Error('the server sent a binary message'));
    this.#count(data.length);
    if (!this.#over) this.#options.text(data.toString());
  }

  #count(bytes: number): void {
    const second = Math.floor(this.#options.clock.now() / 1_000);
    if (second !== this.#second) this.#bytesThisSecond = 0;
    this.#second = second;
    this.#bytesThisSecond += bytes + MESSAGE_BYTES;
    if (this.#bytesThisSecond > this.#options.maxBytesPerSecond) this.#end(new Error('the server sends too much'));
  }

  #end(cause: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#socket.terminate();
    this.#options.ended(cause);
  }
}

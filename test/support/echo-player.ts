import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { FrameReader, encodeFrame, encodeString, encodeVarInt, readFrame } from '../../proxy/codec.ts';

const PROTOCOL = 765;
const LET_IN_BYTES = 3;
const RECORD_BYTES = 64;
/** The interval between two packets of one player. */
const EVERY_MS = 50;

/**
 * A player of the echo core (`test/fixtures/echo-core`). Sends packets all the time, and checks the echo byte by byte.
 */
export class EchoPlayer {
  readonly socket: Socket;
  /** The first failure, such as a closed connection or a wrong byte. */
  failure: string | undefined;
  sent = 0;
  received = 0;
  /** The longest time between a packet and its echo, ms. */
  worstMs = 0;
  #skipped = 0;
  #timer: NodeJS.Timeout | undefined;
  #isLeaving = false;
  readonly #sentAt: number[] = [];
  readonly #joined = Promise.withResolvers<void>();

  constructor(port: number, host: string, name: string) {
    this.socket = connect({ host: '127.0.0.1', port, noDelay: true });
    const address = [encodeVarInt(PROTOCOL), encodeString(host), Buffer.from([0x63, 0xdd]), encodeVarInt(2)];
    this.socket.write(
      Buffer.concat([encodeFrame(0, ...address), encodeFrame(0, encodeString(name), Buffer.alloc(16, 7))]),
    );
    this.socket.on('data', (chunk) => this.#take(chunk));
    this.socket.on('error', (error) => this.#fail(error.message));
    this.socket.on('close', () => this.#fail('cut off'));
    this.#joined.promise.catch(() => {});
  }

  /** Resolves when the game has accepted the player. Rejects if that fails. */
  joined(): Promise<void> {
    return this.#joined.promise;
  }

  play(): void {
    this.#send();
    this.#timer = setInterval(() => this.#send(), EVERY_MS);
  }

  /** Stops sending. Resolves when every byte has come back, or after a failure. */
  async pause(): Promise<void> {
    clearInterval(this.#timer);
    while (this.received < this.sent && this.failure === undefined) await once(this.socket, 'data').catch(() => {});
  }

  leave(): void {
    this.#isLeaving = true;
    clearInterval(this.#timer);
    this.socket.destroy();
  }

  #send(): void {
    const record = Buffer.alloc(RECORD_BYTES);
    for (let at = 0; at < RECORD_BYTES; at++) record[at] = byteAt(this.sent + at);
    this.sent += RECORD_BYTES;
    this.#sentAt.push(performance.now());
    this.socket.write(record);
  }

  #take(chunk: Buffer): void {
    let bytes = chunk;
    if (this.#skipped < LET_IN_BYTES) {
      // A plugin request, by which a proxy holds the login. The echo core accepts with another packet.
      if (this.#skipped === 0 && bytes[1] === 0x04) return this.#answer(bytes);
      // A Disconnect: its packet id follows a length of one or two bytes.
      if (this.#skipped === 0 && (bytes[0] !== 2 || bytes[1] !== 2))
        return this.#fail(`refused: ${bytes.toString('utf8', 0, 300)}`);
      const skipped = Math.min(LET_IN_BYTES - this.#skipped, bytes.length);
      this.#skipped += skipped;
      bytes = bytes.subarray(skipped);
      if (this.#skipped === LET_IN_BYTES) this.#joined.resolve();
    }
    for (const byte of bytes)
      if (byte !== byteAt(this.received++)) return this.#fail(`a wrong byte at ${this.received}`);
    const echoes = Math.floor(this.received / RECORD_BYTES) - (this.sent / RECORD_BYTES - this.#sentAt.length);
    for (const at of this.#sentAt.splice(0, echoes)) this.worstMs = Math.max(this.worstMs, performance.now() - at);
  }

  /** Answers a plugin request with "not understood". */
  #answer(bytes: Buffer): void {
    const frame = readFrame(bytes, 1_024);
    if (!frame) throw new Error('half a plugin request');
    const reader = new FrameReader(frame.value);
    reader.varInt();
    this.socket.write(encodeFrame(0x02, encodeVarInt(reader.varInt()), Buffer.from([0])));
    if (bytes.length > frame.size) this.#take(bytes.subarray(frame.size));
  }

  #fail(why: string): void {
    if (this.#isLeaving) return;
    this.failure ??= why;
    this.#joined.reject(new Error(why));
  }
}

function byteAt(offset: number): number {
  return (offset * 31 + (offset >> 8) * 17) & 0xff;
}

import type { Socket } from 'node:net';
import { type Parse, ProtocolError } from './codec.ts';

/** The other side has closed the connection, or will send nothing more. */
export class PeerGone extends Error {
  constructor() {
    super('the other side has closed the connection');
    this.name = 'PeerGone';
  }
}

const NOTHING = Buffer.alloc(0);

/**
 * The bytes that a client sends before the relay starts. They are parsed in order, regardless of segmentation. After
 * `limitBytes` bytes, every read fails with a ProtocolError.
 */
export class Inbox {
  readonly #socket: Socket;
  #limitBytes: number;
  #bytes: Buffer = NOTHING;
  /** Contains `#bytes`, with free space after them. */
  #store: Buffer = NOTHING;
  #received = 0;
  #failure: Error | undefined;
  #hasEnded = false;
  #retry: (() => void) | undefined;

  constructor(socket: Socket, limitBytes: number) {
    this.#socket = socket;
    this.#limitBytes = limitBytes;
    socket.on('data', this.#onData).on('end', this.#onGone).on('close', this.#onGone);
  }

  /** Bytes received so far. */
  get received(): number {
    return this.#received;
  }

  /** Sets the limit on all bytes received. */
  setLimit(limitBytes: number): void {
    this.#limitBytes = limitBytes;
  }

  /** The bytes received but not consumed. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Returns the next value if it has arrived completely. Throws the errors that `take` rejects with. */
  ready<T extends object>(parse: Parse<T>): T | undefined {
    const parsed = this.#bytes.length === 0 ? undefined : parse(this.#bytes);
    if (parsed) {
      this.#bytes = parsed.size === this.#bytes.length ? NOTHING : this.#bytes.subarray(parsed.size);
      return parsed.value;
    }
    if (this.#failure || this.#hasEnded) throw this.#failure ?? new PeerGone();
    return undefined;
  }

  /**
   * Resolves with the next value once `parse` finds it. One call at a time. Rejects with ProtocolError, or with
   * PeerGone if the client leaves first. With `withinMs`: resolves with undefined after that time.
   */
  take<T extends object>(parse: Parse<T>): Promise<T>;
  take<T extends object>(parse: Parse<T>, withinMs: number): Promise<T | undefined>;
  take<T extends object>(parse: Parse<T>, withinMs?: number): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: () => void): void => {
        if (timer) clearTimeout(timer);
        this.#retry = undefined;
        outcome();
      };
      const timer = withinMs === undefined ? undefined : setTimeout(() => settle(() => resolve(undefined)), withinMs);
      this.#retry = (): void => {
        try {
          const value = this.ready(parse);
          if (value) settle(() => resolve(value));
        } catch (error) {
          settle(() => reject(error));
        }
      };
      this.#retry();
    });
  }

  /** Releases the socket for good. Returns the unread bytes and whether the client has ended its side. */
  release(): { rest: Buffer; ended: boolean } {
    this.#socket.off('data', this.#onData).off('end', this.#onGone).off('close', this.#onGone);
    this.#retry = undefined;
    return { rest: this.#bytes, ended: this.#hasEnded };
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#failure) return;
    this.#received += chunk.length;
    this.#append(chunk);
    this.#retry?.();
    if (this.#received <= this.#limitBytes) return;
    this.#failure = new ProtocolError(`more than ${this.#limitBytes} bytes before the login`);
    this.#bytes = this.#store = NOTHING;
    this.#socket.pause();
    this.#retry?.();
  };

  /** Doubles the store when it is full, so that a large frame in small pieces is not copied with each piece. */
  #append(chunk: Buffer): void {
    const used = this.#bytes.length;
    if (used === 0) {
      this.#bytes = this.#store = chunk;
      return;
    }
    let begin = this.#bytes.byteOffset - this.#store.byteOffset;
    if (begin + used + chunk.length > this.#store.length) {
      this.#store = Buffer.allocUnsafeSlow(2 * used + chunk.length);
      begin = 0;
      this.#bytes.copy(this.#store);
    }
    chunk.copy(this.#store, begin + used);
    this.#bytes = this.#store.subarray(begin, begin + used + chunk.length);
  }

  readonly #onGone = (): void => {
    this.#hasEnded = true;
    this.#retry?.();
  };
}

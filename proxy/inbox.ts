import type { Socket } from 'node:net';
import { type Parse, ProtocolError } from './codec.ts';

/** The other side has closed the connection, or nothing more will come from it. */
export class PeerGone extends Error {
  constructor() {
    super('the other side has gone');
    this.name = 'PeerGone';
  }
}

const NOTHING = Buffer.alloc(0);

/**
 * The bytes a client sends before the relay starts, parsed from the front regardless of how they were split into
 * segments. Reads at most `limitBytes` from the socket; more end every read with a ProtocolError.
 */
export class Inbox {
  readonly #socket: Socket;
  #limitBytes: number;
  #bytes: Buffer = NOTHING;
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

  /** From now on so many bytes are taken in all. */
  raiseLimit(limitBytes: number): void {
    this.#limitBytes = limitBytes;
  }

  /** Received and not taken yet. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  /** The next value, if all of it is here. Throws as `take` rejects. */
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
   * The next value, once `parse` finds it. One at a time. Rejects with ProtocolError, or with PeerGone if the client
   * leaves first. With `withinMs`: undefined if it takes longer.
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
    this.#received += chunk.length;
    if (this.#received > this.#limitBytes) {
      this.#failure = new ProtocolError(`more than ${this.#limitBytes} bytes before the login`);
      this.#bytes = NOTHING;
      this.#socket.pause();
    } else {
      this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    }
    this.#retry?.();
  };

  readonly #onGone = (): void => {
    this.#hasEnded = true;
    this.#retry?.();
  };
}

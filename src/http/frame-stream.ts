import { Readable } from 'node:stream';
import { KIB } from '../kernel/units.ts';

/** Most bytes buffered for a client that reads slower than the stream is written. */
const BOUND_BYTES = 256 * KIB;
/** Memory of a buffered frame in addition to its characters. */
const FRAME_BYTES = 64;
/** Most characters passed on at once. Frames behind it can still be dropped. */
const CHUNK_CHARS = 64 * KIB;

/**
 * The overflow policy if frames do not fit: a function drops the oldest and returns a message with their number; `end`
 * ends the stream.
 */
export type Overflow = ((leftOut: number) => string) | 'end';

/** A stream of frames to one client. Buffers at most 256 KiB, however slowly the client reads. */
export class FrameStream extends Readable {
  readonly #overflow: Overflow;
  readonly #waiting: string[] = [];
  #bytes = 0;
  /** Bytes by which an unread replay may exceed the bound. */
  #replayed = 0;
  #leftOut = 0;
  #wanted = false;
  #over = false;

  constructor(overflow: Overflow) {
    super({ highWaterMark: 16 * KIB });
    this.#overflow = overflow;
  }

  /** Whether frames, or the end, are waiting for the client to read. */
  get isBehind(): boolean {
    return this.#waiting.length > 0 || this.#over;
  }

  /**
   * Sends these frames first, without dropping any. They are stored elsewhere too, so buffering them costs no memory.
   */
  replay(frames: readonly string[]): void {
    if (this.#over) return;
    this.#waiting.push(...frames);
    this.#replayed = frames.reduce((sum, frame) => sum + sizeOf(frame), 0);
    this.#bytes += this.#replayed;
    this.#feed();
  }

  send(frame: string): void {
    if (this.#over) return;
    this.#waiting.push(frame);
    this.#bytes += sizeOf(frame);
    if (this.#bytes > BOUND_BYTES + this.#replayed) this.#makeRoom();
    this.#feed();
  }

  /** Ends the stream after the buffered frames, or, with `now`, at once because the client has lost access. */
  end(when: 'behind' | 'now' = 'behind'): void {
    this.#over = true;
    if (when === 'now') this.#forget();
    this.#feed();
  }

  override _read(): void {
    this.#wanted = true;
    this.#feed();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#over = true;
    this.#forget();
    done(error);
  }

  #feed(): void {
    if (!this.#wanted) return;
    if (this.#waiting.length > 0) {
      this.#wanted = false;
      this.push(this.#take());
    } else if (this.#over && !this.destroyed) {
      this.#wanted = false;
      this.push(null);
    }
  }

  #take(): string {
    let count = 0;
    for (let chars = 0; count < this.#waiting.length && chars < CHUNK_CHARS; count++)
      chars += this.#waiting[count]!.length;
    const taken = this.#waiting.splice(0, count);
    for (const frame of taken) this.#bytes -= sizeOf(frame);
    this.#replayed = Math.min(this.#replayed, this.#bytes);
    if (this.#leftOut > 0 && this.#overflow !== 'end') taken.unshift(this.#overflow(this.#leftOut));
    this.#leftOut = 0;
    return taken.join('');
  }

  #makeRoom(): void {
    if (this.#overflow === 'end') return this.end('now');
    while (this.#bytes > BOUND_BYTES + this.#replayed) {
      this.#bytes -= sizeOf(this.#waiting.shift()!);
      this.#replayed = Math.min(this.#replayed, this.#bytes);
      this.#leftOut++;
    }
  }

  #forget(): void {
    this.#waiting.length = 0;
    this.#bytes = 0;
  }
}

function sizeOf(frame: string): number {
  return frame.length + FRAME_BYTES;
}

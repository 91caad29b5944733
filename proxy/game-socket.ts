import { type Socket, connect } from 'node:net';
import { readFrame, readVarInt } from './codec.ts';
import type { Address } from './ports.ts';

/** Takes a chunk that is valid only until the call returns true; false: it is still in use, read no further. */
export type Consumer = (chunk: Buffer) => boolean;

/** How a game opens: with a login Disconnect, with anything else, or (so far) not at all. */
export type FirstPacket = 'disconnect' | 'other' | 'closed' | 'none';

const NOTHING = Buffer.alloc(0);
const SMALL_BYTES = 8 * 1024;
const LARGE_BYTES = 256 * 1024;
/** Reads that fill the small buffer in a row before it is exchanged; reads that would fit it before it comes back. */
const READS_TO_GROW = 2;
const READS_TO_SHRINK = 16;
const MAX_LARGE_BUFFERS = 64;
/** Kept of what a game says before its player is joined to it. */
const EARLY_BYTES = 64 * 1024;
/** Of the length in front of a frame. */
const FRAME_HEAD_BYTES = 3;
const KEEP_ALIVE_MS = 30_000;
/** Disconnect texts after which another attempt would end the same way. */
const FINAL_WORDS = /white-?list|banned|outdated|incompatible/i;

const idleLargeBuffers: Buffer[] = [];
let largeBuffers = 0;

/**
 * The connection to a game. It reads into one buffer of its own, which becomes large while the game keeps filling it
 * (chunks, resource packs) and small again afterwards: bulk at few system calls, without 256 KiB for every player.
 */
export class GameSocket {
  readonly socket: Socket;
  #buffer: Buffer = Buffer.allocUnsafeSlow(SMALL_BYTES);
  #streak = 0;
  #inUse = false;
  #early: Buffer = NOTHING;
  #consumer: Consumer | undefined;
  /** Looks whether what is waited for has come. */
  #watcher: (() => void) | undefined;

  /** Begins to connect. */
  constructor(address: Address) {
    this.socket = connect({
      ...address,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
      onread: { buffer: () => this.#buffer, callback: (count) => this.#receive(count) },
    });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.#watcher?.();
      this.#giveBack();
    });
  }

  /** Resolves once connected. Rejects with the socket's error, when it is destroyed, or after `timeoutMs`. */
  connected(timeoutMs: number): Promise<void> {
    const { socket } = this;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.destroy(new Error(`no connection within ${timeoutMs} ms`)), timeoutMs);
      this.#watcher = (): void => {
        clearTimeout(timer);
        this.#watcher = undefined;
        if (socket.destroyed) reject(socket.errored ?? new Error('not connected'));
        else resolve();
      };
      socket.once('connect', this.#watcher);
    });
  }

  /** What the game says first; 'none' if that takes longer than `timeoutMs`. Its bytes stay for the consumer. */
  firstPacket(timeoutMs: number): Promise<FirstPacket> {
    const { socket } = this;
    return new Promise((resolve) => {
      const settle = (verdict: FirstPacket): void => {
        clearTimeout(timer);
        this.#watcher = undefined;
        resolve(verdict);
      };
      const timer = setTimeout(() => settle('none'), timeoutMs);
      this.#watcher = (): void => {
        const verdict = judge(this.#early) ?? (socket.closed || socket.readableEnded ? 'closed' : undefined);
        if (verdict) settle(verdict);
      };
      socket.once('end', () => this.#watcher?.()).resume();
      this.#watcher();
    });
  }

  destroy(error?: Error): void {
    this.socket.destroy(error);
  }

  /** From now on every byte goes to `consumer`, those that came before first. After false, `socket.resume()` goes on. */
  consume(consumer: Consumer): void {
    const early = this.#early;
    this.#early = NOTHING;
    this.#consumer = (chunk) => {
      const consumed = consumer(chunk);
      this.#inUse = !consumed;
      return consumed;
    };
    // These bytes are a copy: the consumer may keep them, and reading need not wait for it.
    if (early.length === 0 || consumer(early)) this.socket.resume();
  }

  #receive(count: number): boolean {
    const chunk = this.#buffer.subarray(0, count);
    if (this.#consumer) {
      const goOn = this.#consumer(chunk);
      if (goOn) this.#adapt(count);
      return goOn;
    }
    this.#early = Buffer.concat([this.#early, chunk]);
    this.#watcher?.();
    return this.#early.length < EARLY_BYTES;
  }

  #adapt(count: number): void {
    const isLarge = this.#buffer.length === LARGE_BYTES;
    this.#streak = (isLarge ? count <= SMALL_BYTES : count === SMALL_BYTES) ? this.#streak + 1 : 0;
    if (this.#streak < (isLarge ? READS_TO_SHRINK : READS_TO_GROW)) return;
    this.#streak = 0;
    if (isLarge) this.#giveBack();
    else this.#buffer = takeLargeBuffer() ?? this.#buffer;
  }

  #giveBack(): void {
    if (this.#buffer.length !== LARGE_BYTES) return;
    // A buffer that a write may still read from is left to the garbage collector.
    if (this.#inUse) largeBuffers--;
    else idleLargeBuffers.push(this.#buffer);
    this.#buffer = Buffer.allocUnsafeSlow(SMALL_BYTES);
  }
}

function takeLargeBuffer(): Buffer | undefined {
  const idle = idleLargeBuffers.pop();
  if (idle || largeBuffers >= MAX_LARGE_BUFFERS) return idle;
  largeBuffers++;
  return Buffer.allocUnsafeSlow(LARGE_BYTES);
}

/**
 * Returns undefined while bytes are missing. Bytes that are no packet count as 'other': the client shall judge them.
 */
function judge(early: Buffer): 'disconnect' | 'other' | undefined {
  try {
    const frame = readFrame(early, EARLY_BYTES - FRAME_HEAD_BYTES);
    // The packet id stands near the front: it shows that a frame is no Disconnect long before the frame is complete.
    if (!frame)
      return early.length > FRAME_HEAD_BYTES && early[readVarInt(early)?.size ?? 0] !== 0 ? 'other' : undefined;
    if (frame.value[0] !== 0) return 'other';
    return FINAL_WORDS.test(frame.value.toString('utf8')) ? 'other' : 'disconnect';
  } catch {
    return 'other';
  }
}

import { type Socket, connect } from 'node:net';
import { readFrame, readVarInt } from './codec.ts';
import type { Address } from './ports.ts';

/** Takes a chunk that is valid only until the call returns true; false: it is still in use, read no further. */
export type Consumer = (chunk: Buffer) => boolean;

/** How a game opens: with a login Disconnect, with anything else, or (so far) not at all. */
export type FirstPacket = 'disconnect' | 'other' | 'closed' | 'none';

const NOTHING = Buffer.alloc(0);
/** Sizes of the buffer. Most of what a game sends to one player in a tick fits the first, the terrain around them the second. */
const SIZES = [2 * 1024, 16 * 1024, 256 * 1024] as const;
const LARGE = 2;
type Level = 0 | 1 | typeof LARGE;
/** Reads in a row that fill a buffer before the next size is taken; reads in a row that would fit the size before. */
const READS_TO_GROW = 2;
const READS_TO_SHRINK = 16;
const MAX_LARGE_BUFFERS = 64;
/** Kept of what a game says before its player is joined to it. */
const EARLY_BYTES = 64 * 1024;
/** The most bytes that the length in front of a frame takes. */
const FRAME_HEAD_BYTES = 3;
const KEEP_ALIVE_MS = 30_000;
/** Disconnect texts after which another attempt would end the same way. */
const FINAL_WORDS = /white-?list|banned|outdated|incompatible/i;

const idleLargeBuffers: Buffer[] = [];
let largeBuffers = 0;

/**
 * The connection to a game. It reads into one buffer of its own, which grows while the game keeps filling it (terrain,
 * resource packs) and shrinks afterwards: bulk at few system calls, without 256 KiB for every player.
 */
export class GameSocket {
  readonly socket: Socket;
  #level: Level = 0;
  #buffer: Buffer = Buffer.allocUnsafeSlow(SIZES[0]);
  /** Above 0: reads in a row that filled the buffer. Below: reads in a row that a smaller one would hold. */
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

  /** Resolves with the game's first packet, or 'none' after `timeoutMs`. Its bytes stay for the consumer. */
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
    this.#consumer = consumer;
    // These bytes are a copy: the consumer may keep them, and reading need not wait for it.
    if (early.length === 0 || consumer(early)) this.socket.resume();
  }

  #receive(count: number): boolean {
    const chunk = this.#buffer.subarray(0, count);
    if (this.#consumer) {
      const goOn = this.#consumer(chunk);
      this.#inUse = !goOn;
      if (goOn) this.#adapt(count);
      return goOn;
    }
    this.#early = Buffer.concat([this.#early, chunk]);
    this.#watcher?.();
    return this.#early.length < EARLY_BYTES;
  }

  #adapt(count: number): void {
    const level = this.#level;
    if (count === SIZES[level]) this.#streak = Math.max(this.#streak, 0) + 1;
    else if (level > 0 && count <= (SIZES[level - 1] ?? 0)) this.#streak = Math.min(this.#streak, 0) - 1;
    else this.#streak = 0;
    if (level < LARGE && this.#streak >= READS_TO_GROW) this.#resize(level === 0 ? 1 : LARGE);
    else if (level > 0 && this.#streak <= -READS_TO_SHRINK) this.#resize(level === LARGE ? 1 : 0);
  }

  #resize(level: Level): void {
    const buffer = level === LARGE ? takeLargeBuffer() : Buffer.allocUnsafeSlow(SIZES[level]);
    this.#streak = 0;
    if (!buffer) return;
    this.#giveBack();
    this.#level = level;
    this.#buffer = buffer;
  }

  #giveBack(): void {
    if (this.#level !== LARGE) return;
    // A buffer that a write may still read from is left to the garbage collector.
    if (this.#inUse) largeBuffers--;
    else idleLargeBuffers.push(this.#buffer);
    this.#level = 0;
    this.#buffer = NOTHING;
  }
}

function takeLargeBuffer(): Buffer | undefined {
  const idle = idleLargeBuffers.pop();
  if (idle || largeBuffers >= MAX_LARGE_BUFFERS) return idle;
  largeBuffers++;
  return Buffer.allocUnsafeSlow(SIZES[LARGE]);
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

import { type Socket, connect } from 'node:net';
import { readFrame, readVarInt } from './codec.ts';
import type { Address } from './ports.ts';

/**
 * Consumes a chunk. Returns true if the chunk's memory may be reused, or false if it is still in use and reading must
 * pause.
 */
type Consumer = (chunk: Buffer) => boolean;

/**
 * The beginning of a game's output: a login Disconnect, another packet, the end of the connection, or nothing so far.
 */
type FirstPacket = 'disconnect' | 'other' | 'closed' | 'none';

const NOTHING = Buffer.alloc(0);
/** Buffer sizes. The first fits most of one tick's data for a player, the second the terrain around the player. */
const SIZES = [2 * 1024, 16 * 1024, 256 * 1024] as const;
const LARGE = 2;
type Level = 0 | 1 | typeof LARGE;
/** Consecutive reads that fill the buffer before it grows, and that would fit the smaller size before it shrinks. */
const READS_TO_GROW = 2;
const READS_TO_SHRINK = 16;
const MAX_LARGE_BUFFERS = 64;
/** Most bytes stored from a game before its player is joined. */
const EARLY_BYTES = 64 * 1024;
/** The most bytes that a frame's length occupies. */
const FRAME_HEAD_BYTES = 3;
const KEEP_ALIVE_MS = 30_000;
/** Disconnect texts that would be the same on another attempt. */
const FINAL_WORDS = /white-?list|banned|outdated|incompatible/i;

const idleLargeBuffers: Buffer[] = [];
let largeBuffers = 0;

/**
 * The connection to a game. Reads into its own buffer, which grows while the game keeps filling it (terrain, resource
 * packs) and shrinks afterwards. This reads bulk data with few system calls, without 256 KiB for every player.
 */
export class GameSocket {
  readonly socket: Socket;
  #level: Level = 0;
  #buffer: Buffer = Buffer.allocUnsafeSlow(SIZES[0]);
  /** Positive: consecutive reads that filled the buffer. Negative: consecutive reads that a smaller one would hold. */
  #streak = 0;
  #inUse = false;
  #early: Buffer = NOTHING;
  #consumer: Consumer | undefined;
  /** Checks whether the awaited event has happened. */
  #watcher: (() => void) | undefined;

  /** Starts connecting. */
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

  /** Resolves once connected. Rejects with the socket's error, when the socket is destroyed, or after `timeoutMs`. */
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

  /**
   * Resolves with the kind of the game's first packet, or 'none' after `timeoutMs`. Stores its bytes for the consumer.
   */
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

  /**
   * Passes all bytes to `consumer`, starting with those already received. After it returns false, `socket.resume()`
   * continues.
   */
  consume(consumer: Consumer): void {
    const early = this.#early;
    this.#early = NOTHING;
    this.#consumer = consumer;
    // These bytes are a copy: the consumer may keep them while reading continues.
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
 * Classifies the first packet; undefined while bytes are missing. Invalid packets count as 'other', so that the client
 * decides about them.
 */
function judge(early: Buffer): 'disconnect' | 'other' | undefined {
  try {
    const frame = readFrame(early, EARLY_BYTES - FRAME_HEAD_BYTES);
    // The packet id near the front rules out a Disconnect long before the frame is complete.
    if (!frame)
      return early.length > FRAME_HEAD_BYTES && early[readVarInt(early)?.size ?? 0] !== 0 ? 'other' : undefined;
    if (frame.value[0] !== 0) return 'other';
    return FINAL_WORDS.test(frame.value.toString('utf8')) ? 'other' : 'disconnect';
  } catch {
    return 'other';
  }
}

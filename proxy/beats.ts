import type { Socket } from 'node:net';
import { FrameReader, ProtocolError, encodeFrame, encodeString, encodeVarInt, readFrame } from './codec.ts';
import { PROTOCOL } from './handshake.ts';
import { type Inbox, PeerGone } from './inbox.ts';
import type { Timings } from './settings.ts';

/**
 * The packets that keep a client from timing out in the login state. Any byte resets the client's read time-out, and
 * these packets change nothing else. The client answers a plugin request on an unknown channel with "not understood".
 * Set Compression with a negative threshold turns off compression that was never on. Before 1.8, no such packet exists.
 */
type BeatKind = 'pluginRequest' | 'compression' | 'none';

function beatKindOf(protocol: number): BeatKind {
  if (protocol >= PROTOCOL.V1_13) return 'pluginRequest';
  return protocol >= PROTOCOL.V1_8 ? 'compression' : 'none';
}

/** Well above the ids of games, which count up from 0, in case an answer reaches the game. */
const FIRST_ID = 0x7000_0000;
const CHANNEL = 'dormouse:hold';
const ANSWER_FRAME_BYTES = 4096;
const COMPRESSION_OFF = encodeFrame(0x03, encodeVarInt(-1));

interface Question {
  overdue: NodeJS.Timeout;
  answered?: () => void;
}

/**
 * Sends beats to one held player and reads the client between them. Discards answers; any other packet is a protocol
 * violation. Calls `onGone`, perhaps more than once, when the client has left, violated the protocol or stopped
 * answering.
 */
export class Beats {
  readonly kind: BeatKind;
  readonly #socket: Socket;
  readonly #inbox: Inbox;
  readonly #timings: Timings;
  readonly #onGone: (reason: unknown) => void;
  readonly #questions = new Map<number, Question>();
  #nextId = FIRST_ID;
  #lastBeatAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #listening = false;
  #settled: (() => void) | undefined;

  constructor(options: {
    socket: Socket;
    inbox: Inbox;
    protocol: number;
    timings: Timings;
    onGone: (reason: unknown) => void;
  }) {
    this.kind = beatKindOf(options.protocol);
    this.#socket = options.socket;
    this.#inbox = options.inbox;
    this.#timings = options.timings;
    this.#onGone = options.onGone;
  }

  /** Starts reading the client, to notice when it leaves. */
  listen(): void {
    if (this.#listening) return;
    this.#listening = true;
    void this.#read();
  }

  /** Sends a plugin request at once and resolves when the client answers. Only for `pluginRequest`. */
  challenge(): Promise<void> {
    this.listen();
    return new Promise((resolve) => this.#ask(resolve));
  }

  /** Sends beats until `settle` or `stop`. */
  start(): void {
    this.listen();
    if (this.kind === 'none' || this.#timer) return;
    const pauseMs =
      this.kind === 'compression' && this.#socket.bytesWritten === 0
        ? this.#timings.compressionFirstBeatMs
        : this.#timings.beatMs;
    this.#timer = setTimeout(() => this.#beat(), Math.max(0, this.#lastBeatAt + pauseMs - performance.now()));
  }

  /** Stops sending beats. Resolves once no answer is outstanding, so that answers cannot reach the game. */
  settle(): Promise<void> {
    this.#pause();
    return this.#questions.size === 0 ? Promise.resolve() : new Promise((resolve) => (this.#settled = resolve));
  }

  /** Stops sending beats and waiting for answers. */
  stop(): void {
    this.#pause();
    for (const question of this.#questions.values()) clearTimeout(question.overdue);
    this.#questions.clear();
  }

  #pause(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #beat(): void {
    if (this.kind === 'pluginRequest') {
      this.#ask();
    } else {
      this.#lastBeatAt = performance.now();
      this.#socket.write(COMPRESSION_OFF);
    }
    this.#timer = undefined;
    this.start();
  }

  #ask(answered?: () => void): void {
    this.#lastBeatAt = performance.now();
    const id = this.#nextId++;
    const overdue = setTimeout(() => this.#onGone(new PeerGone()), this.#timings.answerMs);
    this.#questions.set(id, { overdue, answered });
    this.#socket.write(encodeFrame(0x04, encodeVarInt(id), encodeString(CHANNEL)));
  }

  async #read(): Promise<void> {
    try {
      for (;;) this.#accept(await this.#inbox.take((bytes) => readFrame(bytes, ANSWER_FRAME_BYTES)));
    } catch (error) {
      this.stop();
      this.#onGone(error);
    }
  }

  #accept(body: Buffer): void {
    const reader = new FrameReader(body);
    if (reader.varInt() !== 0x02) throw new ProtocolError('unexpected packet during the login');
    const id = reader.varInt();
    const question = this.#questions.get(id);
    if (!question) throw new ProtocolError('answer to an unknown request');
    clearTimeout(question.overdue);
    this.#questions.delete(id);
    question.answered?.();
    if (this.#questions.size === 0) this.#settled?.();
  }
}

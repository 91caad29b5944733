import type { Socket } from 'node:net';
import type { Forwarded } from './forwarding.ts';
import { FRAME_LIMIT } from './handshake.ts';
import { Inbox } from './inbox.ts';
import { type Release, plainAddress } from './limits.ts';
import type { Timings } from './settings.ts';

/** A clock in ms. `at` calls `fire` once, at or after that time, and returns a function that cancels it. */
export interface Clock {
  now(): number;
  at(at: number, fire: () => void): () => void;
}

/** Something that must end by `deadlineAt` (in the clock's ms). */
interface Watched {
  deadlineAt: number;
  /** Ends it. Called once. */
  expire(): void;
}

/** The deadlines of many sockets, checked in one pass, because a timer for each socket would cost too much. */
export class Deadlines {
  readonly #watched = new Set<Watched>();
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  /** `alsoEach` is called on each pass. */
  constructor(options: { now: () => number; sweepMs: number; alsoEach: () => void }) {
    // Each sweep uses the time at which its timer fired, and runs after the input received until then has been read. A
    // pause of the whole process therefore ends no connection.
    this.#timer = setInterval(() => setImmediate(pass, options.now()), options.sweepMs).unref();
    const pass = (at: number): void => {
      if (this.#isClosed) return;
      this.#sweep(at);
      options.alsoEach();
    };
  }

  add(watched: Watched): void {
    this.#watched.add(watched);
  }

  delete(watched: Watched): void {
    this.#watched.delete(watched);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  #sweep(at: number): void {
    for (const watched of this.#watched) {
      if (at < watched.deadlineAt) continue;
      this.#watched.delete(watched);
      watched.expire();
    }
  }
}

/** Most bytes accepted from a client before it is joined to a game. */
const INBOX_BYTES = 16 * 1024;

/** One client socket, from accept until it is closed or joined to a game. */
export class ClientConnection implements Watched {
  readonly socket: Socket;
  readonly inbox: Inbox;
  /**
   * The player's address without IPv4 mapping: the socket's peer, or the address given by a load balancer or a trusted
   * proxy in front.
   */
  ip: string;
  /** The player's identity from a trusted proxy in front; undefined without such a proxy. */
  forwarded: Forwarded | undefined;
  /** Called when the proxy closes. If unset, the socket is closed instead. Set while a login is served. */
  onClosing: (() => void) | undefined;
  readonly #timings: Timings;
  readonly #acceptedAt: number;
  readonly #clock: Clock;
  #deadlineAt: number;
  #left: (() => void) | undefined;
  #place: Release | undefined;

  constructor(socket: Socket, timings: Timings, clock: Clock) {
    this.socket = socket;
    this.inbox = new Inbox(socket, INBOX_BYTES);
    this.ip = plainAddress(socket.remoteAddress);
    this.#timings = timings;
    this.#clock = clock;
    this.#acceptedAt = clock.now();
    this.#deadlineAt = this.#acceptedAt + timings.openingMs;
  }

  get deadlineAt(): number {
    return this.inbox.received === 0 ? this.#acceptedAt + this.#timings.firstByteMs : this.#deadlineAt;
  }

  /** Sets the deadline, in ms after accept. */
  allow(ms: number): void {
    this.#deadlineAt = this.#acceptedAt + ms;
  }

  /** Accepts the longer handshake of a proxy in front of this one, with its forwarded data. */
  acceptForwarded(): void {
    this.inbox.setLimit(INBOX_BYTES + FRAME_LIMIT.forwarded);
  }

  /** Undoes `acceptForwarded`, because the handshake was an ordinary one. */
  refuseForwarded(): void {
    this.inbox.setLimit(INBOX_BYTES);
  }

  /** Replaces the socket's place in the limits. Undefined: the socket no longer counts. */
  occupy(place: Release | undefined): void {
    this.#place?.();
    this.#place = place;
  }

  /** Calls `left` once, when the socket is closed or joined to a game. */
  onceOver(left: () => void): void {
    this.#left = left;
    this.socket.on('close', () => this.over());
  }

  /** Ends the deadline and the place in the limits. Called when a pipe takes over the socket. */
  over(): void {
    this.occupy(undefined);
    this.#left?.();
    this.#left = undefined;
  }

  expire(): void {
    this.socket.destroy();
  }

  /** Ends the connection because the proxy is closing. */
  shutDown(): void {
    if (this.onClosing) this.onClosing();
    else this.expire();
  }

  /** Sends `bytes` and waits up to `farewellMs` for the client to close the connection. */
  sendAndAwaitEnd(bytes: Buffer): void {
    this.#sayFarewell();
    this.socket.write(bytes);
    this.socket.resume();
  }

  /**
   * Sends the last bytes and closes. Reads and discards further input, because closing with unread bytes would reset
   * the connection and lose our answer.
   */
  sendAndClose(bytes: Buffer): void {
    this.#sayFarewell();
    this.socket.end(bytes);
    if (this.socket.readableEnded) this.socket.destroySoon();
    else this.socket.resume();
  }

  #sayFarewell(): void {
    this.inbox.release();
    this.#deadlineAt = this.#clock.now() + this.#timings.farewellMs;
    this.socket.on('data', () => undefined).once('end', () => this.socket.destroySoon());
  }
}

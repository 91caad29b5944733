/** Counts ms, and calls `fire` once at or after `at`. Returns the cancellation. */
export interface Clock {
  now(): number;
  at(at: number, fire: () => void): () => void;
}

/** Something that must be over by `deadlineAt` (in the clock's ms). */
export interface Watched {
  deadlineAt: number;
  /** Ends it. Called once. */
  expire(): void;
}

/** Absolute deadlines of many sockets, looked after in one pass: a timer for each would cost more than the sockets. */
export class Deadlines {
  readonly #watched = new Set<Watched>();
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  /** Calls `alsoEach` with each pass. */
  constructor(options: { now: () => number; sweepMs: number; alsoEach: () => void }) {
    // Each sweep uses the time at which its turn began and runs after that turn's input was read. A pause of the whole
    // process therefore cuts off no connection.
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

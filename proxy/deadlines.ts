/** A clock in ms. `at` calls `fire` once, at or after that time, and returns a function that cancels it. */
export interface Clock {
  now(): number;
  at(at: number, fire: () => void): () => void;
}

/** Something that must end by `deadlineAt` (in the clock's ms). */
export interface Watched {
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

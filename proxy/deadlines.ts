/** Something that must be over by `deadlineAt` (in the clock's ms). */
export interface Watched {
  deadlineAt: number;
  /** Ends it. Called once. */
  expire(): void;
}

/** Absolute deadlines of many sockets, looked after in one pass: a timer for each would cost more than the sockets. */
export class Deadlines {
  readonly #watched = new Set<Watched>();
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  /** Calls `alsoEach` with each pass. */
  constructor(options: { now: () => number; sweepMs: number; alsoEach: () => void }) {
    this.#now = options.now;
    // After a pause of the whole process, what has arrived meanwhile is read first: nobody is cut off for the proxy's own delay.
    this.#timer = setInterval(() => setImmediate(pass), options.sweepMs).unref();
    const pass = (): void => {
      if (this.#isClosed) return;
      this.#sweep();
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

  #sweep(): void {
    const at = this.#now();
    for (const watched of this.#watched) {
      if (at < watched.deadlineAt) continue;
      this.#watched.delete(watched);
      watched.expire();
    }
  }
}

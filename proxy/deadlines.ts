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

  /** Calls `alsoEach` with each pass. */
  constructor(options: { now: () => number; sweepMs: number; alsoEach: () => void }) {
    this.#now = options.now;
    this.#timer = setInterval(() => {
      this.#sweep();
      options.alsoEach();
    }, options.sweepMs).unref();
  }

  add(watched: Watched): void {
    this.#watched.add(watched);
  }

  delete(watched: Watched): void {
    this.#watched.delete(watched);
  }

  close(): void {
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

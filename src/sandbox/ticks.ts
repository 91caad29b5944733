const TICK_MS = 50;
const KEPT_TICKS = 20 * 60 * 15;

/** Milliseconds of work per tick over some time. */
export interface TickTimes {
  average: number;
  min: number;
  max: number;
}

/** Runs the work of the game 20 times per second, and measures the actual pace. */
export class Ticks {
  readonly #work: () => void;
  /** When each recorded tick began, in ms since the process began. */
  readonly #begun: number[] = [];
  /** How long the work of each recorded tick took, in ms. */
  readonly #took: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #startedAt = 0;

  constructor(work: () => void) {
    this.#work = work;
  }

  start(): void {
    this.#startedAt = performance.now();
    this.#schedule(this.#startedAt + TICK_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Returns the ticks per second over the last `seconds`, at most 20. */
  rate(seconds: number): number {
    const since = Math.max(performance.now() - seconds * 1_000, this.#startedAt);
    const elapsedSeconds = (performance.now() - since) / 1_000;
    if (this.#startedAt === 0 || elapsedSeconds < 1) return 20;
    return Math.min(20, this.#countSince(since) / elapsedSeconds);
  }

  /** Returns how long ticks took over the last `seconds`. */
  times(seconds: number): TickTimes {
    const recent = this.#recent(seconds);
    if (recent.length === 0) return { average: 0, min: 0, max: 0 };
    const sum = recent.reduce((total, ms) => total + ms, 0);
    return { average: sum / recent.length, min: Math.min(...recent), max: Math.max(...recent) };
  }

  /** Returns the time, in ms, that `percent` of the last 100 ticks stayed below. */
  percentile(percent: number): number {
    const sorted = this.#took.slice(-100).sort((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? 0;
  }

  get sampleSize(): number {
    return Math.min(100, this.#took.length);
  }

  #recent(seconds: number): number[] {
    return this.#took.slice(
      -Math.min(1_200, this.#countSince(performance.now() - seconds * 1_000)) || this.#took.length,
    );
  }

  #countSince(since: number): number {
    const first = this.#begun.findIndex((at) => at >= since);
    return first < 0 ? 0 : this.#begun.length - first;
  }

  #schedule(dueAt: number): void {
    const begin = () => {
      const begunAt = performance.now();
      // Schedules the next tick first, because an error in the work must not end the ticks.
      const behind = begunAt - dueAt > 2_000;
      this.#schedule(behind ? begunAt + TICK_MS : dueAt + TICK_MS);
      this.#work();
      this.#keep(begunAt, performance.now() - begunAt);
    };
    this.#timer = setTimeout(begin, Math.max(0, dueAt - performance.now()));
  }

  #keep(begunAt: number, tookMs: number): void {
    this.#begun.push(begunAt);
    this.#took.push(tookMs);
    // Shortened rarely, because each time costs a copy.
    if (this.#begun.length < KEPT_TICKS * 1.1) return;
    this.#begun.splice(0, this.#begun.length - KEPT_TICKS);
    this.#took.splice(0, this.#took.length - KEPT_TICKS);
  }
}

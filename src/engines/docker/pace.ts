import type { Clock } from '../../kernel/clock.ts';
import { sleep } from '../../kernel/sleep.ts';
import { monotonicClock } from '../../kernel/system-clock.ts';

export interface PaceOptions {
  /** The budget of one window. */
  amount: number;
  windowMs: number;
  /** Default: real time. */
  clock?: Clock;
}

/**
 * A budget for each window of time. Work that has used it up waits for the next window, so that one endless source
 * leaves the thread to others. Unused budget expires.
 */
export class Pace {
  readonly #amount: number;
  readonly #windowMs: number;
  readonly #clock: Clock;
  #left: number;
  #until = -Infinity;
  #full = 0;

  constructor({ amount, windowMs, clock = monotonicClock }: PaceOptions) {
    this.#amount = amount;
    this.#windowMs = windowMs;
    this.#clock = clock;
    this.#left = amount;
  }

  /** How many windows in a row were used up; 0 once one was not. */
  get fullWindows(): number {
    return this.#full;
  }

  /** Takes a part of the budget; true where it is used up now: then `rest` must follow. */
  take(amount: number): boolean {
    const now = this.#clock.now();
    if (now >= this.#until) {
      if (this.#left > 0) this.#full = 0;
      this.#until = now + this.#windowMs;
      this.#left = this.#amount;
    }
    this.#left -= amount;
    return this.#left <= 0;
  }

  /** Resolves with the next window; never rejects, and at once where `signal` fires. */
  async rest(signal?: AbortSignal): Promise<void> {
    this.#full += 1;
    await sleep(this.#clock, Math.max(0, this.#until - this.#clock.now()), signal).catch(() => undefined);
  }
}

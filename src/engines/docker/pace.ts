import type { Clock } from '../../kernel/clock.ts';
import { sleep } from '../../kernel/sleep.ts';
import { monotonicClock } from '../../kernel/system-clock.ts';

/**
 * A budget, `amount`, for each window of time. Work that has used it up waits for the next window, so that an endless source does
 * not block the thread. Unused budget expires.
 */
export class Pace {
  readonly #amount: number;
  readonly #windowMs: number;
  readonly #clock: Clock;
  #left: number;
  #until = -Infinity;
  #full = 0;

  constructor({ amount, windowMs }: { amount: number; windowMs: number }, clock: Clock = monotonicClock) {
    this.#amount = amount;
    this.#windowMs = windowMs;
    this.#clock = clock;
    this.#left = amount;
  }

  /** Number of used-up windows in a row; 0 after one that was not used up. */
  get fullWindows(): number {
    return this.#full;
  }

  /** Uses a part of the budget. Returns true if the budget is used up; the caller must then call `rest`. */
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

  /** Resolves at the next window, or immediately when `signal` fires. Never rejects. */
  async rest(signal?: AbortSignal): Promise<void> {
    this.#full += 1;
    await sleep(this.#clock, Math.max(0, this.#until - this.#clock.now()), signal).catch(() => undefined);
  }
}

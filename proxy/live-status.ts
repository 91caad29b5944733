import type { StatusAnswer } from './ping.ts';

export interface LiveStatusOptions {
  /** How long an answer, or the lack of one, is taken for the current one. */
  freshMs: number;
  /** How long after it was given an answer may stand in for one that did not come. */
  staleMs: number;
  /** Most answers kept; the one asked for longest ago goes first. */
  maxEntries: number;
  now: () => number;
}

interface Entry {
  askedAt: number;
  answer: StatusAnswer | undefined;
  answeredAt: number;
  pending: Promise<StatusAnswer | undefined> | undefined;
}

/** What running games last said of themselves. However many ask, a game is asked once at a time. */
export class LiveStatus {
  readonly #options: LiveStatusOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: LiveStatusOptions) {
    this.#options = options;
  }

  /** The fresh answer under `key`, else what `ask` brings, else the stale one. Never rejects. */
  async get(key: string, ask: () => Promise<StatusAnswer>): Promise<StatusAnswer | undefined> {
    const entry = this.#entry(key);
    const at = this.#options.now();
    if (entry.pending) return entry.pending;
    if (at - entry.askedAt < this.#options.freshMs) return this.#usable(entry);
    entry.askedAt = at;
    entry.pending = this.#refresh(entry, ask);
    return entry.pending;
  }

  async #refresh(entry: Entry, ask: () => Promise<StatusAnswer>): Promise<StatusAnswer | undefined> {
    try {
      entry.answer = await ask();
      entry.answeredAt = this.#options.now();
    } catch {
      // A game too busy to answer is no news: the stale answer serves until it is too old.
    } finally {
      entry.pending = undefined;
    }
    return this.#usable(entry);
  }

  #usable(entry: Entry): StatusAnswer | undefined {
    return this.#options.now() - entry.answeredAt < this.#options.staleMs ? entry.answer : undefined;
  }

  #entry(key: string): Entry {
    const known = this.#entries.get(key);
    const entry = known ?? { askedAt: -Infinity, answer: undefined, answeredAt: -Infinity, pending: undefined };
    // Insertion order is the order of use.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size > this.#options.maxEntries) {
      const [oldest] = this.#entries.keys();
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
    return entry;
  }
}

/** A bounded map whose values expire. When full, it drops the value set longest ago. */
export class ExpiringMap<V> {
  readonly #most: number;
  readonly #now: () => number;
  /** In order of insertion. */
  readonly #entries = new Map<string, { value: V; until: number }>();

  /** `most`: the maximum number of entries. `now`: ms of any clock. */
  constructor(most: number, now: () => number) {
    this.#most = most;
    this.#now = now;
  }

  /** Sets a value for `forMs` from now, and replaces an earlier one. */
  set(key: string, value: V, forMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, until: this.#now() + forMs });
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined && this.#entries.size > this.#most) this.#entries.delete(oldest);
  }

  /** Returns undefined if the entry is missing or expired. */
  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.until > this.#now()) return entry?.value;
    this.#entries.delete(key);
    return undefined;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** Returns the current entries and the remaining time of each, in ms. */
  all(): { key: string; value: V; forMs: number }[] {
    const now = this.#now();
    for (const [key, { until }] of this.#entries) if (until <= now) this.#entries.delete(key);
    return [...this.#entries].map(([key, { value, until }]) => ({ key, value, forMs: until - now }));
  }
}

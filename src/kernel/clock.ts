/** The service's source of time. Instants are epoch milliseconds. Tests replace it to control the time. */
export interface Clock {
  now(): number;
  /** Calls `fire` once at or after `at`, or on the next turn if `at` is past. Returns a function that cancels it. */
  at(at: number, fire: () => void): () => void;
}

/** Instants are epoch milliseconds. Tests move this clock; nothing else in the service asks for the time. */
export interface Clock {
  now(): number;
  /** Calls `fire` once at or after `at` (already past: on the next turn). Returns the cancellation. */
  at(at: number, fire: () => void): () => void;
}

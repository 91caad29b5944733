/**
 * The outside world on one page. Everything Dormouse does beyond its own memory goes through one of these
 * interfaces; adapters implement them, `src/compose/` chooses the adapters, tests bring fakes that pass the same
 * conformance suites.
 */

/** A TCP endpoint. */
export interface Address {
  host: string;
  port: number;
}

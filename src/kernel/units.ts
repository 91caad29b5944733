/** Spans of time in milliseconds. */
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Sizes in bytes. A megabyte in the API and the settings (`ramMb`) is one MiB. */
export const KIB = 1_024;
export const MIB = 1_024 * KIB;
export const GIB = 1_024 * MIB;

/** The largest value of a 32-bit field of the API. */
export const INT32_MAX = 2 ** 31 - 1;

/** Money is counted in whole millionths of a US dollar. */
export const MICROS_PER_USD = 1_000_000;

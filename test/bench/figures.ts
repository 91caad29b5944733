/** One figure of a bench. */
export interface Row {
  figure: string;
  value: number;
  unit: string;
  note?: string;
}

/** Receives the figures of a bench as they arrive, and its progress. */
export interface Report {
  row: (row: Row) => void;
  progress: (text: string) => void;
}

/** Measures and reports something. Rejects if the measurement fails. */
export type Bench = (report: Report) => Promise<void>;

/** Returns the value below which the share `of` (0 to 1) of the values lies. */
export function quantile(values: readonly number[], of: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * of))] ?? NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Formats a number for a table: to three digits, or to a whole number from 100 on. */
export function digits(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toPrecision(3);
}

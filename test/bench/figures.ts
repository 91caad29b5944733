/** One figure of a bench. */
export interface Row {
  figure: string;
  value: number;
  unit: string;
  note?: string;
}

/** Where a bench puts its figures as they come, and what it is at meanwhile. */
export interface Report {
  row: (row: Row) => void;
  progress: (text: string) => void;
}

/** Measures something and says so. Rejects where it could not be measured. */
export type Bench = (report: Report) => Promise<void>;

/** The value below which the share `of` (0 to 1) of the values lie. */
export function quantile(values: readonly number[], of: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * of))] ?? NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** For a table: as many digits as say something. */
export function digits(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toPrecision(3);
}

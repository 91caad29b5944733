import type { Output } from './terminal.ts';
import { width } from './text.ts';

const GAP = '  ';

/** Formats rows with aligned columns. Omits columns that are empty in every row, with their headings. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const used = headings.map((_, column) => rows.some((row) => (row[column] ?? '') !== ''));
  return aligned([headings, ...rows].map((row) => row.filter((_, column) => used[column])));
}

/** Returns a table with dimmed headings, or the given sentence if there are no rows. */
export function listing(
  out: Output,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  none: string,
): string[] {
  if (rows.length === 0) return [none];
  const [first = '', ...lines] = table(headings, rows);
  return [out.style('dim', first), ...lines];
}

/** Pads the cells of rows to align columns, without trailing spaces. */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, width(cell))));
  }
  return rows.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - width(cell)))
      .join(GAP)
      .trimEnd(),
  );
}

/** Arranges short words in as many columns as fit, read downwards. */
export function columns(words: readonly string[], room: number): string[] {
  const widest = Math.max(1, ...words.map(width)) + GAP.length;
  const across = Math.max(1, Math.floor((room + GAP.length) / widest));
  const down = Math.ceil(words.length / across);
  return aligned(Array.from({ length: down }, (_, row) => words.filter((_, index) => index % down === row)));
}

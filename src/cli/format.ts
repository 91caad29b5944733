import type { Detail } from '../kernel/status.ts';
import { type CommandError, detail, violationsIn } from './errors.ts';
import type { CAPACITY } from './shapes.ts';
import type { Output } from './terminal.ts';
import { oneLine, printable, width, withoutSecrets } from './text.ts';

const UNITS = [
  ['day', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** Formats an instant relative to `now`: `just now`, `3 min ago`, `in 2 h`, `5 days ago`; '' without one. */
export function relative(instant: string, now: number): string {
  const at = Date.parse(instant);
  if (Number.isNaN(at)) return '';
  const seconds = Math.round((at - now) / 1000);
  if (Math.abs(seconds) < 2) return 'just now';
  return seconds < 0 ? `${duration(-seconds)} ago` : `in ${duration(seconds)}`;
}

/** Formats a duration in its largest unit: `42 s`, `3 min`, `2 h`, `5 days`. */
export function duration(seconds: number): string {
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? (['s', 1] as const);
  const count = Math.floor(seconds / size);
  return `${count} ${unit}${unit === 'day' && count !== 1 ? 's' : ''}`;
}

/** Formats memory: `512 MB`, `2 GB`, `1.5 GB`. */
export function memory(ramMb: number): string {
  return ramMb < 1024 ? `${ramMb} MB` : `${Number((ramMb / 1024).toFixed(1))} GB`;
}

const SIZES = [
  ['GB', 1024 ** 3],
  ['MB', 1024 ** 2],
  ['KB', 1024],
] as const;

/** Formats a size: `12 bytes`, `4.2 MB`, `31 GB`. */
export function size(bytes: number | string): string {
  const count = Number(bytes);
  for (const [unit, unitBytes] of SIZES) {
    const units = count / unitBytes;
    if (units >= 1) return `${units < 10 ? Number(units.toFixed(1)) : Math.round(units)} ${unit}`;
  }
  return some(count, 'byte');
}

/** Formats a size in MB, which the API sends as text. */
export function sizeMb(mb: string): string {
  return size(Number(mb) * 1024 ** 2);
}

/** Columns of `listing` for the capacity of machines. The cells of an item without one are empty. */
export function capacityColumns<Item>(capacityOf: (item: Item) => typeof CAPACITY | undefined) {
  const column = (cell: (capacity: typeof CAPACITY) => string) => (item: Item) => {
    const capacity = capacityOf(item);
    return capacity === undefined ? '' : cell(capacity);
  };
  return {
    AWAKE: column(({ activeServers }) => String(activeServers)),
    MEMORY: column(({ ramUsedMb, ramUsableMb }) => `${memory(Number(ramUsedMb))} of ${memory(Number(ramUsableMb))}`),
    'DISK FREE': column(({ diskFreeMb }) => sizeMb(diskFreeMb)),
  };
}

const MICROS_PER_USD = 1_000_000;
/** Smaller amounts would round to 0 although they are not 0. */
const LEAST_MICROS = 50;

/** Formats an amount of money as on the pages: `12.00 USD`, `−3.50 USD`, `0.0175 USD`. */
export function money(micros: number | string): string {
  const amount = Number(micros);
  const size = Math.abs(amount);
  if (size > 0 && size < LEAST_MICROS) return 'less than 0.0001 USD';
  const most = size < MICROS_PER_USD ? 4 : 2;
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: most, useGrouping: false };
  return `${amount < 0 ? '−' : ''}${(size / MICROS_PER_USD).toLocaleString('en-US', digits)} USD`;
}

/** Formats a count: `1 world`, `2 worlds`. */
export function some(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

/** Converts a wire name to words: `install_failed` → `install failed`. The panel calls `hibernated` asleep, too. */
export function words(name: string): string {
  return name === 'hibernated' ? 'asleep' : name.replaceAll('_', ' ').toLowerCase();
}

/** Formats a server's software: `paper 1.21.8`. */
export function software({ type, version }: { type: string; version: string }): string {
  return `${type} ${version}`.trim();
}

const COLOURS = {
  running: 'green',
  starting: 'yellow',
  stopping: 'yellow',
  installing: 'yellow',
  start_failed: 'red',
  install_failed: 'red',
  hibernated: 'dim',
} as const;

/** Returns a server's state in words and colour. Unknown states have no colour. */
export function stateWord(state: string, out: Output): string {
  return Object.hasOwn(COLOURS, state) ? out.style(COLOURS[state as keyof typeof COLOURS], words(state)) : words(state);
}

const GAP = '  ';

/** Formats rows with aligned columns. Omits columns that are empty in every row, with their headings. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const used = headings.map((_, column) => rows.some((row) => (row[column] ?? '') !== ''));
  return aligned([headings, ...rows].map((row) => row.filter((_, column) => used[column])));
}

/**
 * Returns a table of items with dimmed headings, or the given sentence without items. `columns` has a function for the
 * cells below each heading. Columns that are empty in every row are omitted.
 */
export function listing<Item>(
  out: Output,
  items: readonly Item[],
  none: string,
  columns: Readonly<Record<string, (item: Item, index: number) => string>>,
): string[] {
  if (items.length === 0) return [none];
  const rows = items.map((item, index) => Object.values(columns).map((cell) => cell(item, index)));
  const [first = '', ...lines] = table(Object.keys(columns), rows);
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

/** Formats an error for a person: what happened, the problem of each field, and when to retry. */
export function errorLines({ status, advice }: CommandError, err: Output): string[] {
  const violations = violationsIn(status.details);
  const listed = violations.map(({ field, description }) => `${field}: ${description}`).join('; ');
  const message =
    violations.length > 0 && status.message === listed ? 'The service refused the request:' : status.message;
  return [
    `${err.style('red', 'dormouse:')} ${printable(message)}`,
    ...aligned(violations.map(({ field, description }) => ['', oneLine(field), oneLine(description)])),
    ...hints(status.details),
    ...advice.map((sentence) => `  ${printable(sentence)}`),
  ].map(withoutSecrets);
}

/** Formats an error for a program: the API's own status object. */
export function errorJson({ status }: CommandError): string {
  return withoutSecrets(JSON.stringify(status, null, 2));
}

function* hints(details: readonly Detail[]): Generator<string> {
  const delay = detail(details, 'RetryInfo')?.['retryDelay'];
  if (typeof delay === 'string') yield `  Try again in ${oneLine(delay.replace(/s$/, ' s'))}.`;
  const requestId = detail(details, 'RequestInfo')?.['requestId'];
  if (typeof requestId === 'string') yield `  Request id: ${oneLine(requestId)}`;
}

import type { Output } from './terminal.ts';
import type { Server } from './shapes.ts';

const UNITS = [
  ['day', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** An instant as seen from `now`: `just now`, `3 min ago`, `in 2 h`, `5 days ago`; '' where there is none. */
export function relative(instant: string, now: number): string {
  const at = Date.parse(instant);
  if (Number.isNaN(at)) return '';
  const seconds = Math.round((at - now) / 1000);
  if (Math.abs(seconds) < 2) return 'just now';
  return seconds < 0 ? `${duration(-seconds)} ago` : `in ${duration(seconds)}`;
}

/** A length of time in its largest unit: `42 s`, `3 min`, `2 h`, `5 days`. */
export function duration(seconds: number): string {
  const [unit, size] = UNITS.find(([, size]) => seconds >= size) ?? (['s', 1] as const);
  const count = Math.floor(seconds / size);
  return `${count} ${unit}${unit === 'day' && count !== 1 ? 's' : ''}`;
}

/** Memory as people say it: `512 MB`, `2 GB`, `1.5 GB`. */
export function memory(ramMb: number): string {
  return ramMb < 1024 ? `${ramMb} MB` : `${Number((ramMb / 1024).toFixed(1))} GB`;
}

/** A wire name in words: `install_failed` → `install failed`. */
export function words(name: string): string {
  return name.replaceAll('_', ' ').toLowerCase();
}

/** A server's software: `paper 1.21.8`. */
export function software({ type, version }: Pick<Server, 'type' | 'version'>): string {
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

/** A server's state in words and in its colour. Unknown states have none. */
export function stateWord(state: string, out: Output): string {
  return Object.hasOwn(COLOURS, state) ? out.style(COLOURS[state as keyof typeof COLOURS], words(state)) : words(state);
}

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../kernel/units.ts';

/** Kinds of entries of the ledger, as their owner reads them. */
const KINDS: Record<string, string> = {
  usage: 'Awake time',
  flat: 'Flat plan',
  topup: 'Top-up',
  credit: 'Credit',
  refund: 'Refund',
  adjustment: 'Correction',
};

export function kindText(kind: string): string {
  return KINDS[kind] ?? kind;
}

const SPANS = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', MINUTE_MS],
] as const;
const LONG_DAYS = 365;

/** How long what an account has will last: `about 12 days`. */
export function lastsText(minutes: number): string {
  const ms = minutes * MINUTE_MS;
  if (ms > LONG_DAYS * DAY_MS) return 'more than a year';
  for (const [unit, unitMs] of SPANS) {
    const count = Math.floor(ms / unitMs);
    if (count >= 1) return `about ${count} ${unit}${count === 1 ? '' : 's'}`;
  }
  return 'less than a minute';
}

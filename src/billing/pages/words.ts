import { DAY_MS, MINUTE_MS } from '../../kernel/units.ts';
import { roughSpan } from '../../web/text.ts';

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

const LONG_DAYS = 365;

/** How long what an account has will last: `about 12 days`. */
export function lastsText(minutes: number): string {
  const ms = minutes * MINUTE_MS;
  if (ms > LONG_DAYS * DAY_MS) return 'more than a year';
  const span = roughSpan(ms);
  return span === '' ? 'less than a minute' : `about ${span}`;
}

/** How an awake session ended, as its owner reads it. */
export const ENDINGS: Record<string, string> = {
  '': 'awake now',
  stopped: 'stopped',
  idle: 'nobody was online',
  false_wake: 'nobody came in',
  crashed: 'it crashed',
  crash: 'it crashed',
  hung: 'it did not answer any more',
  start_failed: 'it did not start',
  cancelled: 'stopped before it was up',
  stopped_inside: 'stopped in the game',
  funds: 'the wallet was empty',
  spend_cap: 'the spend cap was reached',
  quota: 'its disk quota was exceeded',
  lost: 'its machine went away',
  unexpected: 'it was to be asleep',
  shutdown: 'the service ended',
  deleted: 'deleted',
};

export function endingText(ending: string): string {
  return ENDINGS[ending] ?? ending.replaceAll('_', ' ');
}

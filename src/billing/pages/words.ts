import { invalidFields } from '../../http/errors.ts';
import type { StatusError } from '../../kernel/status.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/units.ts';
import { roughSpan } from '../../web/text.ts';

/** Texts for the kinds of ledger entries. */
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

/** Describes how long a balance will last: `about 12 days`. */
export function lastsText(minutes: number): string {
  const ms = minutes * MINUTE_MS;
  if (ms > LONG_DAYS * DAY_MS) return 'more than a year';
  const span = roughSpan(ms);
  return span === '' ? 'less than a minute' : `about ${span}`;
}

/** Texts for the ends of awake sessions. */
export const ENDINGS: Record<string, string> = {
  '': 'awake now',
  stopped: 'stopped',
  idle: 'no players online',
  false_wake: 'no player joined',
  crashed: 'crashed',
  crash: 'crashed',
  hung: 'stopped responding',
  start_failed: 'failed to start',
  cancelled: 'stopped while starting',
  stopped_inside: 'stopped in the game',
  funds: 'wallet empty',
  spend_cap: 'spend cap reached',
  quota: 'disk quota exceeded',
  lost: 'machine lost',
  unexpected: 'was meant to be asleep',
  shutdown: 'service stopped',
  update: 'a new build failed',
  deleted: 'deleted',
};

export function endingText(ending: string): string {
  return ENDINGS[ending] ?? ending.replaceAll('_', ' ');
}

/** The refusal of an amount that a user entered. `description` explains the format. */
export function badAmount(field: string, description: string): StatusError {
  return invalidFields([{ field, description }], 'This amount is not allowed.');
}

import { lazily } from './once.ts';
import { MICROS_PER_USD } from './units.ts';

/** Smaller amounts round to 0 but are not 0. */
const LEAST_MICROS = 50;
const fromADollar = lazily(() => format(2));
const belowADollar = lazily(() => format(4));

/**
 * Formats an amount in micros, in the one format in which amounts are shown: `12.00 USD`, `−3.50 USD`. Amounts below a
 * dollar have up to four decimals, because hours cost cents: `0.0175 USD`.
 */
export function usdText(micros: number): string {
  const size = Math.abs(micros);
  if (size > 0 && size < LEAST_MICROS) return 'less than 0.0001 USD';
  const text = (size < MICROS_PER_USD ? belowADollar : fromADollar)().format(size / MICROS_PER_USD);
  return `${micros < 0 ? '−' : ''}${text} USD`;
}

/** Digits are not grouped, so that an amount can be copied into a form. */
function format(most: number): Intl.NumberFormat {
  return new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: most, useGrouping: false });
}

/**
 * Returns the micros of an amount a person typed: `5`, `2.50`, `2,5 USD`; undefined if it is invalid or finer than a
 * micro.
 */
export function microsOf(typed: string): number | undefined {
  const [, whole = '', part = ''] = /^(?:\$\s*)?(\d{1,9})(?:[.,](\d{1,6}))?(?:\s*USD)?$/i.exec(typed.trim()) ?? [];
  return whole === '' ? undefined : Number(whole) * MICROS_PER_USD + Number(part.padEnd(6, '0'));
}

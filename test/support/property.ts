import {
  type Arbitrary,
  type IAsyncProperty,
  type IProperty,
  type IRawProperty,
  type Parameters,
  type StringConstraints,
  assert as assertProperty,
  configureGlobal,
  nat,
  string as stringOf,
} from 'fast-check';
import { SEED } from './random.ts';

configureGlobal({ seed: SEED });

/** fast-check, with this run's `SEED`. A failure prints the seed, and `TEST_SEED` repeats it. */
export * from 'fast-check';

/** The share of each property's runs that this run makes: `TEST_RUNS`, by default a quarter for `npm test`. */
const SHARE = Number(process.env.TEST_RUNS ?? 1);
const DEFAULT_RUNS = 100;

/** Returns how many of a test's rounds this run makes. */
export const runs = (all: number): number => Math.ceil(all * SHARE);

/** fast-check's `assert`, with `SHARE` of the runs. */
export function assert<Ts>(property: IAsyncProperty<Ts>, options?: Parameters<Ts>): Promise<void>;
export function assert<Ts>(property: IProperty<Ts>, options?: Parameters<Ts>): void;
export function assert<Ts>(property: IRawProperty<Ts>, options: Parameters<Ts> = {}): Promise<void> | void {
  return assertProperty(property, { ...options, numRuns: runs(options.numRuns ?? DEFAULT_RUNS) });
}

/** Surrogates, which are not characters, lie between the others. */
const SURROGATES = { from: 0xd8_00, count: 0x8_00 };
/**
 * Any character, in the order of Unicode. fast-check's own arbitrary builds a table of all characters, which takes a
 * second.
 */
const CHARACTER = nat(0x10_ff_ff - SURROGATES.count).map(
  (nth) => String.fromCodePoint(nth < SURROGATES.from ? nth : nth + SURROGATES.count),
  (character) => {
    const code = typeof character === 'string' ? (character.codePointAt(0) ?? -1) : -1;
    if (code < 0 || String.fromCodePoint(code) !== character) throw new Error('no character');
    const nth = code < SURROGATES.from ? code : code - SURROGATES.count;
    if (code >= SURROGATES.from && nth < SURROGATES.from) throw new Error('a surrogate');
    return nth;
  },
);

/** fast-check's `string`, except that `unit: 'binary'` needs no table before the first text. */
export function string(constraints: StringConstraints = {}): Arbitrary<string> {
  return stringOf(constraints.unit === 'binary' ? { ...constraints, unit: CHARACTER } : constraints);
}

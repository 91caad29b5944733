import { type Arbitrary, type StringConstraints, configureGlobal, nat, string as stringOf } from 'fast-check';
import { SEED } from './random.ts';

configureGlobal({ seed: SEED });

/** Property tests begin at this run's `SEED`, which their failures print; `TEST_SEED` repeats it. */
export * from 'fast-check';

/** Surrogates, which are no characters, lie between the others. */
const SURROGATES = { from: 0xd8_00, count: 0x8_00 };
/** Any character, in the order of Unicode. The one that fast-check has for this keeps a table of all of them, a second's work. */
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

/** fast-check's own, but that `unit: 'binary'` costs nothing before the first text. */
export function string(constraints: StringConstraints = {}): Arbitrary<string> {
  return stringOf(constraints.unit === 'binary' ? { ...constraints, unit: CHARACTER } : constraints);
}

import test from 'ava';
import { usdText } from '../../src/kernel/money.ts';

test('usdText shows cents, finer digits for small amounts, and never shows a nonzero amount as zero', (t) => {
  for (const [micros, text] of [
    [0, '0.00 USD'],
    [12_000_000, '12.00 USD'],
    [1_234_567_890, '1234.57 USD'],
    [-3_500_000, '−3.50 USD'],
    [999_999, '1.00 USD'],
    [20_000, '0.02 USD'],
    [-17_500, '−0.0175 USD'],
    [333, '0.0003 USD'],
    [50, '0.0001 USD'],
    [49, 'less than 0.0001 USD'],
    [-1, 'less than 0.0001 USD'],
  ] as const)
    t.is(usdText(micros), text);
});

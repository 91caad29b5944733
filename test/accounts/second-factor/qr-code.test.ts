import test from 'ava';
import { encode } from 'uqr';
import { qrCode } from '../../../src/accounts/second-factor-pages.ts';

test('a QR code is drawn exactly as encoded, with a quiet zone of four modules', (t) => {
  const text = 'otpauth://totp/Dormouse:steve%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
  const drawn = qrCode(text, 'a "code"').toString();
  const [, size = ''] = /viewBox="0 0 (\d+) \d+"/.exec(drawn) ?? [];
  const dark = new Set<string>();
  for (const [, x, y, length, back] of drawn.matchAll(/M(\d+) (\d+)h(\d+)v1h-(\d+)z/g)) {
    t.is(length, back);
    for (let n = 0; n < Number(length); n++) dark.add(`${Number(x) + n} ${y}`);
  }
  const { data } = encode(text, { ecc: 'M', border: 0 });
  t.is(Number(size), data.length + 8);
  t.deepEqual(
    [...dark].toSorted(),
    data.flatMap((row, y) => row.flatMap((each, x) => (each ? [`${x + 4} ${y + 4}`] : []))).toSorted(),
  );
  t.regex(drawn, /aria-label="a &quot;code&quot;"/);
});

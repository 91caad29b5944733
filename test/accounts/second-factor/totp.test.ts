import test from 'ava';
import { base32, codeOfStep, keyUri, stepAt, stepOfCode } from '../../../src/accounts/totp.ts';
import * as fc from '../../support/property.ts';

/** The key of the vectors in both RFCs: "12345678901234567890". */
const KEY = Buffer.from('12345678901234567890');

test('counter-based codes match RFC 4226, appendix D', (t) => {
  const codes = '755224 287082 359152 969429 338314 254676 287922 162583 399871 520489'.split(' ');
  t.deepEqual(
    codes.map((_, count) => codeOfStep(KEY, count)),
    codes,
  );
});

test('time-based codes match RFC 6238, appendix B (the last six of eight digits)', (t) => {
  const vectors: [seconds: number, code: string][] = [
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ];
  for (const [seconds, code] of vectors) t.is(codeOfStep(KEY, stepAt(seconds * 1_000)), code.slice(2), String(seconds));
});

test('second-factor keys are encoded in Base32 as in RFC 4648, section 10', (t) => {
  const vectors = {
    '': '',
    f: 'MY',
    fo: 'MZXQ',
    foo: 'MZXW6',
    foob: 'MZXW6YQ',
    fooba: 'MZXW6YTB',
    foobar: 'MZXW6YTBOI',
  };
  for (const [bytes, text] of Object.entries(vectors)) t.is(base32(Buffer.from(bytes)), text);
});

test('the key URI names the installation and the account', (t) => {
  const uri = new URL(keyUri(KEY, { issuer: 'Dormouse play.example', account: 'a+b@example.org' }));
  t.is(`${uri.protocol}//${uri.host}`, 'otpauth://totp');
  t.is(decodeURIComponent(uri.pathname), '/Dormouse play.example:a+b@example.org');
  t.is(uri.searchParams.get('secret'), 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
  t.is(uri.searchParams.get('issuer'), 'Dormouse play.example');
});

test('a code is valid once, in its own and the adjacent time steps, and not after a newer one', (t) => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 20, maxLength: 20 }),
      fc.integer({ min: 0, max: 4_000_000_000_000 }),
      fc.integer({ min: -4, max: 4 }),
      fc.integer({ min: -5, max: 5 }),
      (bytes, at, offset, before) => {
        const [key, now] = [Buffer.from(bytes), stepAt(at)];
        const [step, taken] = [now + offset, now + before];
        if (step < 0) return;
        const code = codeOfStep(key, step);
        const open = [now - 1, now, now + 1].filter((each) => each > taken && each >= 0);
        const expected = open.find((each) => codeOfStep(key, each) === code);
        t.is(stepOfCode(key, code, { at, taken }), expected);
        if (open.includes(step)) t.not(expected, undefined);
        if (expected !== undefined) t.true((stepOfCode(key, code, { at, taken: expected }) ?? Infinity) > expected);
      },
    ),
  );
});

test('text that is not exactly six ASCII digits is never a valid code', (t) => {
  const at = 59_000;
  t.is(stepOfCode(KEY, '287082', { at, taken: 0 }), 1);
  for (const typed of ['', '28708', '2870820', '０００000', '28708a', '287 082', '-87082', '287082\n']) {
    t.is(stepOfCode(KEY, typed, { at, taken: 0 }), undefined, typed);
  }
});

import test from 'ava';
import { openSealedText, sealText } from '../../src/accounts/sealed-text.ts';

test('a sealed text opens only with its own secret and purpose', (t) => {
  for (const text of ['', 'token', 'ü'.repeat(1_000)]) {
    const sealed = sealText('secret', 'a', text);
    t.regex(sealed, /^[\w-]+$/);
    t.not(sealed, sealText('secret', 'a', text));
    t.is(openSealedText('secret', 'a', sealed), text);
    t.is(openSealedText('secret', 'b', sealed), undefined);
    t.is(openSealedText('secrets', 'a', sealed), undefined);
  }
});

test('a damaged or truncated sealed text does not open', (t) => {
  const sealed = Buffer.from(sealText('secret', 'a', 'token'), 'base64url');
  for (let at = 0; at < sealed.length; at++) {
    const damaged = Buffer.from(sealed);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    t.is(openSealedText('secret', 'a', damaged.toString('base64url')), undefined, `byte ${at}`);
    t.is(openSealedText('secret', 'a', sealed.subarray(0, at).toString('base64url')), undefined, `cut at ${at}`);
  }
});

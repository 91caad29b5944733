import test from 'ava';
import { hashPassword, verifyPassword } from '../../src/accounts/passwords.ts';

test('passwords are hashed with argon2id at the recommended cost, and a missing hash never matches', async (t) => {
  const hash = await hashPassword('correct horse');
  t.regex(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  const tries = await Promise.all([
    verifyPassword(hash, 'correct horse'),
    verifyPassword(hash, 'correct horse '),
    verifyPassword(undefined, 'a password nobody has'),
    verifyPassword(hash, 'x'.repeat(2_000)),
  ]);
  t.deepEqual(tries, [true, false, false, false]);
  await t.throwsAsync(hashPassword('ü'.repeat(513)), { instanceOf: RangeError });
});

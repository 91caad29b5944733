import test from 'ava';
import { once } from '../../src/kernel/once.ts';

test('once() runs its work once for concurrent callers, and retries after a failure', async (t) => {
  let calls = 0;
  const made = once(async () => {
    calls += 1;
    if (calls === 1) throw new Error('out of memory');
    return calls;
  });
  const both = await Promise.allSettled([made(), made()]);
  t.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  t.deepEqual(await Promise.all([made(), made()]), [2, 2]);
  t.is(calls, 2);
});

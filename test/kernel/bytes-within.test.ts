import test from 'ava';
import { bytesWithin } from '../../src/kernel/registry/http.ts';

test('bytesWithin returns all bytes up to its limit, and beyond it throws and closes the source', async (t) => {
  let ended = 0;
  async function* chunks() {
    try {
      for (;;) yield Buffer.from('ab');
    } finally {
      ended++;
    }
  }
  const limited = async function* (count: number) {
    for await (const chunk of chunks()) {
      if (count-- === 0) return;
      yield chunk;
    }
  };
  t.is((await bytesWithin(6, limited(3))).toString(), 'ababab');
  t.is((await bytesWithin(0, limited(0))).length, 0);
  await t.throwsAsync(bytesWithin(5, chunks()), { message: 'more than 5 bytes' });
  await t.throwsAsync(
    bytesWithin(1, chunks(), () => new RangeError('own')),
    { instanceOf: RangeError, message: 'own' },
  );
  t.is(ended, 4);
});

import test from 'ava';
import { inShort } from '../../../src/web/panel/in-short.ts';

test('inShort waits for quick work, passes on its failure, and does not wait for slow work', async (t) => {
  t.is(await inShort(Promise.resolve(), 'reset', 'resetting'), 'reset');
  await t.throwsAsync(inShort(Promise.reject(new Error('damaged')), 'reset', 'resetting'), { message: 'damaged' });
  t.is(await inShort(new Promise(() => {}), 'reset', 'resetting', 1), 'resetting');
});

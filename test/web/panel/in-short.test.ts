import test from 'ava';
import { inShort } from '../../../src/web/panel/in-short.ts';

test('a form waits for what is done soon, says what fails, and does not wait for what goes on', async (t) => {
  t.is(await inShort(Promise.resolve(), 'reset', 'resetting'), 'reset');
  await t.throwsAsync(inShort(Promise.reject(new Error('damaged')), 'reset', 'resetting'), { message: 'damaged' });
  t.is(await inShort(new Promise(() => {}), 'reset', 'resetting', 1), 'resetting');
});

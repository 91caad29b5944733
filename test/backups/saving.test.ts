import test from 'ava';
import { createSaving } from '../../src/backups/saving.ts';
import { fakeClock } from '../fakes/clock.ts';
import { fakeEngine } from '../fakes/engine.ts';
import { openEmptyStore } from '../support/empty-store.ts';

test('saving is skipped with a note on an engine without consoles, and fails if a console is unreachable', async (t) => {
  const store = await openEmptyStore();
  t.teardown(() => store.close());
  const clock = fakeClock(0);
  const never = new AbortController().signal;
  const savingOn = (withoutConsoles?: boolean) =>
    createSaving(
      store,
      { run: () => Promise.reject(new Error('nobody has a console')) },
      Object.assign(fakeEngine({ clock }), withoutConsoles !== undefined && { withoutConsoles }),
      clock,
    );
  t.regex(await savingOn(true).off('castle', null, never), /did not confirm.*sleeping server is complete/);
  for (const has of [false, undefined])
    await t.throwsAsync(savingOn(has).off('castle', null, never), { message: /console of the game is unreachable/ });
  t.deepEqual(await store.query('SELECT * FROM "saving_off"'), []);
});

import test from 'ava';
import { firstRun } from '../../src/access/operators.ts';
import { resetPassword } from '../../src/accounts/password-reset.ts';
import { getUserByEmail } from '../../src/accounts/rows.ts';
import { openBrowserSession, findBrowserSession } from '../../src/accounts/browser-sessions.ts';
import { verifyPassword } from '../../src/accounts/passwords.ts';
import { fakeClock } from '../fakes/clock.ts';
import { directory, emptyStore } from '../store/support.ts';

test('a password reset returns a new password for the operator and signs out all of their browsers', async (t) => {
  const store = await emptyStore(t);
  const clock = fakeClock();
  await t.throwsAsync(resetPassword(store, clock), { message: /There is no operator yet/ });
  const made = await firstRun(store, { clock, dataDir: await directory(t), baseUrl: '' });
  const { id = '' } = (await getUserByEmail(store, made?.email ?? '')) ?? {};
  const visitor = { address: '192.0.2.1', userAgent: 'test' };
  const token = await store.write((tx) => openBrowserSession(tx, id, visitor, clock.now()));
  const text = await resetPassword(store, clock);
  const [, password = ''] = /^The new password of operator@localhost is (\w{20})\. /.exec(text) ?? [];
  const user = await getUserByEmail(store, 'operator@localhost');
  t.true(await verifyPassword(user?.passwordHash, password));
  t.false(await verifyPassword(user?.passwordHash, made?.password ?? ''));
  t.is(await findBrowserSession(store, clock, token), undefined);
  const [entry] = await store.query<{ through: string; detail: string }>(
    `SELECT * FROM "audit" WHERE "action" = 'session.resetPassword'`,
  );
  t.like(entry, { through: 'the machine itself', detail: '' });
  await resetPassword(store, clock, 'Operator@LOCALHOST');
  await t.throwsAsync(resetPassword(store, clock, 'nobody@example.org'), { message: /No account has the address/ });
});

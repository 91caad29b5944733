import { KEY_SCOPES } from '../../src/http/scopes.ts';
import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { firstRun } from '../../src/access/operators.ts';
import { type FirstRun, openFirstRunFile } from '../../src/accounts/first-run.ts';
import { authenticate } from '../../src/access/keys.ts';
import { verifyPassword } from '../../src/accounts/passwords.ts';
import { getUserByEmail } from '../../src/accounts/rows.ts';
import type { Store } from '../../src/store/store.ts';
import { fakeClock } from '../fakes/clock.ts';
import { log, directory, emptyStore } from '../store/support.ts';
import { until } from '../support/until.ts';

test('the first run creates an operator with a password and a full key, and repeats them until the first sign-in', async (t) => {
  const dataDir = join(await directory(t), 'data');
  const store = await emptyStore(t);
  const clock = fakeClock();
  const options = { clock, dataDir, baseUrl: 'http://localhost:8080' };
  const made = await firstRun(store, options);
  t.truthy(made);
  await works(t, store, made);
  t.deepEqual(await firstRun(store, options), made);
  t.deepEqual(JSON.parse(await readFile(join(dataDir, 'first-run.json'), 'utf8')), made);
  const moved = { ...options, baseUrl: 'https://panel.example' };
  t.deepEqual(await firstRun(store, moved), { ...made!, baseUrl: 'https://panel.example' });
  t.like(JSON.parse(await readFile(join(dataDir, 'first-run.json'), 'utf8')), { baseUrl: 'https://panel.example' });
  t.is((await stat(join(dataDir, 'first-run.json'))).mode & 0o777, 0o600);
  t.deepEqual(await readdir(dataDir), ['first-run.json']);
});

async function works(t: ExecutionContext, store: Store, made: FirstRun | undefined): Promise<void> {
  const user = await getUserByEmail(store, made?.email ?? '');
  t.true(await verifyPassword(user?.passwordHash, made?.password ?? ''));
  const principal = await authenticate(store, fakeClock(), made?.apiKey ?? '');
  t.like(principal, { kind: 'key', accountId: made?.accountId, userId: user?.id, operator: true });
  t.deepEqual([...(principal?.scopes ?? [])], [...KEY_SCOPES]);
}

test('the first-run file loses its password at its account’s sign-in, and is deleted a week later', async (t) => {
  const dataDir = await directory(t);
  const store = await emptyStore(t);
  const clock = fakeClock();
  const made = await firstRun(store, { clock, dataDir, baseUrl: '' });
  const there = () => readdir(dataDir);
  const content = async () => JSON.parse(await readFile(join(dataDir, 'first-run.json'), 'utf8')) as Partial<FirstRun>;
  const file = await openFirstRunFile(dataDir, { clock, log });
  t.is(file.waiting(), join(dataDir, 'first-run.json'));
  await file.signedIn('acc_other');
  await file.dismissed(made?.accountId ?? '');
  t.deepEqual(await content(), { ...made });
  // A second start before the first sign-in.
  const later = await openFirstRunFile(dataDir, { clock, log });
  await later.signedIn(made?.accountId ?? '');
  const { password, apiKey } = await content();
  t.deepEqual([password, apiKey], [undefined, made?.apiKey]);
  t.is((await stat(join(dataDir, 'first-run.json'))).mode & 0o777, 0o600);
  t.is(later.waiting(), undefined);
  t.is(await firstRun(store, { clock, dataDir, baseUrl: '' }), undefined, 'later starts show no welcome');
  await works(t, store, made);
  // The week continues through later sign-ins and a restart.
  await clock.advance(6 * 86_400_000);
  await later.signedIn(made?.accountId ?? '');
  const restarted = fakeClock(clock.now());
  const last = await openFirstRunFile(dataDir, { clock: restarted, log });
  await last.signedIn(made?.accountId ?? '');
  await restarted.advance(86_399_000);
  t.deepEqual(await there(), ['first-run.json']);
  await restarted.advance(2_000);
  await until(async () => (await there()).length === 0);
});

test('the first-run file is deleted when its operator dismisses the banner', async (t) => {
  const dataDir = await directory(t);
  const store = await emptyStore(t);
  const clock = fakeClock();
  const made = await firstRun(store, { clock, dataDir, baseUrl: '' });
  const file = await openFirstRunFile(dataDir, { clock, log });
  await file.signedIn(made?.accountId ?? '');
  await file.dismissed('acc_other');
  t.deepEqual(await readdir(dataDir), ['first-run.json']);
  await file.dismissed(made?.accountId ?? '');
  t.deepEqual(await readdir(dataDir), []);
});

test('a first run killed between file and commit leaves a matching file after the next start', async (t) => {
  const dataDir = await directory(t);
  const store = await emptyStore(t);
  const options = { clock: fakeClock(), dataDir, baseUrl: '' };
  const dying: Store = {
    ...store,
    write: (work) =>
      store.write(async (tx) => {
        await work(tx);
        throw new Error('killed');
      }),
  };
  await t.throwsAsync(firstRun(dying, options), { message: 'killed' });
  const file = async () => JSON.parse(await readFile(join(dataDir, 'first-run.json'), 'utf8')) as FirstRun;
  const orphan = await file();
  t.is(await authenticate(store, options.clock, orphan.apiKey), undefined);
  await firstRun(store, options);
  t.not((await file()).apiKey, orphan.apiKey);
  await works(t, store, await file());
});

test('two parallel first runs create one operator', async (t) => {
  const dataDir = await directory(t);
  const store = await emptyStore(t);
  const options = { clock: fakeClock(), dataDir, baseUrl: '' };
  const made = (await Promise.all([firstRun(store, options), firstRun(store, options)])).filter(Boolean);
  t.true(made.length >= 1);
  t.deepEqual(JSON.parse(await readFile(join(dataDir, 'first-run.json'), 'utf8')), made[0]);
});

test('a first-run file from another installation is ignored and left unchanged', async (t) => {
  const dataDir = await directory(t);
  const store = await emptyStore(t);
  const options = { clock: fakeClock(), dataDir, baseUrl: '' };
  const made = await firstRun(store, options);
  const foreign = JSON.stringify({ ...made, accountId: 'acc_elsewhere' });
  await writeFile(join(dataDir, 'first-run.json'), foreign);
  t.is(await firstRun(store, options), undefined);
  t.is(await readFile(join(dataDir, 'first-run.json'), 'utf8'), foreign);
});

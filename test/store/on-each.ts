import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { StatusError } from '../../src/kernel/status.ts';
import { setMeta } from '../../src/store/meta.ts';
import { type Store } from '../../src/store/store.ts';
import { isHere } from '../support/needs.ts';
import { freshStore } from '../support/store.ts';
import { type Postgres, startPostgres } from './postgres.ts';

let postgres: Promise<Postgres> | undefined;

test.after.always(async () => (await postgres)?.stop());

/** Returns the URL of an empty database in the PostgreSQL of this test file. */
export async function postgresDatabase(): Promise<string> {
  postgres ??= startPostgres();
  return await (await postgres).database();
}

/** Declares a test once for SQLite and once for PostgreSQL. */
export function onEach(title: string, body: (t: ExecutionContext, url: string) => Promise<void>): void {
  test(`sqlite: ${title}`, async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'store-'));
    t.teardown(() => rm(directory, { recursive: true, force: true }));
    await body(t, `sqlite:${join(directory, 'made', 'store.db')}`);
  });
  test.runIf(isHere('postgres'))(`postgres: ${title}`, async (t) => {
    await body(t, await postgresDatabase());
  });
}

export function onEachStore(title: string, body: (t: ExecutionContext, store: Store) => Promise<void>): void {
  onEach(title, async (t, url) => body(t, await freshStore(t, url)));
}

export async function refused(t: ExecutionContext, attempt: Promise<unknown>, reason: string): Promise<StatusError> {
  const error = await t.throwsAsync(attempt, { instanceOf: StatusError });
  t.is(error.reason, reason);
  return error;
}

export const put = (store: Store, key: string, value = ''): Promise<void> =>
  store.write((tx) => setMeta(tx, key, value));

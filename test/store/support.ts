import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { createLog } from '../../src/kernel/log.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { type Store, openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { openEmptyStore } from '../support/empty-store.ts';

/** A silent log. */
export const log = createLog({ level: 'silent' });

/** A folder that is removed after the test. */
export async function directory(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'dormouse-store-'));
  t.teardown(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A store with empty tables, closed after the test. */
export async function emptyStore(t: ExecutionContext, url?: string): Promise<Store> {
  const store = await (url === undefined ? openEmptyStore() : openStore(url, TABLES));
  t.teardown(() => store.close());
  return store;
}

/** Fails unless the attempt is refused for the reason, in one sentence. */
export async function refused(t: ExecutionContext, attempt: Promise<unknown>, reason: string): Promise<StatusError> {
  const error = await t.throwsAsync(attempt, { instanceOf: StatusError });
  t.is(error.reason, reason, error.message);
  t.regex(error.message, /^[^\n]+\.$/);
  return error;
}

import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { openSecret, requireSecret } from '../../src/store/secret.ts';
import type { Store } from '../../src/store/store.ts';
import { directory, emptyStore, refused } from './support.ts';

test('secret: derived values survive a restart and differ by purpose and id', async (t) => {
  const dataDir = join(await directory(t), 'data');
  const store = await emptyStore(t);
  const secret = await openSecret(store, dataDir);
  const password = secret.derive('rcon', 'amber');
  t.regex(password, /^[\w-]{43}$/);
  t.is((await openSecret(store, dataDir)).derive('rcon', 'amber'), password);
  t.is(new Set([password, secret.derive('rcon', 'birch'), secret.derive('user-code', 'amber')]).size, 3);
  t.is((await stat(join(dataDir, 'secret.key'))).mode & 0o777, 0o600);
  t.is((await readFile(join(dataDir, 'secret.key'))).length, 32);
  t.deepEqual(Object.keys(secret), ['derive']);
});

test('secret: a missing or foreign file stops the start; an empty file is replaced by a new secret', async (t) => {
  const dataDir = await directory(t);
  const path = join(dataDir, 'secret.key');
  const store = await emptyStore(t);
  const first = (await openSecret(store, dataDir)).derive('rcon', 'amber');
  const bytes = await readFile(path);
  await rm(path);
  await refused(t, openSecret(store, dataDir), 'SECRET_MISSING');
  await t.throwsAsync(stat(path), { code: 'ENOENT' });
  for (const wrong of [Buffer.alloc(32), bytes.subarray(1)]) {
    await writeFile(path, wrong);
    await refused(t, openSecret(store, dataDir), 'SECRET_MISSING');
    await refused(t, requireSecret(store, dataDir), 'SECRET_MISSING');
  }
  await writeFile(path, bytes);
  await t.notThrowsAsync(requireSecret(store, dataDir));
  t.is((await openSecret(store, dataDir)).derive('rcon', 'amber'), first);
  await writeFile(path, '');
  // Killed after the new file is written, before the database records it.
  let writes = 0;
  const dying: Store = {
    ...store,
    write: (work) => (writes++ === 0 ? store.write(work) : Promise.reject(new Error('killed'))),
  };
  await t.throwsAsync(openSecret(dying, dataDir), { message: 'killed' });
  t.is((await readFile(path)).length, 32);
  const renewed = (await openSecret(store, dataDir)).derive('rcon', 'amber');
  t.not(renewed, first);
  t.is((await openSecret(store, dataDir)).derive('rcon', 'amber'), renewed);
});

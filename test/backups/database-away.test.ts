import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { unavailable } from '../../src/store/errors.ts';
import type { Store } from '../../src/store/store.ts';
import type { ApiUnderTest } from '../support/api-harness.ts';
import { archiveOf, backUp, backupsOf, filesOf, find, restore, sleeping } from './parts.ts';

interface Fault {
  /** The step of a backup at which the database becomes unavailable. */
  step: string;
  /** The number of writes that still succeed after that step. */
  writes: number;
  away: boolean;
  /** The number of failed calls. */
  failed: number;
}

/** A sleeping server whose database becomes unavailable at a step of a backup. */
async function bench(t: ExecutionContext, quotaBytes = 0): Promise<{ it: ApiUnderTest; fault: Fault }> {
  const fault: Fault = { step: '', writes: 0, away: false, failed: 0 };
  const requireThere = () => {
    if (!fault.away) return;
    fault.failed += 1;
    throw unavailable(new Error('locked'));
  };
  const store = (base: Store): Store => ({
    ...base,
    async query(sql, parameters) {
      if (fault.writes <= 0) requireThere();
      return base.query(sql, parameters);
    },
    async write(work) {
      if (fault.away && fault.writes-- > 0) return base.write(work);
      requireThere();
      return base.write(work);
    },
  });
  const at = (step: string) => {
    if (step === fault.step) fault.away = true;
  };
  return { it: await sleeping(t, { world: { store, room: { at, quotaBytes } } }), fault };
}

/** Ends the fault after a call has failed, then advances the clock by 10 s. */
async function comesBack(it: ApiUnderTest, fault: Fault): Promise<void> {
  await it.until(() => fault.failed > 0);
  Object.assign(fault, { away: false, step: '' });
  await it.clock.advance(10_000);
}

test('a finished backup keeps its archive if the database is locked right after it is stored', async (t) => {
  const { it, fault } = await bench(t);
  Object.assign(fault, { step: 'archived', writes: 1 });
  const { id } = (await it.ok('POST', '/v1/servers/lobby/backups')) as { id: string };
  await comesBack(it, fault);
  await it.until(() => it.services.backups.list('lobby').then(([row]) => row?.state === 'ready'));
  t.true(existsSync(archiveOf(it, 'lobby', id)));
  t.is((await restore(it, id)).status, 200);
  await backUp(it, 'lobby');
});

test('a backup that finishes during a database outage is ready after the outage', async (t) => {
  const { it, fault } = await bench(t);
  fault.step = 'archived';
  const { id } = (await it.ok('POST', '/v1/servers/lobby/backups')) as { id: string };
  await comesBack(it, fault);
  await it.passUntil(async () => (await find(it, 'lobby', id))?.state === 'ready', 1_000);
  t.is((await restore(it, id)).status, 200);
  await backUp(it, 'lobby');
});

test('a backup that fails during a database outage is marked failed afterwards, and the next one is accepted', async (t) => {
  const { it, fault } = await bench(t, 100);
  // The backup reads its quota from the database and fails.
  fault.step = 'begun';
  const { id } = (await it.ok('POST', '/v1/servers/lobby/backups')) as { id: string };
  await comesBack(it, fault);
  await it.passUntil(async () => (await find(it, 'lobby', id))?.state === 'failed', 1_000);
  t.deepEqual(await filesOf(it, 'lobby'), []);
  t.is((await it.call('POST', '/v1/servers/lobby/backups')).status, 200);
});

test('a world reset whose backup finishes during a database outage continues after the outage', async (t) => {
  let lost = 0;
  let folder = '';
  const isArchived = () => existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.zst'));
  const store = (base: Store): Store => ({
    ...base,
    async write(work) {
      if (lost < 3 && isArchived()) {
        lost += 1;
        throw unavailable(new Error('locked'));
      }
      return base.write(work);
    },
  });
  const it = await sleeping(t, { world: { store } });
  folder = join(it.dataDir, 'backups/lobby');
  const reset = it.call('POST', '/v1/servers/lobby/worlds:reset');
  await it.until(() => lost > 0);
  await it.until(async () => {
    await it.clock.advance(1_000);
    return lost === 3;
  });
  t.is((await it.during(reset)).status, 200);
  t.like(await backupsOf(it, 'lobby'), [{ kind: 'reset', state: 'ready' }]);
  await backUp(it, 'lobby');
});

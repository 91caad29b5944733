import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { joinRaw } from '../support/bot.ts';
import { MIB } from '../../src/kernel/units.ts';
import { type ServerRecord, startService } from '../support/service.ts';
import { plant } from '../support/tree.ts';
import { until } from '../support/until.ts';

interface Quoted extends ServerRecord {
  quotaExceeded: boolean;
  diskUsageMb: string;
  diskQuotaEffectiveMb: string;
}

const QUOTA_MB = 80;
/** The size of the owner's files. */
const FILLED_MB = 70;
/** The growth per second. It is slow enough that a stop ends in time, even on a busy machine. */
const GROW_MB = 2;

test('a game that fills its disk is stopped with its world saved, and wakes again once there is room', async (t) => {
  const faults = { SANDBOX_FAULTS: `GROW_MB=${GROW_MB}` };
  const service = await startService(t, { DISK_QUOTA_MB: String(QUOTA_MB), ...faults });
  await service.create('greedy', '1.20.4');
  await plant(join(service.dataDir, 'servers/greedy'), { filler: Buffer.alloc(FILLED_MB * MIB, 1) });
  const address = { port: service.playersPort, version: '1.20.4', fakeHost: 'greedy.localhost' };
  const steve = await joinRaw({ ...address, name: 'Steve' });
  await steve.waitChat(/This server's disk is full\. It saves and goes to sleep in 10 seconds\./);
  t.regex(await steve.ended, /disk is full/);
  const asleep = (await service.reach('greedy', 'hibernated')) as Quoted;
  t.true(asleep.quotaExceeded);
  t.is(asleep.diskQuotaEffectiveMb, String(QUOTA_MB));

  const { transitions } = await service.call<{ transitions: { to: string; cause: { id: string } }[] }>(
    'GET',
    '/v1/servers/greedy/machine',
  );
  t.is(transitions.find(({ to }) => to === 'stopping')?.cause.id, 'quota');
  const { lines } = await service.call<{ lines: string[] }>('GET', '/v1/servers/greedy/logs');
  t.true(lines.some((line) => line.includes('All dimensions are saved')));
  const region = join(service.dataDir, 'servers/greedy/world/region/r.99.99.mca');
  const tookMb = (await stat(region)).size / MIB + FILLED_MB;
  t.true(tookMb < QUOTA_MB * 1.25, `${tookMb} MB used of ${QUOTA_MB} MB`);

  await t.throwsAsync(service.call('POST', '/v1/servers/greedy:start'), { message: /QUOTA_EXCEEDED/ });
  const refused = await t.throwsAsync(joinRaw({ ...address, name: 'Steve' }));
  t.regex(refused.message, /server's disk is full/);
  // The exceeded quota is known after a restart, before any measurement.
  await service.kill();
  await service.start();
  t.true((await service.call<Quoted>('GET', '/v1/servers/greedy')).quotaExceeded);
  await t.throwsAsync(service.call('POST', '/v1/servers/greedy:start'), { message: /QUOTA_EXCEEDED/ });

  await rm(region);
  await service.call('POST', '/v1/servers/greedy:start');
  await service.reach('greedy', 'running');
  t.false((await service.call<Quoted>('GET', '/v1/servers/greedy')).quotaExceeded);
  await service.call('POST', '/v1/servers/greedy:stop');
  await service.reach('greedy', 'hibernated');
});

test('a suspension and a drain survive a crash, and an operator removes the orphaned files of a lost server', async (t) => {
  const service = await startService(t);
  const { id } = await service.create('bad', '1.20.4');
  await service.call('POST', `/v1/servers/${id}:start`);
  await service.reach(id, 'running');
  const suspended = await service.call('POST', `/v1/operator/servers/${id}:suspend`, { reason: 'abuse' });
  t.is(suspended.startErrorSummary, 'Suspended: abuse');
  await service.call('POST', '/v1/operator/nodes:drain', { node: 'node-1', reason: 'new disks' });
  await service.kill();
  await service.start();
  // The game may have to be killed.
  await service.reach(id, 'hibernated');
  const start = () => service.call('POST', `/v1/servers/${id}:start`);
  await t.throwsAsync(start(), { message: /SERVER_SUSPENDED/ });
  await service.call('POST', `/v1/operator/servers/${id}:unsuspend`, { reason: 'settled' });
  await t.throwsAsync(start(), { message: /NODE_DRAINED/ });
  await service.call('POST', '/v1/operator/nodes:resume', { node: 'node-1', reason: 'done' });
  await service.call('POST', '/v1/operator/orphans:remove', { kind: 'data', id, reason: 'x' }).then(
    () => t.fail(),
    (error: Error) => t.regex(error.message, /ORPHAN_NOT_FOUND/),
  );
  await service.stop();
  // The database and its servers are lost, but their files remain.
  for (const name of await readdir(service.dataDir)) {
    if (name.startsWith('dormouse.db')) await rm(join(service.dataDir, name));
  }
  service.apiKey = '';
  await service.start();
  const list = () => service.call<{ orphans: { kind: string; id: string }[] }>('GET', '/v1/operator/orphans');
  t.like(await list(), { orphans: [{ kind: 'data', id }] });
  await service.call('POST', '/v1/operator/orphans:remove', { kind: 'data', id, reason: 'lost' });
  t.deepEqual((await list()).orphans, []);
  await until(async () => (await readdir(join(service.dataDir, 'servers'))).length === 0);
});

import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { createCapacity, type Machine, createMachineProbe } from '../../src/billing/capacity.ts';
import { type Reserving, reserves } from '../../src/billing/reservations.ts';
import { fakeClock } from '../fakes/clock.ts';

const MACHINE: Machine = { cores: 3, ramMb: 16_384, diskFreeMb: 10, diskTotalMb: 20 };

function server(state: Reserving['state'], more: Partial<Reserving['context']> = {}, ramMb = 1_024): Reserving {
  return { row: { id: state, accountId: 'acc', ramMb }, state, context: { queued: null, wokenAt: null, ...more } };
}

test('the machine probe reports cores, RAM and disk, and 0 for a disk that it cannot read', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dormouse-probe-'));
  t.teardown(() => rm(dataDir, { recursive: true }));
  for (const ownLimits of [true, false]) {
    const machine = await createMachineProbe(dataDir, ownLimits)();
    t.true(machine.cores >= availableParallelism() && Number.isInteger(machine.cores));
    t.true(machine.ramMb > 0 && machine.ramMb <= totalmem() / 1_048_576);
    t.true(machine.diskTotalMb > 0 && machine.diskFreeMb <= machine.diskTotalMb);
  }
  const nowhere = await createMachineProbe(join(dataDir, 'gone'), true)();
  t.deepEqual([nowhere.diskFreeMb, nowhere.diskTotalMb], [0, 0]);
});

test('awake servers reserve capacity, and sleeping ones do not', (t) => {
  const cause = { kind: 'key', id: 'k', note: '' } as const;
  for (const state of ['starting', 'running', 'stopping', 'installing'] as const)
    t.true(reserves(server(state)), state);
  for (const state of ['hibernated', 'start_failed', 'install_failed', 'deleting'] as const) {
    t.false(reserves(server(state)), state);
  }
  t.true(reserves(server('start_failed', { queued: cause })));
  t.true(reserves(server('deleting', { wokenAt: 1 })));
});

test('capacity reports usable RAM, CPU tiers and reserved resources', async (t) => {
  const clock = fakeClock();
  let machine = MACHINE;
  const live = [server('running', {}, 2_048), server('starting', {}, 8_192), server('hibernated')];
  const capacity = await createCapacity(
    clock,
    async () => machine,
    () => live,
  );
  t.teardown(() => capacity.close());
  const now = capacity.now();
  t.deepEqual(now.used, { servers: 2, ramMb: 10_240, cpus: 4 });
  t.is(now.ramUsableMb, 15_872);
  // No server gets more cores than there are.
  t.deepEqual(now.cpuTiers, [
    { ramMb: 2_048, cpus: 1 },
    { ramMb: 4_096, cpus: 2 },
    { ramMb: 6_144, cpus: 3 },
    { ramMb: 8_192, cpus: 3 },
  ]);
  t.is(now.cpusPerServer, 3);
  t.deepEqual(
    [128, 2_048, 2_049, 6_144, 65_536].map((ramMb) => capacity.cpusFor(ramMb)),
    [1, 1, 2, 3, 3],
  );

  machine = { ...MACHINE, ramMb: 1_024, diskFreeMb: 5 };
  t.is((await capacity.read()).machine.diskFreeMb, 10);
  await clock.advance(15_000);
  t.deepEqual([capacity.now().machine.diskFreeMb, capacity.now().ramUsableMb], [5, 896]);
  capacity.close();
  t.is(clock.pending(), 0);
});

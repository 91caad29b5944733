import test from 'ava';
import type { ServerEvent } from '../../machines/server-types.ts';
import { type Management, ManagementError } from '../../src/engines/console/management-port.ts';
import type { Engine, Game } from '../../src/engines/engine.ts';
import { createLog } from '../../src/kernel/log.ts';
import { REST_MS, SAMPLE_MS, sampleEvery } from '../../src/servers/sampling.ts';
import { createPresence } from '../../src/servers/presence.ts';
import type { EffectHost, GameAccess } from '../../src/servers/effect-host.ts';
import type { ServerNow } from '../../src/servers/server-now.ts';
import { fakeClock, steadyOf } from '../fakes/clock.ts';
import { fakePasswords } from '../fakes/passwords.ts';
import { serverRow } from '../support/store.ts';
import { SETTINGS } from '../support/world.ts';

test('player counts come from the management port, and from the status while the port fails, until a retry', async (t) => {
  const clock = fakeClock();
  const readings: (number | null)[] = [];
  let online: number | undefined = 1;
  let asked = 0;
  let changed = () => {};
  const management: Management = {
    started: async () => true,
    async players() {
      asked += 1;
      if (online === undefined) throw new ManagementError('gone');
      return Array.from({ length: online }, (_, n) => ({ name: `P${n}`, uuid: '' }));
    },
    watch(_, listener) {
      changed = listener;
      return () => (changed = () => {});
    },
    release() {},
    close() {},
  };
  const presence = createPresence(clock);
  const address = { host: 'alpha', port: 1 };
  const row = serverRow('alpha', { type: 'paper', version: '1.21.9' });
  const now = { row, context: { address, rcon: null } } as unknown as ServerNow;
  const host = { now: () => now, patch: async () => {} } as unknown as EffectHost;
  const end = sampleEvery(
    {
      clock: steadyOf(clock),
      management,
      engine: { inspect: async () => ({ management: address }) as Game } as Partial<Engine> as Engine,
      console: { run: async () => '', release() {}, close() {} },
      pinger: { status: async () => ({ playersOnline: 9, playersMax: 20, versionName: '', protocol: 0, raw: '{}' }) },
      presence,
      log: createLog({ level: 'silent' }),
      passwords: fakePasswords(),
      settings: { ...SETTINGS, dataDir: '', idleTimeoutMinutes: 0, hungAfterSeconds: 0 },
    } as Partial<GameAccess> as GameAccess,
    host,
    'alpha',
    (event: ServerEvent) => void (event.type === 'SAMPLE' && readings.push(event.players)),
  );
  const pass = async (ms: number) => {
    await clock.advance(ms);
    for (let turn = 0; turn < 5; turn++) await clock.advance(0);
    return readings.splice(0);
  };
  t.deepEqual(await pass(0), [1]);
  online = 3;
  changed();
  changed();
  t.deepEqual(await pass(100), [3], 'simultaneous changes cause one reading');
  online = undefined;
  changed();
  t.deepEqual(await pass(100), [], 'a failed reading reports no count');
  const tried = asked;
  t.deepEqual(await pass(SAMPLE_MS - 200), [9]);
  t.deepEqual(await pass(SAMPLE_MS), [9]);
  t.is(asked, tried, 'a failed port is not tried again at once');
  presence.changed('alpha', { inside: 1, knocking: 0 });
  t.deepEqual(await pass(0), [10], 'a join at the proxy counts at once');
  presence.changed('beta', { inside: 1, knocking: 0 });
  presence.changed('alpha', { inside: 1, knocking: 1 });
  t.deepEqual(await pass(0), [], 'another server or a login causes no reading');
  presence.changed('alpha', { inside: 0, knocking: 0 });
  t.deepEqual(await pass(0), [9], 'a leave at the proxy counts at once');
  online = 2;
  await pass(REST_MS - SAMPLE_MS);
  t.deepEqual(await pass(SAMPLE_MS), [2]);
  online = 4;
  changed();
  t.deepEqual(await pass(100), [4], 'changes are followed again');
  changed();
  end();
  t.deepEqual(await pass(SAMPLE_MS), []);
});

test('ignored players do not count, whichever source names them', async (t) => {
  const clock = fakeClock();
  const readings: (number | null)[] = [];
  const row = serverRow('alpha', { type: 'paper', version: '1.20.1', ignoredPlayers: 'NPC_*' });
  const address = { host: 'alpha', port: 1 };
  const now = { row, context: { address, rcon: address } } as unknown as ServerNow;
  const named = (...names: string[]) => names.map((name) => ({ name, id: '1b' }));
  let players: object = { online: 2, sample: named('NPC_1', 'Steve') };
  let list = '';
  const pinger = {
    status: async () => ({
      playersOnline: 2,
      playersMax: 20,
      versionName: '',
      protocol: 0,
      raw: JSON.stringify({ players }),
    }),
  };
  const end = sampleEvery(
    {
      clock: steadyOf(clock),
      engine: { inspect: async () => undefined } as Partial<Engine> as Engine,
      console: { run: async () => list, release() {}, close() {} },
      pinger,
      presence: createPresence(clock),
      log: createLog({ level: 'silent' }),
      passwords: fakePasswords(),
      settings: { ...SETTINGS, dataDir: '', idleTimeoutMinutes: 10, hungAfterSeconds: 0 },
    } as Partial<GameAccess> as GameAccess,
    { now: () => now, patch: async () => {} } as unknown as EffectHost,
    'alpha',
    (event: ServerEvent) => void (event.type === 'SAMPLE' && readings.push(event.players)),
  );
  const pass = async (ms: number) => {
    await clock.advance(ms);
    for (let turn = 0; turn < 8; turn++) await clock.advance(0);
    return readings.splice(0);
  };
  t.deepEqual(await pass(0), [1], 'the status names all players');
  players = { online: 2, sample: [] };
  list = 'There are 2 of a max of 20 players online: NPC_1, NPC_2';
  t.deepEqual(await pass(SAMPLE_MS), [0], 'the status hides names, and the console lists them');
  list = '';
  t.deepEqual(await pass(SAMPLE_MS), [2], 'players without a name count');
  end();
});

import test, { type ExecutionContext } from 'ava';
import { createLog } from '../../src/kernel/log.ts';
import { MINUTE_MS } from '../../src/kernel/units.ts';
import { dueAtSleep } from '../../src/schedules/open.ts';
import { type ScheduleRow, getSchedule, insertSchedule, makeDueAtSleep } from '../../src/schedules/rows.ts';
import { Schedules } from '../../src/schedules/schedules.ts';
import type { Store } from '../../src/store/store.ts';
import { type FakeClock, fakeClock } from '../fakes/clock.ts';
import { api } from '../support/api-harness.ts';
import { world } from '../support/world.ts';

const PATH = '/v1/servers/abc/schedules';

type Shown = { id: string; lastStatus: string; lastError: string; nextRunAt: string; playedMinutes: number };

async function server(t: ExecutionContext) {
  const it = await api(t, { world: { onStep: dueAtSleep } });
  await it.create('abc');
  const shown = async () => ((await it.ok('GET', PATH))['schedules'] as Shown[])[0]!;
  const make = async (fields: object) => (await it.ok('POST', PATH, fields)) as unknown as Shown;
  const backups = async () => ((await it.ok('GET', '/v1/servers/abc/backups'))['backups'] as object[]).length;
  const start = async () => {
    await it.command('abc', 'START');
    await it.reach('abc', 'running');
  };
  const stop = async () => {
    await it.command('abc', 'STOP');
    await it.reach('abc', 'hibernated');
  };
  return { ...it, shown, make, backups, start, stop };
}

test('a backup at sleep is made each time the server has gone to sleep, and only while enabled', async (t) => {
  const it = await server(t);
  const made = await it.make({ kind: 'backup', cronExpr: ' @SLEEP ' });
  t.like(made, { cronExpr: '@sleep', nextRunAt: '', enabled: true, playedMinutes: 0 });
  for (const nth of [1, 2]) {
    await it.start();
    t.is(await it.backups(), nth - 1);
    await it.stop();
    await it.until(async () => (await it.backups()) === nth && (await it.shown()).lastStatus === 'ok');
    t.is((await it.shown()).nextRunAt, '');
    await it.clock.advance(5_000);
  }
  await it.ok('POST', `${PATH}:setEnabled`, { scheduleId: made.id, enabled: false });
  await it.start();
  await it.stop();
  t.like(await it.ok('POST', `${PATH}:setEnabled`, { scheduleId: made.id, enabled: true }), { nextRunAt: '' });
  await it.clock.advance(MINUTE_MS);
  t.is(await it.backups(), 2);
});

test('a restart is no sleep: only a server that stays asleep makes its backup', async (t) => {
  const it = await server(t);
  await it.make({ kind: 'backup', cronExpr: '@sleep' });
  await it.start();
  const boots = it.engine.boots.length;
  await it.command('abc', 'RESTART');
  await it.passUntil(() => it.engine.boots.length > boots, 1_000);
  await it.reach('abc', 'running');
  t.like(await it.shown(), { lastStatus: '', nextRunAt: '' });
});

test('hours of play count minutes with players, and the restart comes after its warning', async (t) => {
  const it = await server(t);
  await it.start();
  await it.make({ kind: 'restart', cronExpr: '@play  1h', warnSeconds: 60 });
  await it.store.write((tx) => tx.run('UPDATE "schedules" SET "playedMinutes" = 57', []));
  await it.clock.advance(5 * MINUTE_MS);
  const counted = (await it.shown()).playedMinutes;
  it.games.players.set('abc', 0);
  await it.passUntil(async () => (await it.servers.get('abc'))?.context.live.players === 0, 1_000);
  const idle = (await it.shown()).playedMinutes;
  await it.clock.advance(3 * MINUTE_MS);
  t.is((await it.shown()).playedMinutes, idle, 'minutes without players do not count');
  t.true(counted >= 57);
  it.games.players.set('abc', 1);
  it.games.names.set('abc', ['Steve']);
  await it.passUntil(async () => (await it.servers.get('abc'))?.context.live.players === 1, 1_000);
  it.games.commands.length = 0;
  const boots = it.engine.boots.length;
  await it.passUntil(() => it.games.commands.some((typed) => /say abc: restarts in/.test(typed)), 5_000);
  t.is(it.engine.boots.length, boots);
  await it.passUntil(() => it.engine.boots.length > boots, 1_000);
  t.like(await it.shown(), { lastStatus: 'ok', nextRunAt: '' });
});

test('a task that makes no sense on an occasion is refused with a sentence', async (t) => {
  const it = await server(t);
  const refused = async (fields: object) => {
    const { status, json } = await it.call('POST', PATH, { body: fields });
    t.is(status, 400);
    return JSON.stringify(json);
  };
  for (const kind of ['command', 'start', 'stop', 'restart'])
    t.regex(
      await refused({ kind, command: kind === 'command' ? 'list' : '', cronExpr: '@sleep' }),
      /server is asleep then/,
    );
  for (const kind of ['start', 'update'])
    t.regex(await refused({ kind, cronExpr: '@play 6h' }), /server is awake then/);
  const backup = { kind: 'backup', cronExpr: '@sleep' };
  t.regex(await refused({ ...backup, warnSeconds: 30 }), /no players then/);
  t.regex(await refused({ ...backup, cronExpr: '@play 6h', onlyWhenEmpty: true }), /players are online then/);
  t.regex(await refused({ ...backup, timeZone: 'Mars/Base' }), /IANA time zone/);
  for (const cronExpr of ['@play', '@play 0h', '@play 721h', '@play 06h', '@play 6', '@play 6 h', '@wake', '@sleep 2'])
    t.regex(await refused({ kind: 'backup', cronExpr }), /1 to 720 hours/, cronExpr);
});

test('a change of the task keeps the minutes of play, and a change of the hours starts over', async (t) => {
  const it = await server(t);
  const { id: scheduleId } = await it.make({ kind: 'backup', cronExpr: '@play 6h', warnSeconds: 60 });
  await it.store.write((tx) => tx.run('UPDATE "schedules" SET "playedMinutes" = 100', []));
  t.like(await it.make({ scheduleId, kind: 'stop', cronExpr: '@play 6h' }), { playedMinutes: 100, warnSeconds: 60 });
  t.like(await it.make({ scheduleId, kind: 'stop', cronExpr: '@play 5h' }), { playedMinutes: 0, nextRunAt: '' });
  t.like(await it.make({ scheduleId, kind: 'backup', cronExpr: '@sleep' }), { warnSeconds: 0 });
  t.not((await it.make({ scheduleId, kind: 'backup', cronExpr: '0 4 * * *' })).nextRunAt, '');
});

const ROW: Omit<ScheduleRow, 'cronExpr' | 'createdAt'> = {
  id: 'sch_1',
  serverId: 'abc',
  kind: 'backup',
  command: '',
  timeZone: 'UTC',
  enabled: true,
  onlyWhenEmpty: false,
  warnSeconds: 0,
  lastStatus: '',
  lastError: '',
  lastRunAt: null,
  nextRunAt: null,
  playedMinutes: 57,
  runningSince: null,
  userId: '',
  keyId: '',
};

/** A store of a service that is killed just before or just after its n-th write is stored. */
function mortal(
  store: Store,
  { nth, stored }: { nth: number; stored: boolean },
): { store: Store; dead: () => boolean } {
  let writes = 0;
  const write: Store['write'] = async (work) => {
    writes++;
    if (writes > nth || (writes === nth && !stored)) throw new Error('killed');
    const done = await store.write(work);
    if (writes >= nth) throw new Error('killed');
    return done;
  };
  return { store: Object.create(store, { write: { value: write } }) as Store, dead: () => writes >= nth };
}

for (const cronExpr of ['@play 1h', '@sleep']) {
  test(`a run of ${cronExpr} happens once, at any write at which the service is killed`, async (t) => {
    const w = await world(t);
    await w.create('abc');
    for (const stored of [false, true]) {
      for (let nth = 1; nth <= 8; nth++) {
        const title = `killed ${stored ? 'after' : 'before'} write ${nth}`;
        const clock: FakeClock = fakeClock(w.clock.now());
        await w.store.write((tx) => tx.run('DELETE FROM "schedules"', []));
        await w.store.write((tx) => insertSchedule(tx, { ...ROW, cronExpr, createdAt: clock.now() }));
        const shown = async () => (await getSchedule(w.store, 'abc', 'sch_1'))!;
        let runs = 0;
        const actions = {
          run: async () => void runs++,
          hasPlayers: async () => true,
          played: () => ['abc'],
          warnOfBackup: async () => {},
        };
        const log = createLog({ level: 'silent' });
        const open = (store: Store) => Schedules.open({ store, clock, log, actions });
        const { store, dead } = mortal(w.store, { nth, stored });
        let schedules = await open(store).catch(() => undefined);
        let interrupted = 0;
        let isBack = false;
        for (let minute = 0; minute < 8; minute++) {
          if (dead() && !isBack) {
            isBack = true;
            await schedules?.close();
            if ((await shown()).runningSince !== null && runs === 0) interrupted++;
            schedules = await open(w.store);
          }
          const { playedMinutes } = await shown();
          if (cronExpr === '@sleep' && minute === 2) {
            await w.store.write((tx) => makeDueAtSleep(tx, 'abc', clock.now()));
            schedules?.changed();
          }
          await clock.advance(MINUTE_MS);
          await w.until(async () => {
            const now = await shown();
            const isCounted = cronExpr === '@sleep' || now.playedMinutes !== playedMinutes;
            return (dead() && !isBack) || (isCounted && now.nextRunAt === null && now.runningSince === null);
          });
        }
        await schedules?.close();
        t.is(runs + interrupted, 1, title);
        t.is((await shown()).nextRunAt, null, title);
      }
    }
  });
}

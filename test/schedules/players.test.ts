import test from 'ava';
import { createLog } from '../../src/kernel/log.ts';
import { DAY_MS, MINUTE_MS } from '../../src/kernel/units.ts';
import { nextRun } from '../../src/schedules/next-run.ts';
import { type ScheduleRow, getSchedule, insertSchedule } from '../../src/schedules/rows.ts';
import { Schedules } from '../../src/schedules/schedules.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';
import { type World, world } from '../support/world.ts';

const PATH = '/v1/servers/lobby/schedules';

type Shown = { id: string; lastStatus: string; lastError: string; lastRunAt: string; nextRunAt: string };
type Under = Pick<ApiUnderTest, 'servers' | 'games' | 'passUntil'>;

/** Starts the server with these players and waits until they are counted. */
async function play(it: ApiUnderTest, ...names: string[]): Promise<void> {
  await it.create('lobby');
  await it.command('lobby', 'START');
  await it.reach('lobby', 'running');
  await online(it, names);
}

async function online({ servers, games, passUntil }: Under, names: string[], counted = names.length): Promise<void> {
  games.players.set('lobby', names.length);
  games.names.set('lobby', names);
  await passUntil(async () => (await servers.get('lobby'))?.context.live.players === counted, 1_000);
  games.commands.length = 0;
}

async function schedule({ ok }: Pick<ApiUnderTest, 'ok'>, fields: object): Promise<Shown> {
  return (await ok('POST', PATH, { cronExpr: '0 4 * * *', ...fields })) as unknown as Shown;
}

async function shown({ ok }: Pick<ApiUnderTest, 'ok'>): Promise<Shown> {
  const { schedules } = (await ok('GET', PATH)) as unknown as { schedules: Shown[] };
  return schedules[0]!;
}

/** Sets the clock so long before the schedule's next run, and returns the time of that run. */
async function before(it: ApiUnderTest, ms: number): Promise<number> {
  const dueAt = Date.parse((await shown(it)).nextRunAt);
  await it.clock.set(dueAt - ms);
  return dueAt;
}

const said = (it: Pick<World, 'games'>) =>
  it.games.commands.filter((command) => /^lobby: (?:say|title) /.test(command));

test('a schedule for an empty server is skipped while players are online, and ignored players do not count', async (t) => {
  const it = await api(t);
  await play(it, 'Steve');
  const { id: scheduleId } = await schedule(it, { kind: 'restart', onlyWhenEmpty: true });
  const run = () => it.ok('POST', `${PATH}:run`, { scheduleId });
  t.like(await run(), { lastStatus: 'skipped', lastError: 'Players were online.' });
  await before(it, 1_000);
  await it.passUntil(async () => (await shown(it)).lastStatus !== '', 1_000);
  t.like(await shown(it), { lastStatus: 'skipped', lastError: 'Players were online.' });
  t.is((await it.servers.get('lobby'))?.state, 'running');

  await it.ok('POST', '/v1/servers/lobby:setProperties', { ignoredPlayers: 'NPC_*' });
  const typed = it.games.run.bind(it.games);
  it.games.run = async (address, password, command) =>
    command === 'list' ? 'There are 1 of a max of 20 players online: NPC_1' : typed(address, password, command);
  await online(it, ['NPC_1'], 0);
  t.like(await run(), { lastStatus: 'ok' });
});

test('players are warned before a restart, which begins at its time', async (t) => {
  const it = await api(t);
  await play(it, 'Steve');
  await schedule(it, { kind: 'restart', warnSeconds: 60 });
  const dueAt = await before(it, 70_000);
  await it.clock.advance(5_000);
  t.deepEqual(said(it), []);
  await it.passUntil(() => said(it).length === 2, 1_000);
  t.regex(said(it)[0] ?? '', /^lobby: say lobby: restarts in (?:1 min|5\d s)\.$/);
  t.like(await it.ok('GET', '/v1/servers/lobby'), { stopsAt: new Date(dueAt).toISOString(), stopIsRestart: true });
  const { nextRunAt, lastRunAt } = await shown(it);
  t.deepEqual([Date.parse(lastRunAt), Date.parse(nextRunAt)], [dueAt, dueAt + DAY_MS]);
  const boots = it.engine.boots.length;
  await it.passUntil(() => it.engine.boots.length > boots, 1_000);
  t.true(it.clock.now() - dueAt < 5_000);
  await it.reach('lobby', 'running');
  await it.clock.advance(2 * MINUTE_MS);
  t.is(it.engine.boots.length, boots + 1);
});

test('a player who joins during the warning is warned of the time that is left', async (t) => {
  const it = await api(t);
  await play(it);
  await schedule(it, { kind: 'backup', warnSeconds: 60 });
  await before(it, 60_000);
  await it.clock.advance(20_000);
  t.deepEqual(said(it), []);
  await online(it, ['Alex']);
  await it.passUntil(() => said(it).length === 2, 1_000);
  const [, seconds] = /^lobby: say lobby: backup in (\d+) s\.$/.exec(said(it)[0] ?? '') ?? [];
  t.true(Number(seconds) > 5 && Number(seconds) < 40, said(it)[0]);
  await it.passUntil(async () => (await shown(it)).lastStatus === 'ok', 1_000);
  t.is(said(it).filter((command) => command.includes('backup in')).length, 1, 'once');
});

test('no warning is sent to a sleeping server, and a stop of it is not announced', async (t) => {
  const it = await api(t);
  await it.create('lobby');
  await schedule(it, { kind: 'stop', warnSeconds: 600 });
  await before(it, 9 * MINUTE_MS);
  await it.clock.advance(MINUTE_MS);
  t.is((await shown(it)).lastStatus, '');
  t.deepEqual(it.games.commands, []);
  await it.passUntil(async () => (await shown(it)).lastStatus === 'ok', 10_000);
});

test('a weekly restart that players were warned of happens once if the service is killed in between', async (t) => {
  const w = await world(t);
  const { store, clock } = w;
  w.games.players.set('lobby', 1);
  w.presence.changed('lobby', { inside: 1, knocking: 0 });
  await w.create('lobby');
  const open = async () => {
    const actions = {
      run: ({ serverId }: ScheduleRow, cause: Parameters<World['servers']['send']>[1]['cause'], dueAt?: number) =>
        w.servers.send(serverId, { type: 'RESTART', at: clock.now(), cause, ...(dueAt !== undefined && { dueAt }) }),
      hasPlayers: async () => (await w.servers.get('lobby'))?.context.live.players === 1,
      played: () => [],
      warnOfBackup: async () => t.fail(),
    };
    return Schedules.open({ store, clock, log: createLog({ level: 'silent' }), actions });
  };
  const weekly = { cronExpr: '0 4 * * 1', timeZone: 'UTC', kind: 'restart', command: '', enabled: true } as const;
  const never = { lastStatus: '', lastError: '', lastRunAt: null, runningSince: null, playedMinutes: 0 } as const;
  const dueAt = nextRun(weekly.cronExpr, clock.now())!;
  const players = { onlyWhenEmpty: false, warnSeconds: 300 };
  const row = { id: 'sch_1', serverId: 'lobby', ...weekly, ...never, ...players, userId: '', keyId: '' };
  await store.write((tx) => insertSchedule(tx, { ...row, createdAt: clock.now(), nextRunAt: dueAt }));
  await clock.set(dueAt - 6 * MINUTE_MS);
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  await w.until(async () => (await w.servers.get('lobby'))?.context.live.players === 1);
  const first = await open();
  await w.passUntil(async () => (await w.servers.get('lobby'))?.context.announced?.at === dueAt, 1_000);
  const boots = w.engine.boots.length;
  await first.close();
  await w.killAndRestart();
  const second = await open();
  t.teardown(() => second.close());
  t.is((await getSchedule(store, 'lobby', 'sch_1'))?.nextRunAt, dueAt + 7 * DAY_MS);
  await w.passUntil(() => w.engine.boots.length > boots, 1_000);
  t.true(clock.now() >= dueAt);
  await w.reach('lobby', 'running');
  await clock.advance(6 * MINUTE_MS);
  t.is(w.engine.boots.length, boots + 1);
});

test('a warning is refused for kinds without one and for an empty server, and survives changes that do not name it', async (t) => {
  const it = await api(t);
  await it.create('lobby');
  for (const fields of [
    { kind: 'start', warnSeconds: 30 },
    { kind: 'stop', warnSeconds: 30, onlyWhenEmpty: true },
  ]) {
    const refused = await it.call('POST', PATH, { body: { cronExpr: '0 4 * * *', ...fields } });
    t.deepEqual([refused.status, refused.reason], [400, 'INVALID_FIELD']);
  }
  const { id: scheduleId } = await schedule(it, { kind: 'stop', warnSeconds: 30 });
  t.like(await schedule(it, { kind: 'restart', scheduleId }), { warnSeconds: 30, onlyWhenEmpty: false });
  t.like(await schedule(it, { kind: 'restart', scheduleId, onlyWhenEmpty: true }), { warnSeconds: 0 });
  t.like(await schedule(it, { kind: 'start', scheduleId }), { warnSeconds: 0, onlyWhenEmpty: true });
});

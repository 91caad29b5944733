import test from 'ava';
import { array, assert, constantFrom, integer, oneof, property, string } from '../support/property.ts';
import type { Scope } from '../../src/http/scopes.ts';
import { createLog } from '../../src/kernel/log.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { type ScheduleRow, getSchedule, insertSchedule } from '../../src/schedules/rows.ts';
import { nextRun } from '../../src/schedules/next-run.ts';
import { type ScheduleActions, Schedules } from '../../src/schedules/schedules.ts';
import type { Store } from '../../src/store/store.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';
import { type World, world } from '../support/world.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;
const PATH = '/v1/servers/abc/schedules';

interface Shown {
  id: string;
  lastStatus: string;
  lastError: string;
  lastRunAt: string;
  nextRunAt: string;
  enabled: boolean;
}

const make = async ({ ok }: Pick<ApiUnderTest, 'ok'>, kind: string, cronExpr: string, command = '') =>
  (await ok('POST', PATH, { kind, cronExpr, command })) as unknown as Shown;

async function shown({ ok }: Pick<ApiUnderTest, 'ok'>, id: string): Promise<Shown> {
  const { schedules } = (await ok('GET', PATH)) as unknown as { schedules: Shown[] };
  const found = schedules.find((each) => each.id === id);
  if (found === undefined) throw new Error(`no schedule ${id}`);
  return found;
}

const everyKind = (run: ScheduleActions['run']): ScheduleActions => {
  return { run, hasPlayers: async () => false, played: () => [], warnOfBackup: async () => {} };
};

/** Stores a schedule of the server `abc` that has never run. */
async function storeSchedule({ store, clock }: World, fields: Partial<ScheduleRow> & { cronExpr: string }) {
  const createdAt = clock.now();
  const nextRunAt = nextRun(fields.cronExpr, createdAt) ?? createdAt;
  const kind = {
    id: 'sch_1',
    serverId: 'abc',
    kind: 'start',
    command: '',
    timeZone: 'UTC',
    enabled: true,
    onlyWhenEmpty: false,
    warnSeconds: 0,
    userId: '',
    keyId: '',
  } as const;
  const never = { lastStatus: '', lastError: '', lastRunAt: null, runningSince: null, playedMinutes: 0 } as const;
  const row = { ...kind, ...never, createdAt, nextRunAt, ...fields };
  await store.write((tx) => insertSchedule(tx, row));
  return row;
}

/** Advances the clock by a minute and waits until the schedule's run has ended. */
async function minute(it: ApiUnderTest, id: string): Promise<Shown> {
  const before = await shown(it, id);
  await it.clock.advance(MINUTE_MS);
  await it.until(async () => {
    const now = await shown(it, id);
    return now.lastStatus !== '' && (now.nextRunAt !== before.nextRunAt || !now.enabled);
  });
  return shown(it, id);
}

test('a schedule starts a server, runs a command, makes a backup and stops the server, with itself as the cause', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const start = await make(it, 'start', '* * * * *');
  t.like(start, { kind: 'start', command: '', lastStatus: '', lastRunAt: '', enabled: true });
  t.regex(start.nextRunAt, /^20\d\d-\d\d-\d\dT\d\d:\d\d:00.000Z$/);
  t.is((await minute(it, start.id)).lastStatus, 'ok');
  const now = await it.reach('abc', 'running');
  t.like(now?.context.cause, { kind: 'schedule', id: start.id });
  await it.ok('POST', `${PATH}:setEnabled`, { scheduleId: start.id, enabled: false });

  const command = await make(it, 'command', '* * * * *', '/say Good night');
  t.is((await minute(it, command.id)).lastStatus, 'ok');
  t.true(
    it.games.commands.some((given) => given.endsWith('say Good night')),
    it.games.commands.join(),
  );
  const backup = (await it.ok('POST', `${PATH}:run`, {
    scheduleId: (await make(it, 'backup', '0 4 * * *')).id,
  })) as unknown as Shown;
  t.is(backup.lastStatus, 'ok');
  const { backups } = (await it.ok('GET', '/v1/servers/abc/backups')) as unknown as { backups: { state: string }[] };
  t.deepEqual(
    backups.map(({ state }) => state),
    ['ready'],
  );
  const stop = (await it.ok('POST', `${PATH}:run`, {
    scheduleId: (await make(it, 'stop', '0 5 * * *')).id,
  })) as unknown as Shown;
  t.is(stop.lastStatus, 'ok');
  await it.reach('abc', 'hibernated');
});

test('creating, enabling or running a schedule also needs the scope of its action; disabling it does not', async (t) => {
  const it = await api(t);
  await it.create('abc');
  await it.create('def');
  const also: Record<string, Scope> = { command: 'console', backup: 'backups' };
  for (const kind of ['command', 'start', 'stop', 'restart', 'backup']) {
    const command = kind === 'command' ? 'op Eve' : '';
    const { id } = await make(it, kind, '0 4 * * *', command);
    const needed = also[kind];
    for (const scopes of [['servers:write'], ['servers:write', 'console'], ['servers:write', 'backups']] as Scope[][]) {
      const { key } = await it.mint(scopes);
      const ask = async (path: string, body: object) => (await it.call('POST', path, { key, body })).reason;
      const reason = needed === undefined || scopes.includes(needed) ? '' : 'SCOPE_MISSING';
      const title = `${kind} with ${scopes.join()}`;
      t.is(await ask('/v1/servers/def/schedules', { kind, command, cronExpr: '0 4 * * *' }), reason, title);
      t.is(await ask(`${PATH}:run`, { scheduleId: id }), reason, title);
      t.is(await ask(`${PATH}:setEnabled`, { scheduleId: id, enabled: true }), reason, title);
      t.is(await ask(`${PATH}:setEnabled`, { scheduleId: id, enabled: false }), '', title);
    }
    const { key } = await it.mint(['servers:write']);
    t.is((await it.call('POST', `${PATH}:delete`, { key, body: { scheduleId: id } })).status, 200);
  }
});

test('a scheduled ban-ip with the name of an offline player fails and never reaches the game', async (t) => {
  const it = await api(t);
  await it.create('abc');
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  const { id } = await make(it, 'command', '0 4 * * *', 'ban-ip Steve');
  t.like(await it.ok('POST', `${PATH}:run`, { scheduleId: id }), { lastStatus: 'error' });
  t.false(it.games.commands.some((given) => given.includes('ban-ip')));
});

test('the audit log names the key that ran a schedule manually', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const { id } = await make(it, 'stop', '0 4 * * *');
  await it.ok('POST', `${PATH}:run`, { scheduleId: id });
  const { entries } = (await it.ok('GET', '/v1/servers/abc/audit')) as {
    entries: { action: string; through: string; detail: string }[];
  };
  const run = entries.find(({ action }) => action === 'schedule.run');
  t.is(run?.detail, id);
  t.regex(run?.through ?? '', /^key key_/);
});

test('a run whose end could not be stored is stored later, and the schedule runs again', async (t) => {
  const it = await world(t);
  const { store, clock } = it;
  await it.create('abc');
  await storeSchedule(it, { cronExpr: '* * * * *' });
  let failing = false;
  let failed = 0;
  const write: typeof store.write = async (work) => {
    if (!failing) return store.write(work);
    failed++;
    throw new StatusError('UNAVAILABLE', 'STORE_UNAVAILABLE', 'The disk is full.');
  };
  const flaky: Store = Object.create(store, { write: { value: write } });
  let runs = 0;
  const acts = async () => {
    runs++;
    failing = runs === 1;
  };
  const actions = everyKind(acts);
  const schedules = await Schedules.open({ store: flaky, clock, log: createLog({ level: 'silent' }), actions });
  t.teardown(() => schedules.close());
  await clock.advance(MINUTE_MS);
  await it.until(() => failed > 0);
  failing = false;
  const kept = () => getSchedule(store, 'abc', 'sch_1');
  t.truthy((await kept())?.runningSince);
  await clock.advance(MINUTE_MS);
  await it.until(async () => runs === 2 && (await kept())?.runningSince === null);
  t.like(await kept(), { lastStatus: 'ok' });
});

test('a schedule that needs a running server is skipped while it sleeps; a failed start is an error', async (t) => {
  const it = await api(t);
  await it.create('abc');
  for (const kind of ['command', 'restart']) {
    const { id } = await make(it, kind, '* * * * *', kind === 'command' ? 'list' : '');
    const run = await minute(it, id);
    t.is(run.lastStatus, 'skipped');
    t.not(run.lastError, '');
    await it.ok('POST', `${PATH}:delete`, { scheduleId: id });
  }
  t.is((await it.servers.get('abc'))?.state, 'hibernated');
  const { id } = await make(it, 'start', '* * * * *');
  it.services.servers.checkWakes(async () => () => {
    throw new Error('broken');
  });
  const failed = await minute(it, id);
  t.is(failed.lastStatus, 'error');
  t.false(failed.lastError.includes('broken'));
});

test('a run missed while Dormouse was down is skipped with a reason, and the schedule continues from now', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const { id } = await make(it, 'start', '0 4 * * *');
  const dueAt = Date.parse((await shown(it, id)).nextRunAt);
  await it.clock.jump(dueAt + 10 * MINUTE_MS);
  await it.until(async () => (await shown(it, id)).lastStatus === 'skipped');
  const { lastError, nextRunAt, lastRunAt } = await shown(it, id);
  t.true(lastError.includes(new Date(dueAt).toISOString()));
  t.is(lastRunAt, '');
  t.is(Date.parse(nextRunAt), dueAt + 24 * 60 * MINUTE_MS);
  t.is((await it.servers.get('abc'))?.state, 'hibernated');
});

test('a schedule runs on time after its machine was suspended until shortly before', async (t) => {
  const it = await world(t);
  const { store, clock } = it;
  await it.create('abc');
  const { nextRunAt } = await storeSchedule(it, { cronExpr: '0 4 * * *' });
  let looks = 0;
  const query: typeof store.query = async (sql, values) => {
    const rows = await store.query(sql, values);
    if (sql.includes('MIN("nextRunAt")')) looks++;
    return rows as never;
  };
  let runs = 0;
  const options = { clock, log: createLog({ level: 'silent' }), actions: everyKind(async () => runs++) };
  const schedules = await Schedules.open({ ...options, store: Object.create(store, { query: { value: query } }) });
  t.teardown(() => schedules.close());
  await it.until(() => looks > 0);
  await clock.set(nextRunAt! - 20_000);
  await clock.advance(50_000);
  await it.until(() => runs > 0);
  t.is(runs, 1);
});

test('a schedule recovers after the clock was a year ahead, and does not repeat a run after a few minutes’ drift', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const truth = it.clock.now();
  await it.clock.set(truth + 365 * DAY_MS);
  const { id, nextRunAt } = await make(it, 'start', '0 4 * * *');
  await it.clock.set(Date.parse(nextRunAt) - MINUTE_MS);
  t.is((await minute(it, id)).lastStatus, 'ok');
  const ahead = Date.parse((await shown(it, id)).nextRunAt);
  await it.clock.set(it.clock.now() - 5 * MINUTE_MS);
  await it.clock.advance(10 * MINUTE_MS);
  t.is(Date.parse((await shown(it, id)).nextRunAt), ahead, 'the runs of that time are not repeated');

  await it.clock.set(truth);
  const isSoon = (at: string) => Date.parse(at) - truth <= DAY_MS;
  await it.passUntil(async () => isSoon((await shown(it, id)).nextRunAt), 10_000);
  const { nextRunAt: soon } = await shown(it, id);
  await it.clock.set(Date.parse(soon) - MINUTE_MS);
  await it.passUntil(async () => isSoon((await shown(it, id)).lastRunAt), 10_000);
});

test('a restart corrects the next run of a schedule stored under a clock that was a year ahead', async (t) => {
  const it = await world(t);
  const { store, clock } = it;
  await it.create('abc');
  const cronExpr = '0 4 * * *';
  await storeSchedule(it, { cronExpr, nextRunAt: nextRun(cronExpr, clock.now() + 365 * DAY_MS)! });
  const actions = everyKind(async () => t.fail());
  const schedules = await Schedules.open({ store, clock, log: createLog({ level: 'silent' }), actions });
  t.teardown(() => schedules.close());
  t.is((await getSchedule(store, 'abc', 'sch_1'))?.nextRunAt, nextRun(cronExpr, clock.now()));
});

test('a due schedule runs only once, and a run interrupted by a crash is reported but not repeated', async (t) => {
  const it = await world(t);
  const { store, clock } = it;
  await it.create('abc');
  const row = await storeSchedule(it, { kind: 'backup', cronExpr: '* * * * *' });
  const kept = async () => (await getSchedule(store, 'abc', 'sch_1')) ?? row;
  let begun = 0;
  const hangs = async (): Promise<never> => {
    begun++;
    return new Promise(() => {});
  };
  const actions = everyKind(hangs);
  const options = { store, clock, log: createLog({ level: 'silent' }), actions };
  // Two instances on the same store, which production never has.
  const twins = [await Schedules.open(options), await Schedules.open(options)];
  await clock.advance(MINUTE_MS);
  await it.until(async () => begun > 0 && (await kept()).runningSince !== null);
  t.is(begun, 1);
  for (const twin of twins)
    await t.throwsAsync(
      twin.runNow({ serverId: 'abc', id: 'sch_1' }, async () => {}),
      { message: /is already running/ },
    );
  await clock.advance(MINUTE_MS);
  await it.until(async () => (await kept()).lastStatus === 'skipped');
  t.regex((await kept()).lastError, /previous run was still in progress/);
  for (const twin of twins) await twin.close();
  const next = await Schedules.open(options);
  t.teardown(() => next.close());
  t.like(await kept(), { lastStatus: 'error', runningSince: null });
  t.regex((await kept()).lastError, /restarted/);
  t.is(begun, 1);
});

test('invalid schedules are refused with the name of the field, and other servers’ schedules are not found', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const bad: [object, string][] = [
    [{ kind: 'dance', cronExpr: '* * * * *' }, 'kind'],
    [{ kind: 'start', cronExpr: '* * * * * *' }, 'cronExpr'],
    [{ kind: 'start', cronExpr: '0 0 31 2 *' }, 'cronExpr'],
    [{ kind: 'start', cronExpr: '@every 1s' }, 'cronExpr'],
    [{ kind: 'start', cronExpr: '@reboot' }, 'cronExpr'],
    [{ kind: 'start', cronExpr: '0 4 * * *', timeZone: 'Europe/Nowhere' }, 'timeZone'],
    [{ kind: 'start', cronExpr: '0 4 * * *', timeZone: '+01:00' }, 'timeZone'],
    [{ kind: 'start', cronExpr: `${'*'.repeat(200)} * * * *` }, 'cronExpr'],
    [{ kind: 'command', cronExpr: '* * * * *' }, 'command'],
    [{ kind: 'command', cronExpr: '* * * * *', command: 'say a\nop eve' }, 'command'],
    [{ kind: 'stop', cronExpr: '* * * * *', command: 'list' }, 'command'],
  ];
  for (const [body, field] of bad) {
    const answer = await it.call('POST', PATH, { body });
    t.deepEqual([answer.status, answer.reason], [400, 'INVALID_FIELD'], answer.text);
    t.true(answer.text.includes(field), answer.text);
  }
  const huge = await it.call('POST', PATH, { body: { kind: 'start', cronExpr: '*'.repeat(1_000_000) } });
  t.deepEqual([huge.status, huge.reason], [413, 'BODY_TOO_LARGE']);
  await it.create('other');
  const { id } = await make(it, 'stop', '0 4 * * *');
  for (const verb of ['delete', 'run', 'setEnabled']) {
    const answer = await it.call('POST', `/v1/servers/other/schedules:${verb}`, { body: { scheduleId: id } });
    t.is(answer.reason, 'SCHEDULE_NOT_FOUND');
  }
});

test('80 parallel creates stop at the limit of 64 schedules', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const body = { kind: 'stop', cronExpr: '0 4 * * *' };
  const answers = await Promise.all(Array.from({ length: 80 }, () => it.call('POST', PATH, { body })));
  t.is(answers.filter(({ status }) => status === 200).length, 64);
  t.true(answers.every(({ status, reason }) => status === 200 || reason === 'MAX_SCHEDULES'));
});

test('any cron expression is parsed without an exception, and its next run is at a later full minute', (t) => {
  const field = oneof(
    constantFrom('*', '*/5', '0', '59', '1-5', '1,2,3', 'MON', '?', 'L', '-1', '99', 'x'),
    string({ maxLength: 5 }),
  );
  assert(
    property(array(field, { maxLength: 7 }), integer({ min: 0, max: 4e12 }), (fields, after) => {
      const due = nextRun(fields.join(' '), after);
      if (due === null) return;
      t.true(due > after);
      t.is(due % MINUTE_MS, 0);
    }),
  );
  t.is(nextRun('0 4 * * *', Date.UTC(2026, 2, 29, 1)), Date.UTC(2026, 2, 29, 4));
});

test('a schedule is disabled when its author or key loses access, and the audit log records it', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const guest = await it.stranger();
  await it.share('abc', 'member');
  const as = async (key: string, verb: string, body: object) => {
    const answer = await it.call('POST', `${PATH}${verb}`, { key, body });
    t.is(answer.status, 200, answer.text);
    return answer.json as unknown as Shown;
  };
  const theirs = await as(guest, '', { kind: 'start', cronExpr: '* * * * *' });
  const lent = await it.mint(['servers:write', 'servers:read']);
  const byKey = await as(lent.key, '', { kind: 'stop', cronExpr: '0 4 * * *' });
  const own = await make(it, 'start', '0 5 * * *');
  const { userId, keyId } = (await getSchedule(it.store, 'abc', theirs.id))!;
  t.is(userId, 'usr_other');
  t.not(keyId, '');

  const { members } = (await it.ok('GET', '/v1/servers/abc/members')) as unknown as { members: { memberId: string }[] };
  await it.ok('POST', '/v1/servers/abc/members:remove', { memberId: members[0]!.memberId });
  const browser = await it.browser('usr_test');
  await browser.ok('POST', '/v1/session/keys:revoke', { keyId: lent.row.id });
  t.like(await shown(it, theirs.id), { enabled: false, nextRunAt: '', lastStatus: 'skipped' });
  t.regex((await shown(it, theirs.id)).lastError, /Its author no longer has permission/);
  t.like(await shown(it, byKey.id), { enabled: false, nextRunAt: '', lastStatus: 'skipped' });
  t.true((await shown(it, byKey.id)).lastError.includes(lent.row.id));
  t.true((await shown(it, own.id)).enabled);
  await it.clock.advance(2 * MINUTE_MS);
  t.is((await it.servers.get('abc'))?.state, 'hibernated');
  const { entries } = (await it.ok('GET', '/v1/servers/abc/audit')) as unknown as {
    entries: { action: string; through: string; detail: string }[];
  };
  const told = entries
    .filter(({ action, through }) => action === 'schedule.disable' && through === 'system access')
    .map(({ detail }) => detail);
  t.deepEqual(
    [theirs.id, byKey.id].map((id) => told.filter((detail) => detail.startsWith(`${id}: `)).length),
    [1, 1],
  );

  // A schedule acts for the user who enables it.
  await it.ok('POST', `${PATH}:setEnabled`, { scheduleId: theirs.id, enabled: true });
  t.is((await minute(it, theirs.id)).lastStatus, 'ok');
});

test('a schedule whose author lost access unnoticed is disabled instead of run when it comes due', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const guest = await it.stranger();
  await it.share('abc', 'member');
  const { json } = await it.call('POST', PATH, { key: guest, body: { kind: 'start', cronExpr: '* * * * *' } });
  const id = String(json['id']);
  await it.share('abc', 'limited');
  t.like(await minute(it, id), { enabled: false, lastStatus: 'skipped', nextRunAt: '' });
  t.is((await it.servers.get('abc'))?.state, 'hibernated');
});

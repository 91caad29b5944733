import test from 'ava';
import { gameConsoles } from '../../src/engines/console/console.ts';
import * as fc from '../support/property.ts';
import { readTickStats, tickCommands } from '../../src/game/tick-stats.ts';
import { insertSample } from '../../src/insight/metric-rows.ts';
import { Metrics } from '../../src/insight/metrics.ts';
import { createLog } from '../../src/kernel/log.ts';
import { insertDiagnostic, listDiagnostics } from '../../src/servers/diagnostics.ts';
import { api } from '../support/api-harness.ts';
import { PROPORTIONAL, growth } from '../support/cpu.ts';

const PAPER_TPS = '§6TPS from last 1m, 5m, 15m: §a*20.0, §a19.95, §a19.98';
const PAPER_MSPT =
  '§6Server tick times §e(§7avg§e/§7min§e/§7max§e)§6 from last 5s§7,§6 10s§7,§6 1m§e:\n' +
  '§6◴ §a4.2§7/§a2.1§7/§a9.8§e, §a4.5§7/§a2.0§7/§a14.3§e, §a4.9§7/§a1.9§7/§e41.7';
const TICK_QUERY =
  'The game is running normallyTarget tick rate: 20.0 per second.\nAverage time per tick: 2.2ms (Target: 50.0ms)' +
  'Percentiles: P50: 2.0ms P95: 4.0ms P99: 5.3ms. Sample: 100';

const reads = test.macro({
  exec: (t, replies: string[], expected: { tps: number; mspt: number } | undefined) => {
    t.deepEqual(readTickStats(replies), expected);
  },
  title: (name) => `tick figures: ${name}`,
});

test('Paper', reads, [PAPER_TPS, PAPER_MSPT], { tps: 20, mspt: 4.2 });
test(
  'lagging Paper, without colours and with decimal commas',
  reads,
  [
    'TPS from last 1m, 5m, 15m: 17,1, 17,4, 19,2',
    'Server tick times (avg/min/max) from last 5s, 10s, 1m:\n◴ 58,4/2,1/99,8, 4,5/2/3, 4/5/6',
  ],
  { tps: 17.1, mspt: 58.4 },
);
test('Paper with only one of its two replies', reads, [PAPER_TPS, 'Unknown command'], undefined);
test('vanilla', reads, [TICK_QUERY], { tps: 20, mspt: 2.2 });
test('lagging vanilla', reads, [TICK_QUERY.replace('2.2ms', '80.0ms')], { tps: 12.5, mspt: 80 });
test(
  'Forge',
  reads,
  ['Dim 0 (overworld): Mean tick time: 9.000 ms. Mean TPS: 11.000Overall: Mean tick time: 3.140 ms. Mean TPS: 20.000'],
  { tps: 20, mspt: 3.14 },
);
test('NeoForge', reads, ['minecraft:overworld: 20.000 TPS (0.812 ms/tick)\nOverall: 18.500 TPS (54.054 ms/tick)'], {
  tps: 18.5,
  mspt: 54.05,
});
test('no reply', reads, [], undefined);
test('the reply to an unknown command', reads, ['Unknown or incomplete command, see below for error'], undefined);

test('tick commands depend on core and version, and parsing any reply is linear and never throws', (t) => {
  const asked = (core: string, version: string) => tickCommands({ core, version }).join(', ');
  t.is(asked('paper', '1.19.4'), 'tps, mspt');
  t.is(asked('forge', '1.12.2'), 'forge tps');
  t.is(asked('neoforge', '1.21.1'), 'neoforge tps');
  for (const version of ['1.20.3', '1.20.4', '1.21', '26.1', '24w14a']) t.is(asked('vanilla', version), 'tick query');
  for (const version of ['1.20', '1.20.2', '1.8.9']) t.is(asked('fabric', version), '');
  t.is(asked('sandbox', '1.8.8'), 'tick query');
  fc.assert(fc.property(fc.array(fc.string({ unit: 'binary' })), (replies) => void readTickStats(replies)));
  for (const bit of ['TPS from last ', 'Overall: ', 'Average time per tick: 1', 'Server tick times (', '§', '1'])
    t.true(growth((times) => void readTickStats([bit.repeat(times)]), 25_000) < PROPORTIONAL, bit);
});

test('metrics are empty for a sleeping server, sampled each minute for a running one, and survive a restart', async (t) => {
  const it = await api(t);
  const path = '/v1/servers/abc/metrics';
  await it.create('abc');
  const zero = { cpuPercent: -1, memUsedMb: 0, memLimitMb: 0, mspt: 0, tps: 0, players: 0, live: false, series: [] };
  const none = { ...zero, slowSince: null, states: [], ticksAvailable: true };
  t.deepEqual(await it.ok('GET', path), none as Record<string, unknown>);
  let reply = TICK_QUERY;
  const asked: string[] = [];
  it.games.run = async (_address, _password, command) => {
    asked.push(command);
    return reply;
  };
  it.games.players.set('abc', 3);
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  // Players are counted by a separate reading, which must precede the minute's.
  const counted = async () => (await it.servers.get('abc'))?.context.live.players === 3;
  for (let n = 0; n < 100 && !(await counted()); n++) await it.clock.advance(1_000);
  const samples = async () => ((await it.ok('GET', path))['series'] as unknown[]).length;
  const before = await samples();
  asked.length = 0;
  const minute = async () => {
    await it.clock.advance(60_000);
    await it.store.write(async () => {});
  };
  await minute();
  const figures = { cpuPercent: 0, memUsedMb: 1, memLimitMb: 512, mspt: 2.2, tps: 20, players: 3 };
  await it.until(async () => (await samples()) === before + 1);
  const first = await it.ok('GET', path);
  t.like(first, { ...figures, live: true });
  t.like((first['series'] as object[]).at(-1), figures);
  t.regex((first['series'] as { ts: string }[])[0]!.ts, /^2023-11-14T22:\d\d:\d\d\.\d{3}Z$/);
  t.deepEqual(asked, ['tick query'], 'reading metrics runs no command in the game');

  reply = 'Unknown command';
  await minute();
  await it.until(async () => (await samples()) === before + 2);
  t.like(await it.ok('GET', path), { ...figures, mspt: 0, tps: 0, live: false });

  it.engine.away();
  await minute();
  await it.until(async () => (await samples()) === before + 3);
  t.like(await it.ok('GET', path), { cpuPercent: -1, memUsedMb: 0, memLimitMb: 0 });
  it.engine.back();

  const { servers, engine, games, clock, store, serverEvents } = it;
  const log = createLog({ level: 'silent' });
  const consoles = gameConsoles(games, () => '');
  const next = new Metrics({ servers, engine, consoles, clock, store, log, serverEvents });
  t.teardown(() => next.close());
  t.deepEqual(
    (await next.series('abc', 3_600_000)).slice(-3).map(({ cpuPercent, tps }) => [cpuPercent, tps]),
    [
      [0, 20],
      [0, 0],
      [-1, 0],
    ],
  );
  t.is(next.latest('abc', 0), undefined);
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  const asleep = await it.ok('GET', path);
  t.like(asleep, { cpuPercent: -1, live: false, players: 0 });
  t.is((asleep['series'] as unknown[]).length, before + 3);
});

test('an absurd or negative player count from a game is clamped in the server list and metrics', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const claims = async (online: number, counted: number) => {
    it.games.players.set('abc', online);
    await it.until(async () => {
      await it.clock.advance(1_000);
      return (await it.servers.get('abc'))?.context.live.players === counted;
    });
    const { my } = await it.ok('GET', '/v1/me/servers');
    t.like((my as object[])[0], { id: 'abc', playersOnline: counted });
    t.like(await it.ok('GET', '/v1/servers/abc/metrics'), { players: counted });
  };
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  await claims(3_000_000_000, 2 ** 31 - 1);
  await claims(-5, 0);
});

test('metrics report ticksAvailable as false for a version without a tick command', async (t) => {
  const it = await api(t);
  const available = async (id: string, type: string, version: string) => {
    await it.create(id, { type, version });
    return (await it.ok('GET', `/v1/servers/${id}/metrics`))['ticksAvailable'];
  };
  t.is(await available('old', 'vanilla', '1.20.2'), false);
  t.is(await available('new', 'vanilla', '1.20.3'), true);
  t.is(await available('paper', 'paper', '1.16.5'), true);
  t.is(await available('sandbox', 'sandbox', '1.8.8'), true);
});

test('metrics of other servers do not wait for a hanging game, and a skipped minute is logged', async (t) => {
  const it = await api(t);
  const { servers, engine, games, clock, store, serverEvents } = it;
  const ids = ['hangs', 'abc'];
  for (const id of ids) {
    await it.create(id);
    games.players.set(id, 1);
    await it.command(id, 'START');
    await it.reach(id, 'running');
  }
  const logged: string[] = [];
  const log = createLog({ level: 'warn', pretty: false, destination: { write: (line) => void logged.push(line) } });
  const never = new Promise<never>(() => {});
  const consoles = { run: async (id: string) => (id === 'hangs' ? never : TICK_QUERY) };
  const base = { servers, engine, consoles, clock, store, log, serverEvents };
  let stored = 0;
  // Avoid the instants at which the service's own readings are stored.
  await clock.advance(1_000);
  const metrics = new Metrics({ ...base, onMinute: async () => () => void stored++ });
  t.teardown(() => metrics.close());
  for (let minute = 1; minute <= 2; minute++) {
    await it.until(async () => {
      await clock.advance(100);
      // Writes take real time. Wait for them, so that the clock does not reach the next minute first.
      await store.write(async () => {});
      return stored === minute;
    });
    t.like(metrics.latest('abc', 0), { live: true, sample: { tps: 20, memUsedMb: 1 } });
    t.like(metrics.latest('hangs', 0), { live: false, sample: { tps: 0, memUsedMb: 1 } });
  }
  t.deepEqual(logged, []);

  // The number of concurrent readings is limited, and none of these servers answers.
  const hanging = servers.live().find(({ row }) => row.id === 'hangs')!;
  const many = { live: () => Array.from({ length: 400 }, () => hanging) };
  const crowded = new Metrics({ ...base, servers: many });
  t.teardown(() => crowded.close());
  await clock.advance(130_000);
  t.regex(logged.join(''), /skipped a minute/);
});

test('metrics of an earlier run are not shown as those of the current run', async (t) => {
  const it = await api(t);
  const path = '/v1/servers/abc/metrics';
  it.games.run = async () => TICK_QUERY;
  it.games.players.set('abc', 1);
  await it.create('abc');
  // Every step must fit between two readings, and none may fall on the instant of a reading.
  const become = async (state: 'running' | 'hibernated', command: 'START' | 'KILL') => {
    await it.clock.advance(10);
    await it.command('abc', command);
    await it.reach('abc', state, 25_000, 10);
  };
  const isLive = async () => (await it.ok('GET', path))['live'] === true;
  await become('running', 'START');
  await it.clock.advance(60_000);
  await it.until(isLive);
  await become('hibernated', 'KILL');
  const before = it.services.metrics.latest('abc', 0)!.sample.at;
  await become('running', 'START');
  t.is(it.services.metrics.latest('abc', 0)?.sample.at, before, 'the newest reading is from the previous run');
  t.like(await it.ok('GET', path), { tps: 0, live: false, cpuPercent: -1 });
  await it.clock.advance(60_000);
  await it.until(isLive);
});

test('metrics keep each minute of a day and one in ten of a week, and delete those of deleted servers', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const now = it.clock.now();
  await it.store.write(async (tx) => {
    for (let n = 0; n < 8 * 1_440; n++)
      await insertSample(tx, 'abc', { at: now - n * 60_000, figures: [1, 2, 3, 4, 5, 6] });
    await insertSample(tx, 'gone', { at: now, figures: [1, 2, 3, 4, 5, 6] });
  });
  const count = async () => (await it.store.query<{ n: number }>('SELECT COUNT(*) AS "n" FROM "metric_samples"'))[0]!.n;
  const seriesOf = async (hours: number) =>
    (await it.ok('GET', `/v1/servers/abc/metrics?hours=${hours}`))['series'] as { ts: string }[];
  t.is((await seriesOf(1)).length, 60);
  t.is((await seriesOf(24)).length, 1_440);
  const week = await seriesOf(168);
  t.true(week.length >= 1_008 && week.length <= 1_009);
  await it.clock.advance(60_000);
  const kept = 1_440 + 6 * 144;
  await it.until(async () => (await count()) <= kept + 2);
  t.true((await count()) >= kept - 2);
  t.deepEqual((await seriesOf(168)).slice(2), week.slice(2), 'thinned samples are those shown before');
  await it.ok('DELETE', '/v1/servers/abc');
  await it.reach('abc', 'gone');
  await it.until(async () => (await count()) === 0);
});

test('metrics list the states of a span, beginning with the one before it', async (t) => {
  const it = await api(t);
  await it.create('abc', { idleTimeoutMinutes: -1 });
  const states = async (hours: number) =>
    ((await it.ok('GET', `/v1/servers/abc/metrics?hours=${hours}`))['states'] as { state: string }[])
      .map(({ state }) => state)
      .join(' ');
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  t.regex(await states(1), /^starting running$/);
  await it.clock.jump(it.clock.now() + 2 * 3_600_000);
  t.is(await states(1), 'running');
  t.regex(await states(24), /^starting running$/);
});

test('past failures name both missing mods, each with its log line as evidence', async (t) => {
  const it = await api(t);
  await it.create('abc');
  it.games.silent.add('abc');
  const missing = (mod: string, wanted: string) =>
    `\t - Mod '${mod}' (${mod.toLowerCase()}) 1.0 requires any version of ${wanted}, which is missing!`;
  const lines = [missing('Waystones', 'balm'), missing('Reese', 'sodium')];
  it.engine.script('abc', { print: ['[12:00:00] [main/ERROR]: Incompatible mods found!', ...lines], exitCode: 1 });
  await it.command('abc', 'START');
  const now = await it.reach('abc', 'start_failed');
  const entries = (await it.ok('GET', '/v1/servers/abc/diagnostics'))['entries'] as { insights: object[] }[];
  t.is(entries.length, 1);
  t.like(entries[0]!.insights, [
    { code: 'missing_dependency', subject: 'balm', evidence: [lines[0]] },
    { code: 'missing_dependency', subject: 'sodium', evidence: [lines[1]] },
  ] as never);
  t.deepEqual(Object.keys(now?.context.startFailure ?? {}).toSorted(), ['code', 'raw', 'suggestion', 'summary']);

  it.engine.script('abc', {});
  it.games.silent.delete('abc');
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  it.engine.print('abc', '[12:00:00] [Server thread/ERROR]: java.lang.OutOfMemoryError: Java heap space');
  it.engine.crash('abc', { code: 1 });
  const crashed = await it.reach('abc', 'start_failed');
  const [crash] = (await it.ok('GET', '/v1/servers/abc/diagnostics'))['entries'] as Record<string, unknown>[];
  t.like(crash, { kind: 'crash', code: 'out_of_memory', insights: [{ code: 'out_of_memory' }] as never });
  t.false('insights' in (crashed?.context.startFailure ?? {}));
});

test('past failures list starts, crashes and installs with cause and evidence, and keep the newest 50', async (t) => {
  const it = await api(t);
  const entries = async (id: string) =>
    (await it.ok('GET', `/v1/servers/${id}/diagnostics`))['entries'] as Record<string, unknown>[];
  await it.create('abc');
  t.deepEqual(await entries('abc'), []);
  it.games.silent.add('abc');
  it.engine.script('abc', { print: ['java.lang.OutOfMemoryError: Java heap space'], exitCode: 1 });
  await it.command('abc', 'START');
  await it.reach('abc', 'start_failed');
  const [failed, ...more] = await entries('abc');
  const server = await it.ok('GET', '/v1/servers/abc');
  t.is(more.length, 0);
  t.like(failed, { kind: 'start', code: server['startErrorCode'], summary: server['startErrorSummary'] });
  t.not(failed!['suggestion'], '');
  t.true((failed!['evidence'] as string[]).some((line) => line.includes('OutOfMemoryError')));

  it.engine.script('abc', {});
  it.games.silent.delete('abc');
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  await it.clock.advance(120_000);
  it.engine.crash('abc', { code: 1 });
  await it.until(async () => (await entries('abc')).length === 2);
  t.like((await entries('abc'))[0], { kind: 'crash', code: 'unknown' }, 'a crash is listed despite the restart');
  await it.reach('abc', 'running');
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated');
  t.is((await entries('abc')).length, 2, 'a stop adds no entry');

  it.engine.script('pack', { exitCode: 2 });
  await it.create('pack', { type: 'fabric', modpackPlatform: 'modrinth', modpackRef: 'x', modpackVersion: '1' });
  await it.reach('pack', 'install_failed');
  t.like(await entries('pack'), [{ kind: 'install' }] as never);

  const row = { at: 1, kind: 'start' as const, summary: '', suggestion: '', evidence: '', insights: '[]' };
  await it.store.write(async (tx) => {
    for (let n = 0; n < 60; n++) await insertDiagnostic(tx, 'abc', { ...row, code: `c${n}` });
  });
  const kept = await listDiagnostics(it.store, 'abc');
  t.deepEqual([kept.length, kept[0]?.code, kept.at(-1)?.code], [50, 'c59', 'c10']);
});

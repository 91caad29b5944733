import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { createChargeCount } from '../../src/billing/meter.ts';
import type { TelemetrySources } from '../../src/insight/collected.ts';
import { createTelemetry } from '../../src/insight/telemetry.ts';
import { countServersByState } from '../../src/servers/rows.ts';
import { fakeClock } from '../fakes/clock.ts';
import { api } from '../support/api-harness.ts';
import { isHere } from '../support/needs.ts';
import { KEY, STEVE, world } from '../support/world.ts';
import { openEmptyStore } from '../support/empty-store.ts';

const SOURCES: TelemetrySources = {
  serversByState: async () => [
    { state: 'running', count: 2 },
    { state: 'deleting', count: 1 },
  ],
  playersOnline: () => 7,
  proxy: () => ({
    accepted: 11,
    unrouted: 1,
    held: 2,
    piped: 3,
    statusAnswers: 4,
    joins: 5,
    kicks: { busy: 6 },
    bytesUp: 100,
    bytesDown: 2_000,
  }),
  proxies: () => [
    { id: 'prx_1', name: 'edge', version: '1', connected: true, draining: false, players: 3, lagMs: 2 },
    { id: 'prx_2', name: 'edge', version: '0', connected: false, draining: true, players: 1, lagMs: null },
  ],
  storeWrites: () => 8,
  webhookMessages: async () => 9,
  uploads: async () => ({ count: 12, oldestMs: 90_000 }),
  charged: async () => ({ ticks: 10, micros: 3_330 }),
  meterAgeMs: () => 42_500,
};

/** Returns the samples of an exposition: values by `name{labels}`. */
function samplesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

async function exposed(telemetry: ReturnType<typeof createTelemetry>): Promise<Map<string, number>> {
  return samplesOf(await telemetry.expose());
}

test('concurrent telemetry scrapes all return the full figures', async (t) => {
  const telemetry = createTelemetry();
  telemetry.watch(SOURCES);
  const alone = await exposed(telemetry);
  const figures = [...alone.keys()].filter((name) => /^dormouse_(?:servers|proxy|ticks|charged|webhook)/.test(name));
  t.true(figures.includes('dormouse_charged_micros_total'));
  for (const seen of await Promise.all([exposed(telemetry), exposed(telemetry), exposed(telemetry)]))
    for (const name of figures) t.is(seen.get(name), alone.get(name), name);
});

test('a repeated telemetry scrape returns the figures of every source, not doubled', async (t) => {
  const telemetry = createTelemetry();
  telemetry.watch(SOURCES);
  await telemetry.expose();
  const samples = await exposed(telemetry);
  const expected = {
    'dormouse_servers{state="running"}': 2,
    'dormouse_servers{state="hibernated"}': 0,
    'dormouse_servers{state="deleting"}': 1,
    dormouse_players_online: 7,
    dormouse_proxy_connections_total: 11,
    'dormouse_proxy_sockets{phase="held"}': 2,
    'dormouse_proxy_kicks_total{rule="busy"}': 6,
    dormouse_proxy_status_answers_total: 4,
    dormouse_proxy_joins_total: 5,
    'dormouse_relay_bytes_total{direction="up"}': 100,
    'dormouse_relay_bytes_total{direction="down"}': 2_000,
    'dormouse_proxy_players{proxy="edge",id="prx_1",version="1",draining="false"}': 3,
    'dormouse_proxy_players{proxy="edge",id="prx_2",version="0",draining="true"}': 1,
    'dormouse_proxy_linked{proxy="edge",id="prx_1"}': 1,
    'dormouse_proxy_linked{proxy="edge",id="prx_2"}': 0,
    'dormouse_proxy_lag_seconds{proxy="edge",id="prx_1"}': 0.002,
    'dormouse_queue_depth{queue="store"}': 8,
    'dormouse_queue_depth{queue="webhooks"}': 9,
    'dormouse_queue_depth{queue="backups"}': 12,
    dormouse_backup_wait_seconds: 90,
    dormouse_ticks_total: 10,
    dormouse_charged_micros_total: 3_330,
    dormouse_meter_age_seconds: 42.5,
  };
  t.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, samples.get(name)])), expected);
  t.true((samples.get('process_resident_memory_bytes') ?? 0) > 1e6);
  t.true(samples.has('nodejs_eventloop_lag_p99_seconds'));
});

test('a failing telemetry source is omitted, and the other figures remain', async (t) => {
  const telemetry = createTelemetry();
  const away = () => Promise.reject(new Error('away'));
  telemetry.watch({ ...SOURCES, serversByState: away, webhookMessages: away, charged: away });
  const names = [...(await exposed(telemetry)).keys()];
  t.true(names.includes('dormouse_players_online'));
  for (const gone of ['dormouse_servers', 'dormouse_queue_depth', 'dormouse_ticks_total'])
    t.false(
      names.some((name) => name.startsWith(gone)),
      gone,
    );
});

test('telemetry counts starts, refused wakes and crashes of the state machine', async (t) => {
  const telemetry = createTelemetry();
  const it = await world(t, {
    onStep: async (_, now, step) => {
      const { wokenAt, readyAt } = now.context;
      telemetry.stepped(step, wokenAt === null || readyAt === null ? null : readyAt - wokenAt);
    },
    onRefusal: telemetry.refusedWake,
  });
  await it.create('abc');
  await it.command('abc', 'JOIN', STEVE);
  await it.reach('abc', 'running');
  it.games.players.set('abc', 1);
  it.engine.script('abc', { refuse: 'port_in_use' });
  await it.clock.advance(70_000);
  it.engine.crash('abc', { code: 1 });
  await it.reach('abc', 'start_failed');
  it.engine.script('abc', {});
  const release = it.engine.hold('abc');
  await it.command('abc', 'START', KEY);
  await it.command('abc', 'KILL', KEY);
  release();
  await it.reach('abc', 'hibernated');
  await it.create('poor');
  const cancel = it.servers.checkWakes(async () => () => {
    throw new Error('broken');
  });
  await t.throwsAsync(it.command('poor', 'START'));
  cancel();
  await t.throwsAsync(it.command('poor', 'RESTART'), undefined, 'a refused restart');
  const samples = await exposed(telemetry);
  t.is(samples.get('dormouse_starts_total{cause="player",outcome="ready"}'), 1);
  t.is(samples.get('dormouse_starts_total{cause="key",outcome="called_off"}'), 1);
  t.is(samples.get('dormouse_crashes_total'), 1);
  t.is(samples.get('dormouse_start_duration_seconds_count'), 1);
  t.is(samples.get('dormouse_wake_refusals_total{reason="INTERNAL"}'), 1);
  t.is([...samples.keys()].filter((name) => name.startsWith('dormouse_wake_refusals_total')).length, 1);
});

test('telemetry counts each billing tick once, however often and concurrently it is read', async (t) => {
  const store = await openEmptyStore();
  t.teardown(() => store.close());
  const clock = fakeClock();
  const charged = createChargeCount(store, clock);
  let n = 0;
  const tick = (amountMicros: number) =>
    store.write((tx) =>
      tx.run(
        `INSERT INTO "ticks" ("serverId", "sessionId", "n", "ramMb", "rateMicros", "amountMicros", "at")
         VALUES ('abc', 's', $1, 512, 1, $2, $3)`,
        [++n, amountMicros, clock.now()],
      ),
    );
  await tick(5);
  t.deepEqual(await charged(), { ticks: 0, micros: 0 }, 'more ticks of this instant may be in flight');
  await clock.advance(60_000);
  t.deepEqual(await Promise.all([charged(), charged()]), [
    { ticks: 1, micros: 5 },
    { ticks: 1, micros: 5 },
  ]);
  await tick(7);
  await clock.advance(9_999);
  t.is((await charged()).ticks, 1, 'a tick of the last 10 s may still be in flight');
  await clock.advance(1);
  t.is((await charged()).ticks, 2);
  await tick(8);
  await clock.advance(60_000);
  t.deepEqual(await charged(), { ticks: 3, micros: 20 });
  await clock.advance(600_000);
  t.deepEqual(await charged(), { ticks: 3, micros: 20 });
});

test('GET /metrics needs an operator key, sent as x-api-key or as a Bearer token', async (t) => {
  const telemetry = createTelemetry();
  const it = await api(t, { telemetry });
  telemetry.watch({ ...SOURCES, serversByState: () => countServersByState(it.store) });
  const full = it.key;
  await it.store.write((tx) => tx.run(`UPDATE "users" SET "operator" = $1 WHERE "id" = 'usr_test'`, [true]));
  const { key } = await it.mint(['operator']);
  const get = (headers: Record<string, string>) => it.call('GET', '/metrics', { key: null, headers });
  t.is((await get({})).reason, 'CREDENTIAL_MISSING');
  t.is((await get({ authorization: 'Bearer dmk_nonsense' })).reason, 'CREDENTIAL_INVALID');
  t.is((await get({ 'x-api-key': full })).reason, 'SCOPE_MISSING');
  t.is((await get({ authorization: `Bearer ${full}` })).reason, 'SCOPE_MISSING');
  t.is((await get({ 'x-api-key': 'dmk_nonsense', authorization: `Bearer ${key}` })).reason, 'CREDENTIAL_INVALID');
  await it.create('abc');
  for (const [header, value] of [
    ['x-api-key', key],
    ['authorization', `Bearer ${key}`],
  ] as const) {
    const answer = await get({ [header]: value });
    t.is(answer.status, 200);
    t.regex(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
    t.is(samplesOf(answer.text).get('dormouse_servers{state="hibernated"}'), 1);
  }
  t.is((await it.call('GET', '/v1/servers', { key: null, headers: { authorization: `Bearer ${key}` } })).status, 401);
  await it.store.write((tx) => tx.run(`UPDATE "users" SET "operator" = $1 WHERE "id" = 'usr_test'`, [false]));
  t.is((await get({ 'x-api-key': (await it.mint(['operator'])).key })).reason, 'NOT_OPERATOR');
});

test('HTTP calls are counted by declared route, with a bounded number of series', async (t) => {
  const telemetry = createTelemetry();
  const it = await api(t, { telemetry });
  for (let n = 0; n < 20; n++) {
    await it.call('GET', `/v1/servers/s${n}`);
    await it.call('GET', `/nowhere/${n}?q=${n}`);
    await it.call('GET', `/v1/servers/UPPER_${n}`);
    await it.call('PUT', `/v1/servers/s${n}`);
  }
  await it.call('POST', '/v1/servers/abc:start', { body: {} });
  await it.call('GET', '/healthz', { key: null });
  await it.call('PROPFIND', '/', { key: null });
  const names = [...(await exposed(telemetry)).keys()].filter((name) =>
    name.startsWith('dormouse_http_requests_total'),
  );
  t.deepEqual(names.sort(), [
    'dormouse_http_requests_total{route="/healthz",method="GET",code="200"}',
    'dormouse_http_requests_total{route="/v1/servers/{id}",method="GET",code="404"}',
    'dormouse_http_requests_total{route="/v1/servers/{id}:start",method="POST",code="404"}',
    'dormouse_http_requests_total{route="other",method="GET",code="404"}',
    'dormouse_http_requests_total{route="other",method="OTHER",code="405"}',
    'dormouse_http_requests_total{route="other",method="OTHER",code="501"}',
  ]);
});

interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[];
  templating: { list: { name: string; query: string }[] };
}

test('the Grafana dashboard queries only existing metrics and labels, and shows every Dormouse metric', async (t) => {
  const telemetry = createTelemetry();
  telemetry.watch(SOURCES);
  telemetry.answered({ route: '/healthz', method: 'GET', status: 200, ms: 1 });
  telemetry.stepped({ from: 'starting', to: 'running', cause: { kind: 'key', id: '' } }, 1_000);
  telemetry.refusedWake('NODE_CAPACITY');
  const series = [...(await exposed(telemetry)).keys()];
  const names = new Set(series.map((name) => name.replace(/\{.*/, '')));
  const labelsOf = (name: string) =>
    new Set(series.filter((each) => each.startsWith(`${name}{`)).flatMap((each) => each.match(/\w+(?==")/g) ?? []));
  const file = join(import.meta.dirname, '../../src/insight/grafana.json');
  const { panels, templating } = JSON.parse(readFileSync(file, 'utf8')) as Dashboard;
  t.true(panels.length > 10);
  const asked = new Set<string>();
  for (const { title, targets } of panels)
    for (const { expr } of targets) {
      const found = [...expr.matchAll(/\b((?:dormouse|process|nodejs)_\w+)\{([^}]*)\}/g)];
      t.is(found.length, 1, `${title}: ${expr}`);
      for (const [, name = '', selector = ''] of found) {
        asked.add(name);
        t.true(names.has(name), `${title}: ${name}`);
        const grouped = /\bby \(([^)]*)\)/.exec(expr)?.[1]?.split(/,\s*/) ?? [];
        const selected = selector.match(/\w+(?==~?")/g) ?? [];
        for (const label of [...grouped, ...selected].filter((each) => each !== 'instance'))
          t.true(labelsOf(name).has(label), `${title}: ${name} has no label ${label}`);
      }
    }
  const ours = [...names].filter((name) => name.startsWith('dormouse_') && !/_(?:sum|count)$/.test(name));
  t.deepEqual(
    ours.filter((name) => !asked.has(name)),
    [],
    'every metric is shown',
  );
  t.true(names.has(/\((\w+),/.exec(templating.list.find(({ name }) => name === 'instance')?.query ?? '')?.[1] ?? ''));
});

test.serial.runIf(isHere('promtool'))('promtool accepts the exposed metrics', async (t) => {
  const telemetry = createTelemetry();
  telemetry.watch(SOURCES);
  telemetry.answered({ route: '/v1/servers', method: 'GET', status: 200, ms: 3 });
  telemetry.stepped({ from: 'starting', to: 'running', cause: { kind: 'key', id: 'key_1' } }, 1_500);
  telemetry.refusedWake('MAX_RAM');
  const child = execFile('promtool', ['check', 'metrics']);
  child.stdin?.end(await telemetry.expose());
  const [out, err, [code]] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'close')]);
  t.deepEqual([code, out + err], [0, '']);
});

import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { MINUTE_MS } from '../../src/kernel/units.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { startPostgres } from '../store/postgres.ts';
import { START, chargeDue, fillAwake } from '../support/many-awake.ts';
import { lookForParts } from '../support/needs.ts';
import { cpuMs, message, rssBytes, startRole } from './children.ts';
import { inFolder } from './control.ts';
import { median, type Report } from './figures.ts';
import type { Latency, Plan } from './load.ts';
import { type ServiceProcess, prepareService, startService } from './service.ts';

/** `SERVERS=10000` measures that size alone. */
const SIZES = process.env['SERVERS'] === undefined ? [1_000, 10_000] : [Number(process.env['SERVERS'])];
const KEYS = 200;
/** Rates per second, from one that leaves the cores idle time up to the target rate, so that the limit shows. */
const RATES = [
  { calls: 100, pings: 300 },
  { calls: 250, pings: 1_000 },
  { calls: 500, pings: 2_000 },
] as const;
const WARM_UP_S = 10;
const LOAD_S = 20;
/** The duration of the last rate. `LOAD_S=600` shows effects that need time, such as a checkpoint. */
const LAST_LOAD_S = Number(process.env['LOAD_S'] ?? LOAD_S);
const SAMPLES = 7;
/** With four cores, the service and its proxy have two, and each load has one. With fewer, each pair shares one. */
const CORES = availableParallelism() >= 4 ? { service: '0,1', calls: 2, pings: 3 } : { service: 0, calls: 1, pings: 1 };
const LOAD = join(import.meta.dirname, 'load.ts');

/**
 * Measures how costs grow with the number of sleeping servers, on each kind of database. It covers the start, memory,
 * the first pages, and the latency of calls (a tenth of them writes) and pings, up to 500 and 2 000 a second. It also
 * covers a minute's charge of as many awake servers.
 */
export async function run(report: Report): Promise<void> {
  for (const servers of SIZES) {
    await inFolder((folder) => measure(report, 'SQLite', servers, { folder }));
    await inFolder((folder) => charge(report, 'SQLite', servers, `sqlite:${join(folder, 'meter.db')}`));
  }
  if (!(await lookForParts()).present.includes('postgres'))
    return report.progress('PostgreSQL is not installed: SQLite alone');
  const postgres = await startPostgres({ durable: true });
  try {
    for (const servers of SIZES) {
      const databaseUrl = await postgres.database();
      await inFolder((folder) => measure(report, 'PostgreSQL', servers, { folder, databaseUrl }));
      await charge(report, 'PostgreSQL', servers, await postgres.database());
    }
  } finally {
    await postgres.stop();
  }
}

interface Where {
  folder: string;
  databaseUrl?: string;
}

async function measure(report: Report, kind: string, servers: number, { folder, databaseUrl }: Where): Promise<void> {
  const of = `${kind}, ${servers} servers`;
  report.progress(`${of}: creating them`);
  const keys = await prepareService(folder, { servers, keys: KEYS, ...(databaseUrl ? { databaseUrl } : {}) });
  const env = { PROXY: 'child', ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}) };
  const first = await startService(CORES.service, folder, env);
  await first.stop();
  const service = await startService(CORES.service, folder, env);
  const row = (figure: string, value: number, unit: string, note?: string): void =>
    report.row({ figure: `${of}: ${figure}`, value, unit, ...(note === undefined ? {} : { note }) });
  try {
    row('start to ready', service.readyMs, 'ms');
    row('a page of 200 servers', await medianOf(service, keys[0]!, '/v1/servers?limit=200'), 'ms');
    row('the operator’s first page', await medianOf(service, keys[0]!, '/v1/operator/machines'), 'ms');
    const load = { keys, servers };
    await loaded(service, { ...load, rate: RATES[0], seconds: WARM_UP_S });
    for (const rate of RATES) {
      const name = `${rate.calls} calls and ${rate.pings} pings a second`;
      const seconds = rate === RATES.at(-1) ? LAST_LOAD_S : LOAD_S;
      report.progress(`${of}: ${name} for ${seconds} s`);
      const cpu = cpuMs(service.child);
      const { calls, pings } = await loaded(service, { ...load, rate, seconds });
      row(`${name}: service, of a core`, ((cpuMs(service.child) - cpu) / seconds / 1_000) * 100, '%');
      row(`${name}: calls, p99`, calls.p99, 'ms', said(calls));
      row(`${name}: pings, p99`, pings.p99, 'ms', said(pings));
    }
    row('service, memory', rssBytes(service.child) / 2 ** 20, 'MiB');
  } finally {
    await service.stop();
  }
}

/** Measures a minute of awake servers, in one write as the meter does. */
async function charge(report: Report, kind: string, servers: number, url: string): Promise<void> {
  const store = await openStore(url, TABLES);
  try {
    await fillAwake(store, servers);
    const times: number[] = [];
    for (let minute = 1; minute <= SAMPLES; minute++) {
      const begun = performance.now();
      const charged = await chargeDue(store, START + minute * MINUTE_MS);
      if (charged !== servers) throw new Error(`${charged} ticks charged`);
      // The first minute begins a ledger entry for each server, as one minute in sixty does.
      if (minute > 1) times.push(performance.now() - begun);
    }
    report.row({
      figure: `${kind}, ${servers} servers: a minute of as many awake ones`,
      value: median(times),
      unit: 'ms',
    });
  } finally {
    await store.close();
  }
}

function said({ p50, max, failed }: Latency): string {
  return `median ${p50.toFixed(1)}, worst ${Math.round(max)}, ${failed} failed`;
}

async function medianOf({ httpPort }: ServiceProcess, key: string, path: string): Promise<number> {
  const times: number[] = [];
  for (let sample = 0; sample <= SAMPLES; sample++) {
    const begun = performance.now();
    const answer = await fetch(`http://127.0.0.1:${httpPort}${path}`, { headers: { 'x-api-key': key } });
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    await answer.arrayBuffer();
    // The first sample only warms up.
    if (sample > 0) times.push(performance.now() - begun);
  }
  return median(times);
}

async function loaded(
  { httpPort, playersPort }: ServiceProcess,
  { keys, servers, rate, seconds }: { keys: string[]; servers: number; rate: (typeof RATES)[number]; seconds: number },
): Promise<{ calls: Latency; pings: Latency }> {
  const plans: Plan[] = [
    { kind: 'calls', port: httpPort, perSecond: rate.calls, seconds, servers, keys },
    { kind: 'pings', port: playersPort, perSecond: rate.pings, seconds, servers, keys: [] },
  ];
  const children = plans.map(({ kind }) => startRole(CORES[kind], LOAD, 'load'));
  try {
    await Promise.all(children.map((child) => message(child)));
    const all = children.map((child, nth) => {
      child.send(plans[nth]!);
      return message<Latency>(child);
    });
    const [calls, pings] = (await Promise.all(all)) as [Latency, Latency];
    return { calls, pings };
  } finally {
    for (const child of children) child.kill();
  }
}

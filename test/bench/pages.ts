import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openBrowserSession } from '../../src/accounts/browser-sessions.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { cpuMs, pinningNote } from './children.ts';
import { ACCOUNT, inFolder } from './control.ts';
import { type Report, median, quantile } from './figures.ts';
import { type ServiceProcess, prepareService, startService } from './service.ts';

/** Enough sessions that none reaches its own limit. */
const SESSIONS = 40;
const SERVERS = 20;
/** Reads of each kind of page, and the fewest reads of a single page. */
const READS = 200;
const LEAST_READS = 20;
const ACTS = 50;
/** Starts and stops of a game. */
const LIVES = 10;
const LOOK_EVERY_MS = 100;
const STATE_MS = 30_000;
const AWAKE = '/servers/awake';

const TABS =
  'console players files mods backups worlds schedules settings settings/description settings/game settings/joining ' +
  'settings/public settings/alerts settings/version database ports members bill audit machine';

/** Kinds of pages, by their content. */
const PAGES: Readonly<Record<string, readonly string[]>> = {
  'the list of servers': ['/servers'],
  'a new server': ['/servers/new'],
  'the front page of a server': [AWAKE],
  'the other pages of a server': TABS.split(' ').map((tab) => `${AWAKE}/${tab}`),
  'bill and profile': ['/bill', '/profile', '/profile/keys', '/profile/audit'],
  "operators' pages": ['', '/nodes', '/accounts', '/orphans', '/proxies', '/apps', '/machines/awake'].map(
    (each) => `/operator${each}`,
  ),
};

/** A form of a page, and its fields for the `nth` submission. */
interface Act {
  path: string;
  fields: (nth: number) => Record<string, string>;
}

const ACTIONS: Readonly<Record<string, Act>> = {
  'rename a server': { path: '/servers/server-1/settings/name', fields: (nth) => ({ name: `Castle ${nth}` }) },
  'let a player in': { path: `${AWAKE}/players/whitelist`, fields: (nth) => ({ name: `Player${nth}`, on: 'true' }) },
  'make a folder': { path: `${AWAKE}/files/folder`, fields: (nth) => ({ name: `folder-${nth}` }) },
  'run a command': { path: `${AWAKE}/console/command`, fields: (nth) => ({ command: `say ${nth}` }) },
  'keep it awake': { path: `${AWAKE}/keep-awake`, fields: () => ({ minutes: '60' }) },
};

/** Measures the waits of a person in the panel: for each page, and for each change until the next page is there. */
export async function run(report: Report): Promise<void> {
  await inFolder(async (folder) => {
    await prepareService(folder, { servers: SERVERS }, { type: 'sandbox', ramMb: 256 });
    const tokens = await signIn(folder);
    const service = await startService(0, folder);
    try {
      const browsers = await Promise.all(tokens.map((token) => openBrowser(service, token)));
      const next = roundRobin(browsers);
      await next().submit(`/operator/accounts/${ACCOUNT}/credit`, { amount: '5', kind: 'credit', note: 'bench' });
      await next().submit('/servers/new/create', { name: 'Awake', ramMb: '512', version: '1.21.4' });
      try {
        await next().submit(`${AWAKE}/start`);
        await reach(next, AWAKE, 'awake');
        await reads(report, next, service);
        await acts(report, next);
      } finally {
        // Games outlive the service, so the server is deleted through it.
        await next().submit(`${AWAKE}/settings/delete`, { typed: 'awake' });
        await gone(join(folder, 'servers/awake'));
      }
    } finally {
      await service.stop();
    }
  });
}

async function reads(report: Report, next: () => Browser, service: ServiceProcess): Promise<void> {
  const note = [`${SERVERS} servers, one of them awake`, pinningNote].filter(Boolean).join('; ');
  for (const [kind, paths] of Object.entries(PAGES)) {
    const times: number[] = [];
    let cpu = 0;
    for (let nth = -1; nth < Math.max(LEAST_READS, READS / paths.length); nth++) {
      // The first time compiles code and fills caches.
      if (nth === 0) cpu = cpuMs(service.child);
      for (const path of paths) {
        const ms = await next().read(path);
        if (nth >= 0) times.push(ms);
      }
    }
    tell(report, kind, times, note);
    const each = (cpuMs(service.child) - cpu) / times.length;
    report.row({ figure: `${kind}, CPU each`, value: each, unit: 'ms', note: 'of the service' });
  }
}

async function acts(report: Report, next: () => Browser): Promise<void> {
  for (const [what, { path, fields }] of Object.entries(ACTIONS)) {
    const times: number[] = [];
    for (let nth = -1; nth < ACTS; nth++) {
      const ms = await next().submit(path, fields(nth + 1));
      if (nth >= 0) times.push(ms);
    }
    tell(report, what, times);
  }
  const [starts, stops]: [number[], number[]] = [[], []];
  for (let nth = 0; nth < LIVES; nth++) {
    stops.push(await next().submit(`${AWAKE}/stop`));
    await reach(next, AWAKE, 'asleep');
    starts.push(await next().submit(`${AWAKE}/start`));
    await reach(next, AWAKE, 'awake');
  }
  tell(report, 'start a server', starts);
  tell(report, 'stop a server', stops);
}

function tell(report: Report, what: string, times: readonly number[], note = ''): void {
  report.row({ figure: `${what}, p50`, value: median(times), unit: 'ms', note: `of ${times.length}` });
  report.row({ figure: `${what}, p99`, value: quantile(times, 0.99), unit: 'ms', note });
}

/** Opens sessions of the user that `prepareService` created, and returns their tokens. */
async function signIn(folder: string): Promise<string[]> {
  const store = await openStore(`sqlite:${join(folder, 'dormouse.db')}`, TABLES);
  const visitor = { address: '127.0.0.1', userAgent: 'bench' };
  try {
    return await store.write(async (tx) => {
      const tokens: string[] = [];
      while (tokens.length < SESSIONS) tokens.push(await openBrowserSession(tx, 'usr_bench', visitor, Date.now()));
      return tokens;
    });
  } finally {
    await store.close();
  }
}

/**
 * A signed-in browser. `read` and `submit` resolve with their duration, in ms. Each rejects if the answer is not the
 * page.
 */
interface Browser {
  read: (path: string) => Promise<number>;
  /** Submits a form, and follows it to the next page. */
  submit: (path: string, fields?: Record<string, string>) => Promise<number>;
  text: (path: string) => Promise<string>;
}

async function openBrowser({ httpPort }: ServiceProcess, token: string): Promise<Browser> {
  const origin = `http://127.0.0.1:${httpPort}`;
  const headers = { cookie: `sid=${token}`, accept: 'text/html' };
  const text = async (path: string, options: RequestInit = {}): Promise<string> => {
    const answer = await fetch(origin + path, { headers, ...options });
    const page = await answer.text();
    if (!answer.ok || page.includes('role="alert"'))
      throw new Error(`${path}: ${answer.status} ${/role="alert"[^<]*/.exec(page)?.[0] ?? page.slice(0, 500)}`);
    return page;
  };
  const csrf = /data-csrf="([^"]+)"/.exec(await text('/servers'))?.[1] ?? '';
  const timed = async (work: () => Promise<string>): Promise<number> => {
    const begun = performance.now();
    await work();
    return performance.now() - begun;
  };
  return {
    text,
    read: (path) => timed(() => text(path)),
    submit: (path, fields = {}) =>
      timed(() => text(path, { method: 'POST', body: new URLSearchParams({ csrf, ...fields }) })),
  };
}

function roundRobin<T>(all: readonly T[]): () => T {
  let nth = 0;
  return () => all[nth++ % all.length]!;
}

/** Waits until a page of a server shows the state. */
async function reach(next: () => Browser, path: string, state: string): Promise<void> {
  for (const end = performance.now() + STATE_MS; performance.now() < end; await delay(LOOK_EVERY_MS)) {
    if ((await next().text(path)).includes(`>${state}</span>`)) return;
  }
  throw new Error(`${path} is not ${state}`);
}

/** Waits until a deleted server's folder is gone, which is removed last. */
async function gone(folder: string): Promise<void> {
  for (const end = performance.now() + STATE_MS; performance.now() < end; await delay(LOOK_EVERY_MS)) {
    if (!existsSync(folder)) return;
  }
  throw new Error(`${folder} is still there`);
}

import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { listUnbalanced } from '../../src/billing/wallet-rows.ts';
import { type Store, openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { runningGames } from '../support/running-games.ts';
import type { Service } from '../support/service.ts';

/** What must be so whatever was in progress when the service died. Each sentence names something that is not. */
export async function brokenInvariants(service: Service): Promise<string[]> {
  const store = await openStore(`sqlite:${join(service.dataDir, 'dormouse.db')}`, TABLES);
  try {
    return [...(await money(store)), ...(await games(service, store)), ...(await left(service, store))];
  } finally {
    await store.close();
  }
}

/** The wallet is the sum of its ledger, and each minute of a session is charged once. */
async function money(store: Store): Promise<string[]> {
  const broken: string[] = [];
  const check = await store.query<object>('PRAGMA integrity_check');
  if (JSON.stringify(check) !== '[{"integrity_check":"ok"}]') broken.push(`the database: ${JSON.stringify(check)}`);
  for (const account of await listUnbalanced(store))
    broken.push(`a wallet that is not its ledger: ${JSON.stringify(account)}`);
  const odd = await store.query<object>(
    `SELECT s."id", s."ticks", s."awakeMs", s."amountMicros", COUNT(t."n") AS "charged", SUM(t."amountMicros") AS "micros"
     FROM "awake_sessions" s LEFT JOIN "ticks" t ON t."sessionId" = s."id"
     GROUP BY s."id" HAVING COUNT(t."n") <> s."ticks" OR COALESCE(SUM(t."amountMicros"), 0) <> s."amountMicros"
       OR s."ticks" * 60000 > s."awakeMs"`,
  );
  for (const session of odd) broken.push(`a session that is not charged minute by minute: ${JSON.stringify(session)}`);
  const open = await store.query<{ serverId: string }>(
    'SELECT "serverId" FROM "awake_sessions" WHERE "endedAt" IS NULL GROUP BY "serverId" HAVING COUNT(*) > 1',
  );
  for (const { serverId } of open) broken.push(`two open sessions of ${serverId}`);
  return broken;
}

const ENDING_MS = 120_000;

/** One game for each server that is awake, and none for any other; what has just ended has a moment to go. */
async function games(service: Service, store: Store): Promise<string[]> {
  let found = await oddGames(service, store);
  for (const end = Date.now() + ENDING_MS; found.length > 0 && Date.now() < end; await delay(100))
    found = await oddGames(service, store);
  return found;
}

async function oddGames(service: Service, store: Store): Promise<string[]> {
  const rows = await store.query<{ id: string; state: string }>('SELECT "id", "state" FROM "servers"');
  const awake = rows.filter(({ state }) => state === 'running').map(({ id }) => id);
  const running = await runningGames(service);
  const found = running.map(({ serverId }) => serverId).toSorted();
  return isDeepStrictEqual(awake.toSorted(), found)
    ? []
    : [`awake are ${awake.join(' ')}; games run: ${JSON.stringify(running)}; runs: ${await runsOf(service)}`];
}

/** The run files, for somebody who looks for the cause of an odd game. */
async function runsOf({ dataDir }: Service): Promise<string> {
  const files = (await readdir(join(dataDir, 'run'))).filter((name) => name.endsWith('.json'));
  return (await Promise.all(files.map((name) => readFile(join(dataDir, 'run', name), 'utf8').catch(() => '')))).join(
    ' ',
  );
}

const SWEEP_MS = 120_000;

/** Nothing in the data directory that nobody needs; what is being removed has a while to go. */
async function left(service: Service, store: Store): Promise<string[]> {
  let found = await leftovers(service, store);
  for (const end = Date.now() + SWEEP_MS; found.length > 0 && Date.now() < end; await delay(200))
    found = await leftovers(service, store);
  return found.map((path) => `left behind: ${path}`);
}

async function leftovers({ dataDir }: Service, store: Store): Promise<string[]> {
  const ids = new Set((await store.query<{ id: string }>('SELECT "id" FROM "servers"')).map(({ id }) => id));
  const backups = await store.query<{ serverId: string; id: string }>('SELECT "serverId", "id" FROM "backups"');
  const known = new Set(backups.map(({ serverId, id }) => `${serverId}/${id}.tar.zst`));
  const previous = new Set(backups.filter(({ id }) => id === 'previous').map(({ serverId }) => serverId));
  const namesIn = (path: string) => readdir(join(dataDir, path)).catch(() => [] as string[]);
  const found: string[] = [];
  for (const name of await namesIn('.')) if (/\.tmp|\.draft/.test(name)) found.push(name);
  for (const name of await namesIn('run')) {
    const [, id = ''] = /^([a-z0-9-]+)\.(?:json|damaged|\d+\.log)$/.exec(name) ?? [];
    if (!name.endsWith('compile-cache') && !ids.has(id)) found.push(`run/${name}`);
  }
  for (const name of await namesIn('servers')) {
    const [, id = '', kind] = /^([a-z0-9-]+)(?:\.(\w+))?$/.exec(name) ?? [];
    const isNeeded = kind === undefined ? ids.has(id) : kind === 'previous' && previous.has(id);
    if (!isNeeded) found.push(`servers/${name}`);
    for (const temp of await namesIn(`servers/${name}/.dormouse-tmp`))
      found.push(`servers/${name}/.dormouse-tmp/${temp}`);
  }
  for (const id of await namesIn('backups'))
    for (const name of await namesIn(`backups/${id}`))
      if (!known.has(`${id}/${name}`)) found.push(`backups/${id}/${name}`);
  return found;
}

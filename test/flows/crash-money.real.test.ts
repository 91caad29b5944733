import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { AwakeSessionRow } from '../../src/billing/awake-session-rows.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { chance } from '../support/random.ts';
import { runningGames } from '../support/running-games.ts';
import { type ServerRecord, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { type Books, SERVERS, customers, emptyBooks } from './customers.ts';
import { examineBooks } from './examine-books.ts';

/** `npm run test:crash` sets a higher number. */
const KILLS = Number(process.env['CRASH_KILLS'] ?? 10);
const PRICE = 9_973;
/** A second of the machine is a minute of the service. On a busy machine, times may be recorded a second late. */
const LATE_MS = 60_000;
const SETTINGS = {
  LOG_LEVEL: 'info',
  PRICE_PER_GB_HOUR_MICROS: String(PRICE),
  SIGNUP_CREDIT_MICROS: '1000000',
  IDLE_TIMEOUT_MINUTES: '1440',
  START_TIMEOUT_SECONDS: '7200',
};

/** Starts the service and kills it during its start or at a random time of its work. */
async function life(service: Service, books: Books, nth: number): Promise<void> {
  if (nth % 4 === 3) {
    const started = service.start().catch(() => {});
    await delay(200 + books.dice() * 1_000);
    await service.kill();
    return started;
  }
  await service.start();
  const ended = new AbortController();
  const work = customers(service, books, ended.signal);
  await delay(200 + books.dice() * 2_000);
  await service.kill();
  ended.abort();
  await work;
}

/** Checks a copy of the database after a kill. The next process must repair the original itself. */
async function examine(t: ExecutionContext, { dataDir }: Service, books: Books): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-examined-'));
  try {
    for (const file of await readdir(dataDir)) {
      if (/^dormouse\.db(-wal)?$/.test(file)) await copyFile(join(dataDir, file), join(folder, file));
    }
    const store = await openStore(`sqlite:${join(folder, 'dormouse.db')}`, TABLES);
    try {
      t.deepEqual(await store.query('PRAGMA integrity_check'), [{ integrity_check: 'ok' }]);
      return await examineBooks(t, store, books, { price: PRICE, lateMs: LATE_MS });
    } finally {
      await store.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Waits until every server has settled and each running game has been charged for another minute. */
async function settle(t: ExecutionContext, service: Service): Promise<void> {
  const running: string[] = [];
  const { servers } = await service.call<{ servers: ServerRecord[] }>('GET', '/v1/servers');
  const settled = /^(running|hibernated|start_failed)$/;
  for (const { id } of servers) {
    const state = await until(`${id} is settled`, async () => {
      const server = await service.call('GET', `/v1/servers/${id}`);
      return settled.test(server.state) && server.state;
    });
    if (state === 'running') running.push(id);
  }
  for (const id of running) {
    const minutes = async () => {
      const { sessions } = await service.call<{ sessions: { minutes: number }[] }>('GET', `/v1/servers/${id}/usage`);
      return sessions.at(-1)?.minutes ?? 0;
    };
    const before = await minutes();
    await until(`${id} is charged again`, async () => (await minutes()) !== before);
  }
  // A server has no folder before its first start.
  const known = new Set(servers.map(({ id }) => id));
  const left = async () => (await readdir(join(service.dataDir, 'servers'))).filter((name) => !known.has(name));
  await until('nothing is left of a deleted server', async () => (await left()).length === 0);
  t.deepEqual((await runningGames(service)).map(({ serverId }) => serverId).toSorted(), running.toSorted());
}

test(`${KILLS} kills amid starts, stops, crashes, deletions, charges and payments neither lose nor double anything`, async (t) => {
  const program = [join(import.meta.dirname, 'hurried-main.ts'), String(Date.now()), '60'];
  const service = await startService(t, SETTINGS, program);
  const { accountId } = await service.call<{ accountId: string }>('GET', '/v1/whoami');
  for (const [nth, name] of SERVERS.entries()) await service.create(name, '1.21.4', { ramMb: 256 + 133 * nth });
  await service.kill();
  const books = emptyBooks(accountId, chance(t));
  for (let nth = 0; nth < KILLS; nth++) {
    await life(service, books, nth);
    await examine(t, service, books);
  }
  await service.start();
  await service.call('POST', '/v1/servers/a:start').catch(() => {});
  books.wishes.delete('a');
  await settle(t, service);
  t.is(await service.stop(), 0);
  const ticks = await examine(t, service, books);
  // The number of minutes in the short lives depends on the machine, but `settle` waits for the last one.
  t.true(ticks > 0);

  // Servers awake across the kills are charged for their whole time.
  const store = await openStore(`sqlite:${join(service.dataDir, 'dormouse.db')}`, TABLES);
  const open = await store.query<AwakeSessionRow>(
    'SELECT * FROM "awake_sessions" WHERE "endedAt" IS NULL AND "readyAt" IS NOT NULL',
  );
  const [{ starts } = { starts: 0 }] = await store.query<{ starts: number }>(
    'SELECT COUNT(*) AS "starts" FROM "awake_sessions"',
  );
  await store.close();
  for (const session of open) {
    t.true(session.provenAt - (session.readyAt ?? 0) - session.awakeMs <= LATE_MS, JSON.stringify(session));
  }
  const { gifts, payments, deleted } = books;
  t.log(`${KILLS} kills, ${starts} starts, ${deleted.size} deletions, ${ticks} minutes charged in all`);
  t.log(`${gifts.size} credits, ${payments.size} payments, ${open.length} awake at the end`);
});

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import test from 'ava';
import { chargeOf } from '../../src/billing/prices.ts';
import { listUnbalanced, getWallet } from '../../src/billing/wallet-rows.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { CREDIT, RATE, SERVERS, START, chargeDue, fillAwake } from '../support/many-awake.ts';
import { isThorough } from '../support/needs.ts';
import { freshStore } from '../support/store.ts';

const MINUTE_MS = 60_000;
/** The highest ratio of processor time between all servers and a tenth of them. Quadratic work would make it 100. */
const MOST_TIMES = 30;
/** Below this, a measurement is mostly noise. */
const LEAST_MS = 10;

test.runIf(isThorough)(
  'a minute of ten thousand awake servers is charged in one transaction, in roughly linear time',
  async (t) => {
    t.timeout(300_000);
    const folder = await mkdtemp(join(tmpdir(), 'dormouse-many-'));
    t.teardown(() => rm(folder, { recursive: true }));
    const url = `sqlite:${join(folder, 'many.db')}`;
    const program = join(import.meta.dirname, 'charge-many.ts');
    const charge = async (into: string, servers: number) => {
      const { stdout } = await promisify(execFile)(process.execPath, [program, into, String(servers)]);
      return JSON.parse(stdout) as { charged: number[]; cpuMs: number };
    };
    const few = await charge(`sqlite:${join(folder, 'few.db')}`, SERVERS / 10);
    const { charged, cpuMs } = await charge(url, SERVERS);
    t.deepEqual(charged, [SERVERS, SERVERS]);
    t.true(cpuMs < MOST_TIMES * Math.max(few.cpuMs, LEAST_MS), `${cpuMs} ms, and ${few.cpuMs} ms for a tenth`);

    const store = await openStore(url, TABLES);
    t.teardown(() => store.close());
    // The ten servers of an account have the same size.
    const spent = 10 * chargeOf(2, RATE, 512 * (1 + (7 % 8)));
    t.like(await getWallet(store, 'acc_7'), { balanceMicros: CREDIT - spent, spentMicros: spent });
    t.deepEqual(await listUnbalanced(store), []);
    const [{ ticks, entries } = { ticks: 0, entries: 0 }] = await store.query<{ ticks: number; entries: number }>(
      `SELECT (SELECT COUNT(*) FROM "ticks") AS "ticks", (SELECT COUNT(*) FROM "ledger" WHERE "kind" = 'usage') AS "entries"`,
    );
    t.deepEqual([ticks, entries], [2 * SERVERS, SERVERS]);
  },
);

test('a minute that cannot be stored in full is not charged at all', async (t) => {
  t.timeout(300_000);
  const store = await freshStore(t);
  await fillAwake(store);
  // The trigger fails the update of the last of ten thousand sessions.
  await store.write(async (tx) => {
    await tx.query(`CREATE TRIGGER "full" BEFORE UPDATE ON "awake_sessions" WHEN NEW."ticks" = 1 AND OLD."id" =
      (SELECT MAX("id") FROM "awake_sessions") BEGIN SELECT RAISE(ABORT, 'full'); END`);
  });
  await t.throwsAsync(chargeDue(store, START + MINUTE_MS), { message: /full/ });
  const [ticks] = await store.query<{ count: number }>('SELECT COUNT(*) AS "count" FROM "ticks"');
  t.is(ticks?.count, 0);
  t.is((await getWallet(store, 'acc_7'))?.balanceMicros, CREDIT);
  t.deepEqual(await listUnbalanced(store), []);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import test from 'ava';
import type { ExecutionContext } from 'ava';
import { unbalanced } from '../../src/billing/ledger.ts';
import { chargeOf } from '../../src/billing/prices.ts';
import { listLedger } from '../../src/store/ledger.ts';
import type { AwakeSessionRow } from '../../src/store/rows.ts';
import { openStore } from '../../src/store/store.ts';

/** `npm run test:crash` asks for more. */
const KILLS = Number(process.env['CRASH_KILLS'] ?? 10);
const CHILD = join(import.meta.dirname, 'money-child.ts');
const MINUTE_MS = 60_000;
/** The two clocks of the child are read one after the other, and it runs 300 times as fast as the machine. */
const READ_MS = 6_000;

/** When the process is killed: so long after its first payment, or after its birth while it may still be coming back to life. */
interface Death {
  after: 'birth' | 'payment';
  ms: number;
}

/** One life of the process: the numbers of the payments it acknowledged. Without a death it settles, and ends by itself. */
async function life(folder: string, begun: number, death?: Death): Promise<number[]> {
  const settle = death === undefined ? ['settle'] : [];
  const child = spawn(process.execPath, [CHILD, folder, String(begun), ...settle], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const said: string[] = [];
  const lines = createInterface(child.stdout).on('line', (line) => {
    if (said.push(line) === 1 && death?.after === 'payment') setTimeout(() => child.kill('SIGKILL'), death.ms);
  });
  if (death?.after === 'birth') setTimeout(() => child.kill('SIGKILL'), death.ms);
  const [[code, signal]] = await Promise.all([exited, once(lines, 'close')]);
  if (settle.length === 0 && signal !== 'SIGKILL') throw new Error(`ended by itself with ${code}`);
  if (settle.length > 0 && said.at(-1) !== 'settled') throw new Error(`did not settle: ${code}`);
  return said.map(Number).filter((n) => !Number.isNaN(n));
}

function deathOf(kill: number): Death {
  if (kill % 4 === 3) return { after: 'birth', ms: 300 + Math.random() * 900 };
  return { after: 'payment', ms: Math.random() * 900 };
}

async function examine(t: ExecutionContext, folder: string, paid: number): Promise<number> {
  const store = await openStore(`sqlite:${join(folder, 'money.db')}`);
  try {
    t.deepEqual(await store.query('PRAGMA integrity_check'), [{ integrity_check: 'ok' }]);
    t.deepEqual(await unbalanced(store), []);
    const entries = await listLedger(store, 'acc_test', 1_000_000);
    const payments = entries.filter(({ kind }) => kind === 'topup');
    t.true(payments.length >= paid, `${paid} acknowledged, ${payments.length} kept`);
    t.deepEqual(
      payments.map(({ ref, amountMicros }) => [ref, amountMicros]).toReversed(),
      payments.map((_, n) => [`paid/${n}`, 1_000 + n]),
    );
    const sessions = await store.query<AwakeSessionRow>('SELECT * FROM "awake_sessions"');
    const keys = await store.query<{ sessionId: string; count: number; last: number }>(
      'SELECT "sessionId", COUNT(*) AS "count", MAX("n") AS "last" FROM "ticks" GROUP BY "sessionId"',
    );
    const charged = new Map(keys.map((key) => [key.sessionId, key]));
    for (const session of sessions) {
      const { id, ticks, awakeMs, rateMicros, ramMb, amountMicros, readyAt, endedAt, provenAt } = session;
      t.is(amountMicros, chargeOf(ticks, rateMicros, ramMb));
      t.like(charged.get(id) ?? { count: 0, last: 0 }, { count: ticks, last: ticks });
      t.true(ticks <= Math.floor(awakeMs / MINUTE_MS));
      t.true(awakeMs <= Math.max(0, (endedAt ?? provenAt) - (readyAt ?? provenAt)) + READ_MS, JSON.stringify(session));
    }
    const used = entries.filter(({ kind }) => kind === 'usage').reduce((sum, entry) => sum - entry.amountMicros, 0);
    t.is(
      used,
      sessions.reduce((sum, { amountMicros }) => sum + amountMicros, 0),
    );
    const open = sessions.filter(({ endedAt }) => endedAt === null);
    t.is(new Set(open.map(({ serverId }) => serverId)).size, open.length, 'one session a server');
    return sessions.reduce((sum, { ticks }) => sum + ticks, 0);
  } finally {
    await store.close();
  }
}

test(`killed ${KILLS} times while servers start, stop and crash, minutes are charged and money comes in: nothing is lost or doubled`, async (t) => {
  t.timeout(60_000 + KILLS * 10_000);
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-money-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const begun = Date.now();
  let paid = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const acknowledged = await life(folder, begun, deathOf(kill));
    paid = Math.max(paid, ...acknowledged.map((n) => n + 1));
    await examine(t, folder, paid);
  }
  await life(folder, begun);
  const ticks = await examine(t, folder, paid);
  t.true(ticks >= KILLS, `${ticks} ticks`);
  // What was awake through all the deaths of its meter is charged for the whole time.
  const store = await openStore(`sqlite:${join(folder, 'money.db')}`);
  const open = await store.query<AwakeSessionRow>(
    'SELECT * FROM "awake_sessions" WHERE "endedAt" IS NULL AND "readyAt" IS NOT NULL',
  );
  await store.close();
  for (const { awakeMs, provenAt, readyAt, ticks: n } of open) {
    t.true(provenAt - (readyAt ?? 0) - awakeMs <= READ_MS);
    t.is(n, Math.floor(awakeMs / MINUTE_MS));
  }
  t.log(`${KILLS} kills, ${paid} payments, ${ticks} minutes charged, ${open.length} awake at the end`);
});

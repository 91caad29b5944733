/**
 * A control process to be killed: `node money-child.ts <folder> <instant of the beginning> [settle]`. Its clock runs 300 times
 * as fast as real time, from the beginning on, whoever is alive. It starts, stops and crashes servers and tops up, and prints
 * the number of each top-up once it is acknowledged. With `settle` it charges what is due, prints `settled`, and ends.
 */
import { join } from 'node:path';
import process from 'node:process';
import type { Cause } from '../../machines/server.ts';
import { recordDeed } from '../../src/access/audit.ts';
import { acquireLease } from '../../src/access/lease.ts';
import { createEffects } from '../../src/actors/effects.ts';
import { startReconcile } from '../../src/actors/reconcile.ts';
import { createServers } from '../../src/actors/servers.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import { createFunds } from '../../src/billing/funds.ts';
import { openWallet, post } from '../../src/billing/ledger.ts';
import { startMeter } from '../../src/billing/meter.ts';
import { createSessions } from '../../src/billing/sessions.ts';
import { openSteadyClock } from '../../src/billing/steady-clock.ts';
import { createLog } from '../../src/log.ts';
import type { Clock } from '../../src/ports.ts';
import { getAccount, insertAccount } from '../../src/store/accounts.ts';
import { openStore } from '../../src/store/store.ts';
import { serverRow } from '../support/world.ts';
import { lastingEngine } from './money-engine.ts';

const SPEED = 300;
const SERVERS = ['a', 'b', 'c', 'd', 'e', 'f'];
const ACCOUNT = 'acc_test';
const CAUSE: Cause = { kind: 'key', id: 'key_test', note: 'test' };

const [folder = '', begun = '0', mode = ''] = process.argv.slice(2);
const clock: Clock = {
  now: () => Math.floor(Number(begun) + (Date.now() - Number(begun)) * SPEED),
  at(at, fire) {
    const timer = setTimeout(fire, Math.max(0, at - clock.now()) / SPEED);
    return () => clearTimeout(timer);
  },
};

const store = await openStore(`sqlite:${join(folder, 'money.db')}`);
const log = createLog({ level: process.env['TEST_LOG'] ?? 'silent' });
await acquireLease(store, { clock: systemClock, log, onLost: () => process.exit(3) });
if ((await getAccount(store, ACCOUNT)) === undefined) {
  await store.write(async (tx) => {
    await insertAccount(tx, { id: ACCOUNT, name: 'test', createdAt: clock.now() });
    await openWallet(tx, ACCOUNT, clock.now(), 1_000_000);
  });
}

const engine = lastingEngine(join(folder, 'games'), clock);
const prices = { perGbHourMicros: 9_973, perGbMonthMicros: 3_000_000 };
const steady = await openSteadyClock(store, { clock, epoch: 'test', monotonicMs: () => clock.now() });
const sessions = createSessions({ clock, steady, prices });
const console = { run: async () => '', release() {}, close() {} };
const raw = '{"players":{"max":20,"online":1}}';
const pinger = { status: async () => ({ playersOnline: 1, playersMax: 20, versionName: '', protocol: 0, raw }) };
const rconPassword = () => 'secret';
const servers = createServers({
  store,
  clock,
  log,
  limits: { startMs: 86_400_000, stopMs: 86_400_000, installMs: 86_400_000 },
  onStep: sessions.onStep,
  effects: createEffects({
    engine,
    console,
    clock,
    log,
    pinger,
    rconPassword,
    cpusFor: () => 1,
    dataDir: join(folder, 'data'),
    gameImage: '',
    sandboxImage: '',
    sandboxFaults: {},
    owner: undefined,
    idleAfterMs: 0,
    outages: () => 0,
    erasers: [],
  }),
});
await servers.restore();
await startReconcile({ engine, servers, clock, log, onLook: sessions.observed });
const funds = createFunds({
  store,
  clock,
  servers,
  console,
  rconPassword,
  prices,
  baseUrl: '',
  log,
  mailer: { send: async () => {} },
  record: (tx, deed) => recordDeed(tx, { userId: '', through: 'system' }, deed),
});
servers.checkWakes(funds.check);
const meter = await startMeter({
  store,
  clock,
  steady,
  engine,
  servers,
  sessions,
  prices,
  log,
  afterRound: funds.enforce,
});
if (mode === 'settle') {
  await meter.round();
  process.stdout.write('settled\n');
  process.exit(0);
}

for (const id of SERVERS) {
  const ramMb = 512 + 333 * SERVERS.indexOf(id);
  if ((await servers.get(id)) === undefined)
    await servers.create(serverRow(id, ACCOUNT, { ramMb, createdAt: clock.now() }), CAUSE);
  void live(id);
}
void topUps();

/** Awake, asleep, now and then crashed; whatever is refused is tried again. */
async function live(id: string): Promise<void> {
  for (;;) {
    const dice = Math.random();
    if (dice < 0.1) engine.crash(id);
    else {
      const type = dice < 0.6 ? 'START' : 'STOP';
      await servers.send(id, { type, at: clock.now(), cause: CAUSE }).catch(() => {});
    }
    await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 900));
  }
}

/** Each payment is told twice, as payment providers do. */
async function topUps(): Promise<void> {
  const [row] = await store.query<{ count: number }>(`SELECT COUNT(*) AS "count" FROM "ledger" WHERE "kind" = 'topup'`);
  for (let n = row?.count ?? 0; ; n++) {
    const posting = { accountId: ACCOUNT, kind: 'topup', amountMicros: 1_000 + n, note: '', ref: `paid/${n}` } as const;
    const tell = () => store.write((tx) => post(tx, { ...posting, at: clock.now() }));
    await Promise.all([tell(), tell()]);
    process.stdout.write(`${n}\n`);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
  }
}

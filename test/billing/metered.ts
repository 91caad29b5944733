import type { ExecutionContext } from 'ava';
import { gameConsoles } from '../../src/engines/console/console.ts';
import type { Cause } from '../../machines/server-types.ts';
import { Funds } from '../../src/billing/funds.ts';
import { type LedgerRow, listLedger } from '../../src/billing/ledger-rows.ts';
import { balance, openWallet } from '../../src/billing/ledger.ts';
import { Meter } from '../../src/billing/meter.ts';
import type { Prices } from '../../src/billing/prices.ts';
import type { AwakeSessionRow } from '../../src/billing/awake-session-rows.ts';
import { AwakeSessions } from '../../src/billing/awake-sessions.ts';
import { openSteadyClock } from '../../src/billing/steady-clock.ts';
import { createLog } from '../../src/kernel/log.ts';
import type { Mail } from '../../src/mail/mail.ts';
import type { Sql } from '../../src/store/store.ts';
import { KEY, type World, world } from '../support/world.ts';

export const ACCOUNT = 'acc_test';
export const PRICES: Prices = { perGbHourMicros: 10_000, perGbMonthMicros: 3_000_000 };

/** Servers on a fake engine, with the meter running and money in the wallet. */
export interface Metered extends Omit<World, 'servers'> {
  readonly servers: World['servers'];
  readonly meter: Pick<Meter, 'round' | 'ageMs' | 'close'>;
  letters: Mail[];
  /** The caps reported as reached. */
  caps: object[];
  /** Starts a server and waits until it runs. Its files are written in real time before the clock moves. */
  wake(id: string, cause?: Cause): Promise<void>;
  balance(): Promise<number>;
  /** Newest first. */
  ledger(): Promise<LedgerRow[]>;
  /** Oldest first. */
  sessions(): Promise<AwakeSessionRow[]>;
  /** Reads balance, ledger and sessions in one transaction. Between separate reads, a minute may be charged. */
  books(): Promise<{ balanceMicros: number; entries: LedgerRow[]; sessions: AwakeSessionRow[] }>;
  /** Advances the clock by full minutes. Each ends with a round of the meter. */
  minutes(count: number): Promise<void>;
  /** Changes the machine's clock. Elapsed time is not affected. */
  setClock(byMs: number): Promise<void>;
  /** The true awake time of all games. */
  awakeMs(): number;
  /** The part of it during which the meter was stopped. */
  unprovenMs(): number;
  /** Restarts the process after `awayMs`. Games keep running. */
  restart(awayMs?: number): Promise<void>;
  /** Restarts only the meter after `awayMs`, in this boot of the machine or in another one. */
  restartMeter(awayMs?: number, inBoot?: string): Promise<void>;
}

export async function metered(
  t: ExecutionContext,
  {
    creditMicros = 5_000_000,
    prices = PRICES,
    boot = 'this boot',
    atOnceMs,
  }: {
    creditMicros?: number;
    prices?: Prices;
    /** The id of the machine's boot, or '' if it is unknown. */
    boot?: string;
    /** As in `Meter`. */
    atOnceMs?: number;
  } = {},
): Promise<Metered> {
  let sessions: AwakeSessions | undefined;
  const base = await world(t, {
    onStep: async (tx, now, step) => sessions?.onStep(tx, now, step),
    onLook: (id, game) => sessions?.observed(id, game),
    onAway: () => sessions?.outOfSight(),
  });
  const { store, clock, engine, games } = base;
  const log = createLog({ level: process.env['TEST_LOG'] ?? 'silent' });
  const letters: Mail[] = [];
  const caps: object[] = [];
  const mailer = { send: async (mail: Mail) => void letters.push(mail) };
  let setBy = 0;
  let awake = 0;
  let unproven = 0;
  const since = new Map<string, number>();
  const truly = () => clock.now() - setBy;
  const watch = () =>
    base.servers.observe((id, now) => {
      const began = since.get(id);
      if (now?.state === 'running') since.set(id, began ?? truly());
      else if (began !== undefined && since.delete(id)) awake += truly() - began;
    });
  watch();
  let meter = await startAll();
  await store.write((tx) => openWallet(tx, ACCOUNT, clock.now(), creditMicros));
  t.teardown(() => meter.close());

  async function startAll(epoch = boot): Promise<Pick<Meter, 'round' | 'ageMs' | 'close'>> {
    const monotonicMs = () => clock.now() - setBy;
    const steady = await openSteadyClock(store, epoch, { clock, monotonicMs });
    sessions = new AwakeSessions(clock, steady, prices);
    const { servers } = base;
    const room = { store, clock, servers, log };
    const consoles = gameConsoles(games, () => 'secret');
    const funds = new Funds(room, { consoles, mailer, prices, baseUrl: 'http://panel.example' });
    funds.whenCapReached(async (_, cap) => void caps.push(cap));
    const uncheck = servers.checkWakes((row, look) => funds.check(row, look));
    const started = new Meter(room, { engine, steady, sessions, prices, funds }, atOnceMs);
    await started.start();
    return {
      round: () => started.round(),
      ageMs: () => started.ageMs(),
      async close() {
        uncheck();
        funds.close();
        await started.close();
      },
    };
  }

  const sessionsIn = (db: Sql) =>
    db.query<AwakeSessionRow>('SELECT * FROM "awake_sessions" ORDER BY "startedAt", "id"');

  return {
    ...base,
    letters,
    caps,
    get servers() {
      return base.servers;
    },
    get meter() {
      return meter;
    },
    async wake(id, cause = KEY) {
      await base.command(id, cause.kind === 'player' ? 'JOIN' : 'START', cause);
      await base.until(async () => (await engine.inspect(id))?.up === true);
      await base.reach(id, 'running');
    },
    balance: () => balance(store, ACCOUNT),
    ledger: () => listLedger(store, ACCOUNT, 1_000),
    sessions: () => sessionsIn(store),
    books: () =>
      store.write(async (tx) => ({
        balanceMicros: await balance(tx, ACCOUNT),
        entries: await listLedger(tx, ACCOUNT, 1_000),
        sessions: await sessionsIn(tx),
      })),
    async minutes(count) {
      for (let minute = 0; minute < count; minute++) {
        for (let part = 0; part < 4; part++) {
          await clock.advance(15_000);
          await store.write(async () => {});
        }
        await meter.round();
      }
    },
    async setClock(byMs) {
      setBy += byMs;
      await clock.set(clock.now() + byMs);
      await store.write(async () => {});
    },
    awakeMs: () => awake + [...since.values()].reduce((sum, began) => sum + truly() - began, 0),
    unprovenMs: () => unproven,
    async restart(awayMs = 0) {
      unproven += awayMs * since.size;
      await meter.close();
      await base.servers.close();
      await clock.advance(awayMs);
      await base.killAndRestart();
      watch();
      meter = await startAll();
    },
    async restartMeter(awayMs = 0, inBoot = boot) {
      unproven += awayMs * since.size;
      await meter.close();
      await clock.advance(awayMs);
      meter = await startAll(inBoot);
    },
  };
}

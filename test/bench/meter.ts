import process from 'node:process';
import { openWallet, unbalanced } from '../../src/billing/ledger.ts';
import { insertAccount } from '../../src/store/accounts.ts';
import { awakeSessions } from '../../src/store/entities.ts';
import { proveSessions } from '../../src/store/awake-sessions.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { chargeNext } from '../../src/store/ticks.ts';
import { inFolder } from './control.ts';
import { median, type Report } from './figures.ts';

const SERVERS = 10_000;
const ACCOUNTS = 1_000;
const MINUTES = 7;
const START = 1_800_000_000_000;
const MINUTE_MS = 60_000;
const CHUNK = 500;

/** One minute's ticks of many awake servers, in one write as the meter makes it. */
export async function run(report: Report): Promise<void> {
  await inFolder(async (folder) => {
    const store = await openStore(`sqlite:${folder}/meter.db`);
    try {
      report.progress(`${SERVERS} awake servers`);
      await fill(store);
      const cpuMs: number[] = [];
      const wallMs: number[] = [];
      for (let minute = 1; minute <= MINUTES; minute++) {
        const [cpu, begun] = [process.cpuUsage(), performance.now()];
        const charged = await charge(store, START + minute * MINUTE_MS);
        const { user, system } = process.cpuUsage(cpu);
        if (charged !== SERVERS) throw new Error(`${charged} ticks charged`);
        // The first minute begins an entry of the ledger for each server, as one in sixty does.
        if (minute === 1)
          report.row({ figure: 'a minute that begins all entries, CPU', value: ms(user + system), unit: 'ms' });
        else {
          cpuMs.push(ms(user + system));
          wallMs.push(performance.now() - begun);
        }
      }
      if ((await unbalanced(store)).length > 0) throw new Error('wallets differ from the ledger');
      const note = 'one write; promised: 250 ms';
      report.row({ figure: `a minute of ${SERVERS} awake servers, CPU`, value: median(cpuMs), unit: 'ms', note });
      report.row({ figure: `a minute of ${SERVERS} awake servers, elapsed`, value: median(wallMs), unit: 'ms' });
    } finally {
      await store.close();
    }
  });
}

function ms(micros: number): number {
  return micros / 1_000;
}

function charge(store: Store, at: number): Promise<number> {
  return store.write(async (tx) => {
    await proveSessions(tx, at, []);
    let all = 0;
    for (let some = -1; some !== 0; all += some) some = await chargeNext(tx, at, '2027-01');
    return all;
  });
}

async function fill(store: Store): Promise<void> {
  await store.write(async (tx) => {
    for (let account = 0; account < ACCOUNTS; account++) {
      await insertAccount(tx, { id: `acc_${account}`, name: '', createdAt: START });
      await openWallet(tx, `acc_${account}`, START, 1_000_000_000);
    }
  });
  for (let from = 0; from < SERVERS; from += CHUNK) {
    const rows = Array.from({ length: CHUNK }, (_, index) => session(from + index));
    await store.write(async (tx) => void (await tx.manager.insert(awakeSessions, rows)));
  }
}

function session(nth: number) {
  return {
    id: `ses_${String((nth * 7_919) % SERVERS).padStart(12, '0')}`,
    serverId: `server-${nth}`,
    accountId: `acc_${nth % ACCOUNTS}`,
    cause: '{"kind":"key","id":"key_bench","note":"bench"}',
    plan: 'metered',
    ramMb: 512 * (1 + (nth % 8)),
    rateMicros: 10_000,
    startedAt: START,
    readyAt: START,
    endedAt: null,
    ending: '',
    billable: 1,
    provenAt: START,
    awakeMs: 0,
    ticks: 0,
    remainder: 0,
    amountMicros: 0,
    serverCreatedAt: START,
  };
}

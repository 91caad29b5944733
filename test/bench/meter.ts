import process from 'node:process';
import { listUnbalanced } from '../../src/billing/wallet-rows.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { SERVERS, START, chargeDue, fillAwake } from '../support/many-awake.ts';
import { inFolder } from './control.ts';
import { type Report, median } from './figures.ts';

const MINUTES = 7;
const MINUTE_MS = 60_000;

/** Measures one minute's ticks of many awake servers, in one write as the meter does. */
export async function run(report: Report): Promise<void> {
  await inFolder(async (folder) => {
    const store = await openStore(`sqlite:${folder}/meter.db`, TABLES);
    try {
      report.progress(`${SERVERS} awake servers`);
      await fillAwake(store);
      const cpuMs: number[] = [];
      const wallMs: number[] = [];
      for (let minute = 1; minute <= MINUTES; minute++) {
        const [cpu, begun] = [process.cpuUsage(), performance.now()];
        const charged = await chargeDue(store, START + minute * MINUTE_MS);
        const { user, system } = process.cpuUsage(cpu);
        if (charged !== SERVERS) throw new Error(`${charged} ticks charged`);
        // The first minute begins a ledger entry for each server, as one minute in sixty does.
        if (minute === 1)
          report.row({ figure: 'a minute that begins all entries, CPU', value: ms(user + system), unit: 'ms' });
        else {
          cpuMs.push(ms(user + system));
          wallMs.push(performance.now() - begun);
        }
      }
      if ((await listUnbalanced(store)).length > 0) throw new Error('wallets differ from the ledger');
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

/**
 * A control process for kill tests. `node crash-child.ts <database URL>` acquires the lease, writes in parallel, and
 * prints the number of each write once it is acknowledged.
 */
import { TABLES } from '../../src/tables.ts';
import { createLog } from '../../src/kernel/log.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { acquireLease } from '../../src/store/lease.ts';
import { setMeta } from '../../src/store/meta.ts';
import { openStore } from '../../src/store/store.ts';

const LANES = 4;

const store = await openStore(process.argv[2] ?? '', TABLES);
const log = createLog({ level: 'warn' });
await acquireLease(store, { clock: systemClock, log, onLost: () => process.exit(3) });
const [row] = await store.query<{ count: number }>(`SELECT COUNT(*) AS "count" FROM "meta" WHERE "key" LIKE 'a%'`);
let next = row?.count ?? 0;
for (let lane = 0; lane < LANES; lane++) void write();

async function write(): Promise<void> {
  for (;;) {
    const n = next++;
    await store.write(async (tx) => {
      await setMeta(tx, `a${n}`, 'x'.repeat(500));
      await setMeta(tx, `b${n}`, '');
    });
    process.stdout.write(`${n}\n`);
  }
}

/** A control process that only holds the lease. `node lease-child.ts <database URL>` prints `held` once it does. */
import { TABLES } from '../../src/tables.ts';
import { createLog } from '../../src/kernel/log.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { acquireLease } from '../../src/store/lease.ts';
import { openStore } from '../../src/store/store.ts';

const store = await openStore(process.argv[2] ?? '', TABLES);
const log = createLog({ level: 'silent' });
await acquireLease(store, { clock: systemClock, log, onLost: () => process.exit(3) });
process.stdout.write('held\n');
// Keeps the process running, as the work of a service would.
setInterval(() => {}, 1_000);

/** A control process that holds the lease and does nothing: `node lease-child.ts <database URL>` says so once it does. */
import { TABLES } from '../../src/tables.ts';
import { createLog } from '../../src/kernel/log.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { acquireLease } from '../../src/store/lease.ts';
import { openStore } from '../../src/store/store.ts';

const store = await openStore(process.argv[2] ?? '', TABLES);
const log = createLog({ level: 'silent' });
await acquireLease(store, { clock: systemClock, log, onLost: () => process.exit(3) });
process.stdout.write('held\n');
// The service has more to do.
setInterval(() => {}, 1_000);

/**
 * A process that works with device grants and may be killed:
 * `node killed-child.ts <database URL> <folder> <later> <what> <argument> [die]`.
 * Runs one act with the clock `later` ms ahead and prints its result as JSON. With `die` it kills itself once its first
 * write is on disk, before it answers.
 */
import { TABLES } from '../../src/tables.ts';
import process from 'node:process';
import { createLog } from '../../src/kernel/log.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { Grants } from '../../src/grants/grants.ts';
import { openSecret } from '../../src/store/secret.ts';
import { type Store, openStore } from '../../src/store/store.ts';
import { addPerson } from '../support/store.ts';

const [url = '', folder = '', later = '', what = '', argument = '', die = ''] = process.argv.slice(2);
const USER = { userId: 'usr_test', accountId: 'acc_test' };

const real = await openStore(url, TABLES);
const store: Store = {
  ...real,
  async write(work) {
    const value = await real.write(work);
    if (die === 'die') {
      process.kill(process.pid, 'SIGKILL');
      await new Promise(() => {});
    }
    return value;
  },
};
// A fixed time instead of the machine's clock: a busy machine may take long between two processes.
const clock = { ...systemClock, now: () => Date.UTC(2030, 0) + Number(later) };
const secret = await openSecret(real, folder);
const grants = new Grants({ store, clock, secret, log: createLog({ level: 'silent' }) });

const acts: Record<string, () => Promise<unknown>> = {
  setup: () => addPerson(real, 'test'),
  start: () => grants.start({ clientId: null, scope: '', ip: '192.0.2.1', userAgent: 'test' }),
  poll: () => grants.poll(argument),
  async approve() {
    const found = await grants.find(argument);
    if (!found) return { error: 'not found' };
    await grants.approve(found.id, USER);
    return {};
  },
  async count() {
    const [row] = await real.query<{ keys: number }>('SELECT COUNT(*) AS "keys" FROM "api_keys"');
    return { ...row };
  },
};

try {
  process.stdout.write(JSON.stringify((await acts[what]?.()) ?? {}));
} catch (error) {
  if (!(error instanceof StatusError)) throw error;
  process.stdout.write(JSON.stringify({ error: error.reason }));
}
await real.close();

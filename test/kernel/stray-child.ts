import { setTimeout as delay } from 'node:timers/promises';
import { createLog } from '../../src/kernel/log.ts';
import { hearStrayErrors } from '../../src/kernel/stray-errors.ts';

/** A process that fails in the way its first argument names. */

const closings: Record<string, () => Promise<unknown>> = {
  throws: async () => process.stdout.write('closed\n'),
  closesNever: () => new Promise(() => {}),
  closesWrongly: async () => {
    setImmediate(() => {
      throw new Error('while it closes');
    });
    await delay(60_000);
  },
};

const what = process.argv[2]!;
hearStrayErrors({
  log: createLog({ level: 'info', pretty: false }),
  close: closings[what] ?? (async () => {}),
  closeMs: 200,
});
if (what === 'rejects') {
  void Promise.reject(new Error('nobody awaits this'));
  await delay(50);
  process.stdout.write('goes on\n');
} else {
  setImmediate(() => {
    throw new Error('out of a callback');
  });
  // Keeps the process running.
  setTimeout(() => {}, 60_000);
}

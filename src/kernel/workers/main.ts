import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { type FromWorker, type Job, type ToWorker, toWire } from './job.ts';

/**
 * A worker process. It runs one job after the other for the pool that started it, and ends with the pool. It must write
 * only to files that it received open for that purpose, and must keep no data of a job when the next one begins.
 */

/** The number of items in flight of the current stream. */
const passing = { ahead: 0, taken: () => {} };

process.on('message', (message: ToWorker) => {
  if (message.kind === 'run') void run(message);
  else {
    passing.ahead -= 1;
    passing.taken();
  }
});
process.once('disconnect', () => process.exit());

async function run({ module, name, input, ahead }: ToWorker & { kind: 'run' }): Promise<void> {
  try {
    const { [name]: found } = (await import(module)) as Record<string, Job<unknown, unknown> | undefined>;
    // Flush now, because the worker may be killed at the end of its job.
    flushCompileCache();
    if (found?.name !== name) throw new Error(`${module} exports no job ${name}`);
    const result = found.work(input);
    if (ahead !== undefined) await passOn(result as AsyncIterable<unknown>, ahead);
    post({ kind: 'done', result: ahead === undefined ? await result : undefined });
  } catch (error) {
    post({ kind: 'failed', error: toWire(error) });
  }
}

async function passOn(items: AsyncIterable<unknown>, ahead: number): Promise<void> {
  passing.ahead = 0;
  for await (const item of items) {
    post({ kind: 'item', item });
    passing.ahead += 1;
    if (passing.ahead >= ahead) await new Promise<void>((resolve) => (passing.taken = resolve));
  }
}

function post(message: FromWorker): void {
  process.send?.(message);
}

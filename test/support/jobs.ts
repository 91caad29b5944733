import { readSync, writeSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { StatusError } from '../../src/kernel/status.ts';
import { job } from '../../src/kernel/workers/job.ts';

/** Jobs that behave as real ones do on hostile input. */

export const double = job(import.meta.url, 'double', (number: number) => number * 2);

export const whoAmI = job(import.meta.url, 'whoAmI', () => ({
  pid: process.pid,
  environment: Object.keys(process.env),
}));

export const refuse = job(import.meta.url, 'refuse', (path: string): never => {
  throw new StatusError('INVALID_ARGUMENT', 'BAD_ARCHIVE', 'The archive is damaged.', { metadata: { path } });
});

export const spin = job(import.meta.url, 'spin', (): never => {
  for (;;);
});

export const eatHeap = job(import.meta.url, 'eatHeap', (): never => {
  const eaten: unknown[] = [];
  for (;;) eaten.push(Array.from({ length: 1000 }).fill(1));
});

export const eatBuffers = job(import.meta.url, 'eatBuffers', async (): Promise<never> => {
  const eaten: Buffer[] = [];
  for (;;) {
    eaten.push(Buffer.alloc(16 * 2 ** 20, 1));
    await delay(5);
  }
});

export const never = job(import.meta.url, 'never', () => new Promise<never>(() => {}));

export const writeSomewhere = job(import.meta.url, 'writeSomewhere', async (path: string) => {
  const { writeFile } = await import('node:fs/promises');
  await writeFile(path, 'x');
});

export const readSomewhere = job(import.meta.url, 'readSomewhere', async (path: string) => {
  const { readFile } = await import('node:fs/promises');
  return (await readFile(path)).length;
});

export const firstBytes = job(import.meta.url, 'firstBytes', (length: number) => {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(4, bytes, 0, length, 0)).toString();
});

export const countTo = job(import.meta.url, 'countTo', async function* countTo(most: number) {
  for (let number = 1; number <= most; number++) yield number;
});

/** Yields its standard input as text. */
export const readInput = job(import.meta.url, 'readInput', async function* readInput() {
  for await (const chunk of process.stdin) yield String(chunk);
});

/** Writes a byte to its open file (descriptor 4) after each item. */
export const writeSteps = job(import.meta.url, 'writeSteps', async function* writeSteps(steps: number) {
  for (let step = 0; step < steps; step++) {
    yield step;
    writeSync(4, 'x');
  }
});

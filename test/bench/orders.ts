import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

/** What a process is told: to be busy, or to have nothing to do. */
export interface Order {
  busy: boolean;
}

/** So long in a row, and half of the time. */
export const BUSY_MS = 50;

/** Does as it is told from now on. */
export function followOrders(): void {
  let isBusy = false;
  process.on('message', ({ busy }: Order) => {
    if (busy && !isBusy) void work(() => isBusy);
    isBusy = busy;
  });
}

async function work(goesOn: () => boolean): Promise<void> {
  do {
    for (const end = performance.now() + BUSY_MS; performance.now() < end;);
    await delay(BUSY_MS);
  } while (goesOn());
}

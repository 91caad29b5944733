import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';

/** An order to a process: to be busy, or to be idle. */
export interface Order {
  busy: boolean;
}

/** The length of a busy period, ms. A busy process works half of the time. */
export const BUSY_MS = 50;

/** Follows orders from now on. */
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

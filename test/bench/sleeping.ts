import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { message, startChild } from './children.ts';
import { inFolder, openControl, readyGames } from './control.ts';
import { median, type Report } from './figures.ts';
import { prepareService } from './service.ts';

const SLEEPING = 10_000;
const RUNS = 3;
const STATUS_BYTES = 1_024;

interface Memory {
  rss: number;
  heapUsed: number;
}

/**
 * Measures the memory of a sleeping server: the service's parts in a process of their own, with and without the
 * servers. The resident size beyond the heap is space that reading all servers at the start used, and that the runtime
 * keeps.
 */
export async function run(report: Report): Promise<void> {
  const none = await measured(0, '');
  for (const [kind, lastStatus] of [
    ['never woken', ''],
    ['1 KB of last status', JSON.stringify({ description: 'x'.repeat(STATUS_BYTES) })],
  ] as const) {
    report.progress(`${SLEEPING} servers, ${kind}`);
    const some = await measured(SLEEPING, lastStatus);
    const note = `${SLEEPING} of them, median of ${RUNS} processes`;
    report.row({
      figure: `sleeping server, ${kind}, heap`,
      value: (some.heapUsed - none.heapUsed) / SLEEPING,
      unit: 'B',
      note,
    });
    report.row({
      figure: `sleeping server, ${kind}, RSS`,
      value: (some.rss - none.rss) / SLEEPING,
      unit: 'B',
    });
  }
}

function measured(servers: number, lastStatus: string): Promise<Memory> {
  return inFolder(async (folder) => {
    await prepareService(folder, { servers }, { lastStatus });
    const all: Memory[] = [];
    for (let round = 0; round < RUNS; round++) {
      const child = startChild(1, process.execPath, ['--expose-gc', import.meta.filename, 'control', folder]);
      all.push(await message<Memory>(child));
      child.kill();
    }
    return { rss: median(all.map(({ rss }) => rss)), heapUsed: median(all.map(({ heapUsed }) => heapUsed)) };
  });
}

async function beControl(folder: string): Promise<void> {
  const control = await openControl(folder, readyGames({ host: '127.0.0.1', port: 1 }));
  // Free memory that only the start needed.
  for (let round = 0; round < 4; round++) {
    global.gc?.();
    await delay(100);
  }
  process.send?.(process.memoryUsage());
  await control.close();
}

const [, file, role, argument = ''] = process.argv;
if (file === import.meta.filename && role === 'control') await beControl(argument);

import { setTimeout as delay } from 'node:timers/promises';
import { LaunchRefused } from './environment.ts';
import { type Faults, allocateUntilKilled, CRASH_AT_START_STACK, OUT_OF_MEMORY_STACK } from './faults.ts';
import type { Log } from './log.ts';

const STEPS = 12;

/**
 * The part of a start in which a vanilla server makes the land around the spawn. There is nothing to make here: it
 * takes as long, and goes as wrong, as `faults` says. Throws LaunchRefused for a start that is to fail.
 */
export async function prepareSpawnArea(faults: Faults, log: Log): Promise<void> {
  const begunAt = performance.now();
  log.info('Preparing start region for dimension minecraft:overworld');
  if (faults.crashAtStart) throw new LaunchRefused(`Encountered an unexpected exception\n${CRASH_AT_START_STACK}`);
  if (faults.outOfMemory === 'report')
    throw new LaunchRefused(`Encountered an unexpected exception\n${OUT_OF_MEMORY_STACK}`);
  if (faults.outOfMemory !== '') {
    allocateUntilKilled(faults.outOfMemory);
    await never();
  }
  const shown = faults.startMs > 0 || faults.neverReady ? STEPS : 1;
  for (let step = 0; step < shown; step++) {
    log.info(`Preparing spawn area: ${Math.round((step / STEPS) * 100)}%`, 'Worker-Main-1');
    if (faults.startMs > 0) await delay(faults.startMs / STEPS);
  }
  if (faults.neverReady) await never();
  log.info('Preparing spawn area: 100%', 'Worker-Main-1');
  log.info(`Time elapsed: ${Math.round(performance.now() - begunAt)} ms`);
}

/** Also keeps the process from ending for want of anything to do. */
function never(): Promise<never> {
  return new Promise(() => setInterval(() => undefined, 60_000));
}

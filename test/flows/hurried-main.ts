/**
 * `node hurried-main.ts <epoch ms> [times] [shown]` starts the service like `src/main.ts`, with a clock that runs
 * `times` as fast as the machine's. At `epoch ms` of the machine's clock it shows `shown` (epoch ms), by default the
 * same time. The clock also advances while the service is dead.
 */
import process from 'node:process';
import { startApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import { createLog } from '../../src/kernel/log.ts';

const MAX_DELAY_MS = 2 ** 31 - 1;
const [begun = 0, speed = 1, shown = begun] = process.argv.slice(2).map(Number);

const now = () => Math.floor(shown + (Date.now() - begun) * speed);
const clock = {
  now,
  at(at: number, fire: () => void) {
    const timer = setTimeout(fire, Math.min(Math.max(0, at - now()) / speed, MAX_DELAY_MS)).unref();
    return () => clearTimeout(timer);
  },
};

const config = loadConfig();
const log = createLog({ level: config.logLevel });
const app = await startApp(config, log, () => process.exit(1), { clock, monotonicMs: now });
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));

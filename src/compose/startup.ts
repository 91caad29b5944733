import type { Config } from '../config.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';

/** What every part of the service is opened with. */
export interface Startup {
  config: Config;
  log: Log;
  clock: Clock;
  onClose: OnClose;
}

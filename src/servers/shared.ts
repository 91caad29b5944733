import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';
import type { Store } from '../store/store.ts';
import type { ServeServer } from './api/operation.ts';
import type { Servers } from './servers.ts';

/** The dependencies of the parts without operations. */
export interface Base {
  store: Store;
  servers: Servers;
  clock: Clock;
  log: Log;
}

/** The dependencies shared by all rooms that concern servers. */
export interface Shared extends Base {
  serveServer: ServeServer;
  onClose: OnClose;
}

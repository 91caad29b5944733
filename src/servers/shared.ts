import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';
import type { Store } from '../store/store.ts';
import type { ServeServer } from './api/operation.ts';
import type { Servers } from './servers.ts';

/** The dependencies shared by all rooms that concern servers. */
export interface Shared {
  store: Store;
  servers: Servers;
  serveServer: ServeServer;
  clock: Clock;
  log: Log;
  onClose: OnClose;
}

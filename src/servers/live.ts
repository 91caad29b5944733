import type { ServerCommand } from '../../machines/server-types.ts';
import type { ServerNow } from './server-now.ts';

/** The servers that may be awake, and the way to tell them something. */
export interface LiveServers {
  live(): ServerNow[];
  send(id: string, command: ServerCommand): Promise<unknown>;
}

import type { ServerCommand } from '../../machines/server-types.ts';
import type { ServerNow } from './server-now.ts';

/** The servers that may be awake, and a way to send them commands. */
export interface LiveServers {
  live(): ServerNow[];
  send(id: string, command: ServerCommand): Promise<unknown>;
}

import type { Cause, ServerCommand, ServerContext, ServerState } from '../../machines/server-types.ts';
import type { ServerRow } from './rows.ts';

/** A server as the meter sees it: what its owner set, and what its run shows. */
export interface LiveServer {
  row: ServerRow;
  state: ServerState;
  context: ServerContext;
}

/** One step of a server's machine. */
export interface LiveStep {
  at: number;
  event: string;
  from: string;
  to: string;
  cause: Cause;
}

/** The servers that may be awake, and the way to tell them something. */
export interface LiveServers {
  live(): LiveServer[];
  send(id: string, command: ServerCommand): Promise<unknown>;
}

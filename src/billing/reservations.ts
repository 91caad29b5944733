import type { ServerContext, ServerState } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import type { ServerRow } from '../servers/rows.ts';

/** The part of a server that decides its reservation. */
export interface Reserving {
  row: Pick<ServerRow, 'id' | 'accountId' | 'ramMb'> & Partial<Pick<ServerRow, 'region'>>;
  state: ServerState;
  context: Pick<ServerContext, 'queued' | 'wokenAt'>;
}

/** The total reservations of servers. */
export interface Load {
  servers: number;
  ramMb: number;
  /** In cores. */
  cpus: number;
}

/**
 * Reports whether a server reserves RAM and CPU: from the command that wakes it or queues its start until all its parts
 * have ended. After a failure, that includes the removal of parts that may hang.
 */
export function reserves({ state, context }: Reserving): boolean {
  return isTagged(state, 'holds-place') || context.queued !== null || context.wokenAt !== null;
}

/** Returns the total reservations. Servers at rest have none. */
export function loadOf(servers: readonly Reserving[], cpusFor: (ramMb: number, region?: string) => number): Load {
  const load: Load = { servers: 0, ramMb: 0, cpus: 0 };
  for (const server of servers) {
    if (!reserves(server)) continue;
    load.servers += 1;
    load.ramMb += server.row.ramMb;
    load.cpus += cpusFor(server.row.ramMb, server.row.region);
  }
  return load;
}

import type { ServerNow } from '../actors/effect-host.ts';
import { StatusError } from '../status.ts';
import { getServer } from '../store/servers.ts';
import type { Tx } from '../store/store.ts';

const AT_REST = new Set(['hibernated', 'start_failed', 'install_failed']);

/** FAILED_PRECONDITION SERVER_NOT_STOPPED unless the server is at rest. `what` is to be changed: "its version". */
export function requireStopped({ row, state }: Pick<ServerNow, 'row' | 'state'>, what: string): void {
  if (!AT_REST.has(state)) throw notStopped(row.id, state, what);
}

/** The same in the write of the change: a start that was stored since the question was first asked has come before it. */
export async function stillStopped(tx: Tx, id: string, what: string): Promise<void> {
  const row = await getServer(tx, id);
  if (row && !AT_REST.has(row.state)) throw notStopped(id, row.state, what);
}

function notStopped(server: string, state: string, what: string): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'SERVER_NOT_STOPPED', `Stop the server, then change ${what}.`, {
    metadata: { server, state },
  });
}

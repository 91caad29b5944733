import type { ServerContext, ServerState } from '../../machines/server-types.ts';
import type { ServerRow } from './rows.ts';

/** One server now: its owner's settings (`row`) and its run (`state`, `context`). */
export interface ServerNow {
  row: ServerRow;
  state: ServerState;
  context: ServerContext;
}

/** Whether the server is queued for room to start. */
export function waitsForRoom({ state, context }: Pick<ServerNow, 'state' | 'context'>): boolean {
  return state === 'start_failed' && context.noRoom !== null;
}

/** Changed fields of a server's row. A function computes them in the write, from the row at that time. */
export type RowChange = Partial<ServerRow> | ((row: ServerRow) => Partial<ServerRow>);

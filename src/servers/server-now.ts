import type { ServerContext, ServerState } from '../../machines/server-types.ts';
import type { ServerRow } from './rows.ts';

/** One server as it is now: what its owner set (`row`) and what its run shows (`state`, `context`). */
export interface ServerNow {
  row: ServerRow;
  state: ServerState;
  context: ServerContext;
}

/** Whether it stands in line for room to start in. */
export function waitsForRoom({ state, context }: Pick<ServerNow, 'state' | 'context'>): boolean {
  return state === 'start_failed' && context.noRoom !== null;
}

/** Fields of a server's row; those that follow from others are asked for in the write, of the row as it is by then. */
export type RowChange = Partial<ServerRow> | ((row: ServerRow) => Partial<ServerRow>);

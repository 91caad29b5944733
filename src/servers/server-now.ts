import type { ServerContext, ServerState } from '../../machines/server-types.ts';
import type { ServerRow } from './rows.ts';

/** One server as it is now: what its owner set (`row`) and what its run shows (`state`, `context`). */
export interface ServerNow {
  row: ServerRow;
  state: ServerState;
  context: ServerContext;
}

/** Fields of a server's row; those that follow from others are asked for in the write, of the row as it is by then. */
export type RowChange = Partial<ServerRow> | ((row: ServerRow) => Partial<ServerRow>);

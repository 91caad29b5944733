import type { ServerContext, ServerEvent, ServerState } from '../../machines/server-types.ts';
import type { Tx } from '../store/store.ts';
import type { ServerRow } from './rows.ts';

/** One server as it is now: what its owner set (`row`) and what its run shows (`state`, `context`). */
export interface ServerNow {
  row: ServerRow;
  state: ServerState;
  context: ServerContext;
}

/** Fields of a server's row; those that follow from others are asked for in the write, of the row as it is by then. */
export type RowChange = Partial<ServerRow> | ((row: ServerRow) => Partial<ServerRow>);

/** What the effects may know of the actors they belong to. */
export interface EffectHost {
  /** Resolves once the snapshot that started the calling effect is stored. */
  committed(id: string, signal?: AbortSignal): Promise<void>;
  /** Says something to a live actor; ignored where it has gone. */
  tell(id: string, fact: ServerEvent): void;
  now(id: string): ServerNow | undefined;
  /** `also` runs in the same write. */
  patch(id: string, change: RowChange, also?: (tx: Tx) => Promise<void>): Promise<void>;
}

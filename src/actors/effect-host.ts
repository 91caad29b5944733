import type { ServerContext, ServerEvent, ServerState } from '../../machines/server-types.ts';
import type { ServerRow } from '../store/rows.ts';
import type { Tx } from '../store/store.ts';

/** One server as it is now: what its owner set (`row`) and what its run shows (`state`, `context`). */
export interface ServerNow {
  row: ServerRow;
  state: ServerState;
  context: ServerContext;
}

/** What the effects may know of the actors they belong to. */
export interface EffectHost {
  /** Resolves once the snapshot that started the calling effect is stored. */
  committed(id: string, signal?: AbortSignal): Promise<void>;
  /** Says something to a live actor; ignored where it has gone. */
  tell(id: string, fact: ServerEvent): void;
  now(id: string): ServerNow | undefined;
  /** `also` runs in the same write. */
  patch(id: string, fields: Partial<ServerRow>, also?: (tx: Tx) => Promise<void>): Promise<void>;
}

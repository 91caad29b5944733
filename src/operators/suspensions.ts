import { StatusError } from '../kernel/status.ts';
import type { Store, Tx } from '../store/store.ts';
import { type SuspensionRow, deleteSuspension, listSuspensions, saveSuspension } from './suspension-rows.ts';

/** The servers that operators keep from waking, in memory, so that they can be asked for between two turns. */
export interface Suspensions {
  of(serverId: string): SuspensionRow | undefined;
  /** Stores it; in force from the commit on. `also` runs in the same write. */
  set(row: SuspensionRow, also: (tx: Tx) => Promise<void>): Promise<void>;
  /** Ends it; `also` runs in the same write, if there was one. */
  lift(serverId: string, also: (tx: Tx) => Promise<void>): Promise<void>;
  /** Throws FAILED_PRECONDITION SERVER_SUSPENDED, with the reason, for a server that is suspended. */
  admit(serverId: string): void;
  /** The server is gone. */
  forget(serverId: string): void;
}

export async function openSuspensions(store: Store): Promise<Suspensions> {
  const suspended = new Map<string, SuspensionRow>();
  for (const row of await listSuspensions(store)) suspended.set(row.serverId, row);

  return {
    of: (serverId) => suspended.get(serverId),
    async set(row, also) {
      await store.write(async (tx) => {
        await saveSuspension(tx, row);
        await also(tx);
      });
      suspended.set(row.serverId, row);
    },
    async lift(serverId, also) {
      await store.write(async (tx) => {
        if (await deleteSuspension(tx, serverId)) await also(tx);
      });
      suspended.delete(serverId);
    },
    admit(serverId) {
      const found = suspended.get(serverId);
      if (found === undefined) return;
      const message = `The server is suspended by the operator: ${found.reason}`;
      const violations = [{ type: 'SUSPENSION', subject: `server:${serverId}`, description: message }];
      throw new StatusError('FAILED_PRECONDITION', 'SERVER_SUSPENDED', message, {
        metadata: { server: serverId, reason: found.reason },
        details: [{ '@type': 'type.googleapis.com/google.rpc.PreconditionFailure', violations }],
      });
    },
    forget: (serverId) => void suspended.delete(serverId),
  };
}

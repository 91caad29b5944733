import type { Cause } from '../../machines/server-types.ts';
import { reserves } from '../billing/reservations.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError, preconditionFailure } from '../kernel/status.ts';
import { waitsForRoom } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import { INSTALLS, WAKES } from '../servers/wake-checks.ts';
import { createRowCache } from '../store/row-cache.ts';
import type { Store, Tx } from '../store/store.ts';
import { type SuspensionRow, deleteSuspension, listSuspensions, saveSuspension } from './suspension-rows.ts';

/** The servers that operators keep from waking, in memory, so that a check needs no query. */
export interface Suspensions {
  of(serverId: string): SuspensionRow | undefined;
  /** Tells each server that is suspended, or is not any more. Returns the cancellation. */
  follow(listener: (serverId: string) => void): () => void;
  /** Stores a suspension, in force from the commit on. `also` runs in the same write. */
  set(row: SuspensionRow, also: (tx: Tx) => Promise<void>): Promise<void>;
  /** Ends a suspension. `also` runs in the same write, if there was one. */
  lift(serverId: string, also: (tx: Tx) => Promise<void>): Promise<void>;
}

export interface SuspensionsOptions {
  store: Store;
  clock: Clock;
  servers: Pick<Servers, 'live' | 'send' | 'observe' | 'checkWakes'>;
}

/**
 * Keeps suspended servers from waking and installing from now on, FAILED_PRECONDITION SERVER_SUSPENDED with the reason, and
 * stops those that run: the process may have died between the decision and the stop.
 */
export async function openSuspensions({ store, clock, servers }: SuspensionsOptions): Promise<Suspensions> {
  const suspended = createRowCache(store, await listSuspensions(store), (row) => [row.serverId, row]);
  const listeners = new Set<(serverId: string) => void>();
  const tell = (serverId: string) => listeners.forEach((listener) => listener(serverId));
  servers.observe((id, now) => {
    if (now === null || now.state === 'deleting') suspended.forget(id);
  });
  servers.checkWakes(
    async () =>
      ({ row: { id } }) => {
        const found = suspended.of(id);
        if (found !== undefined) throw isSuspended(found);
      },
    [...WAKES, ...INSTALLS],
  );
  for (const now of servers.live()) {
    const { row, state } = now;
    const found = suspended.of(row.id);
    if (found === undefined || state === 'deleting' || !(reserves(now) || waitsForRoom(now))) continue;
    const cause: Cause = { kind: 'operator', id: found.userId, note: `suspended: ${found.reason}` };
    await servers.send(row.id, { type: 'STOP', at: clock.now(), cause });
  }

  return {
    of: (serverId) => suspended.of(serverId),
    follow(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async set(row, also) {
      await suspended.set(row.serverId, row, async (tx) => {
        await saveSuspension(tx, row);
        await also(tx);
      });
      tell(row.serverId);
    },
    async lift(serverId, also) {
      await suspended.delete(serverId, async (tx) => {
        if (await deleteSuspension(tx, serverId)) await also(tx);
      });
      tell(serverId);
    },
  };
}

function isSuspended({ serverId, reason }: SuspensionRow): StatusError {
  const message = `The server is suspended by the operator: ${reason}`;
  return new StatusError('FAILED_PRECONDITION', 'SERVER_SUSPENDED', message, {
    metadata: { server: serverId, reason },
    details: [preconditionFailure('SUSPENSION', `server:${serverId}`, message)],
  });
}

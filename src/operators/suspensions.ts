import type { Cause } from '../../machines/server-types.ts';
import { reserves } from '../billing/reservations.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError, preconditionFailure } from '../kernel/status.ts';
import { type ServerNow, waitsForRoom } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import { WAKES_AND_INSTALLS, type WakeRule } from '../servers/wake-checks.ts';
import { type RowCache, openRowCache } from '../store/row-cache.ts';
import type { Store, Tx } from '../store/store.ts';
import { type SuspensionRow, deleteSuspension, listSuspensions, saveSuspension } from './suspension-rows.ts';

/** Servers that operators keep from waking, in memory, so that a check needs no query. */
export class Suspensions {
  readonly #suspended: RowCache<string, SuspensionRow>;
  readonly #listeners = new Set<(serverId: string) => void>();

  private constructor(suspended: RowCache<string, SuspensionRow>) {
    this.#suspended = suspended;
  }

  /** Opens suspensions. Stops suspended servers that run: the process may have died between the decision and the stop. */
  static async open(store: Store, clock: Clock, servers: Servers): Promise<Suspensions> {
    const suspended = await openRowCache(store, listSuspensions, (row) => [row.serverId, row]);
    servers.observe((id, now) => {
      if (now === null || now.state === 'deleting') suspended.forget(id);
    });
    for (const now of servers.live()) {
      const { row, state } = now;
      const found = suspended.of(row.id);
      if (found === undefined || state === 'deleting' || !(reserves(now) || waitsForRoom(now))) continue;
      const cause: Cause = { kind: 'operator', id: found.userId, note: `suspended: ${found.reason}` };
      await servers.send(row.id, { type: 'STOP', at: clock.now(), cause });
    }
    return new Suspensions(suspended);
  }

  /** Refuses suspended servers with FAILED_PRECONDITION SERVER_SUSPENDED and the reason. */
  get wakeRule(): WakeRule {
    const check = async () => (now: ServerNow) => {
      const found = this.of(now.row.id);
      if (found !== undefined) throw isSuspended(found);
    };
    return { check, commands: WAKES_AND_INSTALLS };
  }

  of(serverId: string): SuspensionRow | undefined {
    return this.#suspended.of(serverId);
  }

  /** Reports each server that is suspended or released. Returns a function that removes the listener. */
  follow(listener: (serverId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stores a suspension, effective from the commit. `also` runs in the same write. */
  async set(row: SuspensionRow, also: (tx: Tx) => Promise<void>): Promise<void> {
    await this.#suspended.set(row.serverId, row, async (tx) => {
      await saveSuspension(tx, row);
      await also(tx);
    });
    this.#notify(row.serverId);
  }

  /** Ends a suspension. `also` runs in the same write, if there was one. */
  async lift(serverId: string, also: (tx: Tx) => Promise<void>): Promise<void> {
    await this.#suspended.delete(serverId, async (tx) => {
      if (await deleteSuspension(tx, serverId)) await also(tx);
    });
    this.#notify(serverId);
  }

  #notify(serverId: string): void {
    for (const listener of this.#listeners) listener(serverId);
  }
}

function isSuspended({ serverId, reason }: SuspensionRow): StatusError {
  const message = `The server is suspended by the operator: ${reason}`;
  return new StatusError('FAILED_PRECONDITION', 'SERVER_SUSPENDED', message, {
    metadata: { server: serverId, reason },
    details: [preconditionFailure('SUSPENSION', `server:${serverId}`, message)],
    words: { player: 'This server is suspended by the host. Ask its owner.', list: '§7Suspended by the host' },
  });
}

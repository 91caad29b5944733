import type { Disk } from '../jail/space.ts';
import type { Clock } from '../kernel/clock.ts';
import { type RefusalWords, StatusError, quotaExceeded } from '../kernel/status.ts';
import { MIB } from '../kernel/units.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { DiskUsage } from './usage.ts';

/** The part of a server that determines its quota. */
export type Quoted = Pick<ServerRow, 'id' | 'accountId' | 'ramMb'>;

export interface ReservationsOptions {
  clock: Clock;
  usage: DiskUsage;
  /** Undefined if there is no such server. */
  find: (serverId: string) => Promise<Quoted | undefined>;
  /** A server's quota; 0: none. */
  limitMb: (server: Quoted) => number;
}

/** Minimum interval between measurements caused by refused writes. */
const AGAIN_MS = 5_000;

/**
 * Reserves the bytes of writes within their server's quota. Counts the reservations of all other writes in progress.
 */
export function createReservations({ clock, usage, find, limitMb }: ReservationsOptions): Disk {
  const reserved = new HeldBytes();

  /** Reports whether the bytes fit. A server never measured does not count as empty. */
  function fits(server: Quoted, bytes: number): boolean {
    const limit = limitMb(server) * MIB;
    if (limit === 0) return true;
    const found = usage.of(server.id);
    return found !== undefined && found.bytes + reserved.of(server.id) + bytes <= limit;
  }

  async function take(server: Quoted, bytes: number): Promise<void> {
    const { id } = server;
    if (!fits(server, bytes)) {
      const at = usage.of(id)?.measuredAt ?? -Infinity;
      if (!usage.isFresh(id) || Math.abs(clock.now() - at) >= AGAIN_MS) await measured(usage, id);
      if (!fits(server, bytes)) throw noRoom(id, usage.of(id)?.bytes ?? 0, limitMb(server));
    }
    reserved.add(id, bytes);
  }

  return {
    async reserve(serverId, bytes) {
      const server = await find(serverId);
      if (server === undefined) throw serverNotFound(serverId);
      // An earlier run's measurement may be outdated.
      if (limitMb(server) > 0 && usage.of(serverId) !== undefined && !usage.isFresh(serverId))
        await measured(usage, serverId);
      await take(server, bytes);
      let held = bytes;
      let settled = false;
      return {
        async grow(more) {
          if (settled) throw new Error('a settled reservation cannot grow');
          await take(server, more);
          held += more;
        },
        settle(addedBytes) {
          if (settled) return;
          settled = true;
          reserved.add(serverId, -held);
          usage.add(serverId, addedBytes);
        },
      };
    },

    async room(serverId) {
      const server = await find(serverId);
      const totalBytes = server === undefined ? 0 : limitMb(server) * MIB;
      if (totalBytes === 0) return undefined;
      const usedBytes = (usage.of(serverId)?.bytes ?? 0) + reserved.of(serverId);
      return { totalBytes, freeBytes: Math.max(0, totalBytes - usedBytes) };
    },

    freed(serverId) {
      void usage.measure(serverId).catch(() => {});
    },
  };
}

/** Measures a server's files for a call that depends on the result. Throws UNAVAILABLE DISK_UNREADABLE. */
export async function measured(usage: DiskUsage, serverId: string): Promise<void> {
  try {
    await usage.measure(serverId);
  } catch (cause) {
    if (cause instanceof StatusError) throw cause;
    const message = 'The files of the server cannot be read right now. Try again.';
    throw new StatusError('UNAVAILABLE', 'DISK_UNREADABLE', message, { cause });
  }
}

/** The error for a call that needs more space than is left. */
function noRoom(serverId: string, usedBytes: number, quotaMb: number): StatusError {
  const { subject, message, metadata } = quotaState(serverId, usedBytes, quotaMb, 'Delete files first.');
  return quotaExceeded('DISK_QUOTA_EXCEEDED', subject, message, metadata);
}

/** Returns a server's use and quota for an error. */
export function quotaState(serverId: string, usedBytes: number, quotaMb: number, advice: string) {
  const usedMb = mbOf(usedBytes);
  const message = `The server uses ${usedMb} MB of disk. Its quota is ${quotaMb} MB. ${advice}`;
  const metadata = { server: serverId, usedMb: String(usedMb), quotaMb: String(quotaMb) };
  return { subject: `server:${serverId}`, message, metadata };
}

/** Returns the words for a start that a full disk refuses. `by`: the role that can delete files. */
export function diskFull(player: string, title: string, by: 'owner' | 'member'): RefusalWords {
  return {
    player,
    list: '§7Asleep: §fits disk is full',
    owner: { title, mend: [by, 'files', 'delete something'], others: 'ask its owner to free some space' },
  };
}

/** Converts to MB, rounded up. */
export function mbOf(bytes: number): number {
  return Math.ceil(bytes / MIB);
}

/** Reserved bytes of writes in progress, by holder. In memory only: after a restart, the files show the result. */
export class HeldBytes {
  readonly #held = new Map<string, number>();

  of(holder: string): number {
    return this.#held.get(holder) ?? 0;
  }

  /** Negative: releases bytes. */
  add(holder: string, bytes: number): void {
    const held = this.of(holder) + bytes;
    if (held > 0) this.#held.set(holder, held);
    else this.#held.delete(holder);
  }
}

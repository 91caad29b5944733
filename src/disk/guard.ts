import type { Cause } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import { MIB } from '../kernel/units.ts';
import { type LastCallOptions, createLastCalls } from '../servers/last-call.ts';
import type { LiveServers } from '../servers/live.ts';
import type { ServerNow } from '../servers/server-now.ts';

/** Sees to it that no server goes on growing beyond its disk quota. */
export interface DiskGuard {
  /** To be called when a server was measured, or its quota has changed. `wasOver`: whether it was over its quota before. */
  look(serverId: string, wasOver: boolean): Promise<void>;
  close(): void;
}

export interface DiskGuardOptions extends LastCallOptions {
  servers: LiveServers & { get(id: string): Promise<ServerNow | undefined> };
  quota: {
    /** 0: none. */
    limitBytes(row: ServerNow['row']): number;
    /** By how much the server is over its quota; negative: it is not. */
    overBytes(row: ServerNow['row']): number;
  };
  /** Called when a server has come to be over its quota, or is so no longer. */
  changed: (server: ServerNow, over: boolean) => Promise<void>;
}

/** From the warning in chat to the stop: to find a place to stand, and no more, since the game goes on writing. */
const DISK_GRACE_MS = 10_000;
/** A server so far above its quota is stopped at once, without the rest of its grace. */
const HURRY = { share: 0.05, bytes: 64 * MIB };
/** A server so far above its quota that still writes while it stops is killed. */
const KILL = { share: 0.25, bytes: 512 * MIB };
const CAUSE: Cause = { kind: 'system', id: 'quota', note: 'its disk quota is exceeded' };
const WARNING = "This server's disk is full. It saves and goes to sleep in 10 seconds.";

/**
 * A server that is over its quota warns its players, saves, and stops, at once if it grows fast; a stop during which it
 * still grows far is cut off. A game that obeys ends within 5 % (at least 64 MB) of its quota and what it writes until it
 * is looked at again and has stopped; one that does not, within 25 % (at least 512 MB) and a look.
 */
export function createDiskGuard(options: DiskGuardOptions): DiskGuard {
  const { servers, quota, log, clock, changed } = options;
  const lastCalls = createLastCalls(options);

  async function look(serverId: string, wasOver: boolean): Promise<void> {
    const now = await servers.get(serverId);
    if (now === undefined) return lastCalls.cancel(serverId);
    const over = quota.overBytes(now.row) > 0;
    if (over !== wasOver) await changed(now, over);
    if (over) await enforce(now);
    else lastCalls.cancel(serverId);
  }

  async function enforce({ row, state, context }: ServerNow): Promise<void> {
    const { id } = row;
    if (state === 'stopping' && !context.kill && beyond(row, KILL)) return give(id, 'KILL');
    if (isTagged(state, 'preparing')) return give(id, 'STOP');
    if (state !== 'running') return;
    if (!lastCalls.has(id)) {
      log.info({ server: id, overBytes: quota.overBytes(row) }, 'a server is over its disk quota and stops');
      await lastCalls.begin(id, {
        graceMs: DISK_GRACE_MS,
        warning: WARNING,
        servers: () => servers.live().filter((each) => each.row.id === id && each.state === 'running'),
        cause: async () => (quota.overBytes(row) > 0 ? CAUSE : undefined),
      });
    }
    if (beyond(row, HURRY)) lastCalls.cutShort(id);
  }

  function beyond(row: ServerNow['row'], { share, bytes }: typeof HURRY): boolean {
    return quota.overBytes(row) > Math.max(bytes, quota.limitBytes(row) * share);
  }

  /** A server that has gone on by itself meanwhile is looked at again. */
  async function give(id: string, type: 'STOP' | 'KILL'): Promise<void> {
    try {
      await servers.send(id, { type, at: clock.now(), cause: CAUSE });
    } catch (error) {
      log.warn({ server: id, err: error }, 'a server over its disk quota was not stopped yet');
    }
  }

  return { look, close: () => lastCalls.close() };
}

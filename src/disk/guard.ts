import type { Cause } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import { MIB } from '../kernel/units.ts';
import { type LastCallOptions, createLastCalls } from '../servers/last-call.ts';
import type { LiveServers } from '../servers/live.ts';
import type { ServerNow } from '../servers/server-now.ts';

/** Sees to it that no server goes on growing beyond its disk quota. */
export interface DiskGuard {
  /**
   * To be called when a server was measured, or its quota has changed. `wasOver`: whether it was over its quota before. `grew`:
   * whether it has gone on to grow since its account takes more than it may.
   */
  look(serverId: string, before: { wasOver: boolean; grew: boolean }): Promise<void>;
  close(): void;
}

export interface DiskGuardOptions extends LastCallOptions {
  servers: LiveServers & { get(id: string): Promise<ServerNow | undefined> };
  quota: {
    /** 0: none. */
    limitBytes(row: ServerNow['row']): number;
    /** Returns by how much the server is over its quota; negative if it is not. */
    overBytes(row: ServerNow['row']): number;
  };
  /** The same of all that its account has. */
  accounts: { limitBytes: number; overBytes(accountId: string): number };
  /** Called when a server is over its quota, or under it again. */
  changed: (server: ServerNow, over: boolean) => Promise<void>;
}

/** From the warning in chat to the stop: to find a place to stand, and no more, since the game goes on writing. */
const DISK_GRACE_MS = 10_000;
/** A server so far above its quota is stopped at once, without the rest of its grace. */
const HURRY = { share: 0.05, bytes: MIB };
/** A server so far above its quota that still writes while it stops is killed. */
const KILL = { share: 0.2, bytes: 8 * MIB };
const CAUSE: Cause = { kind: 'system', id: 'quota', note: 'its disk quota is exceeded' };
const ACCOUNT_CAUSE: Cause = { ...CAUSE, note: 'the disk space of its account is used up' };
const WARNING = "This server's disk is full. It saves and goes to sleep in 10 seconds.";

/** The exceeded limit. */
interface Excess {
  overBytes: number;
  limitBytes: number;
  cause: Cause;
}

/**
 * A server that is over its quota, or grows while its account takes more than it may, warns its players, saves, and stops, at once if
 * it grows fast. A stop during which it still grows far is cut off: even a game that goes on writing ends within 25 % of its quota
 * (at least 8 MB), unless it writes that much between two looks.
 */
export function createDiskGuard(options: DiskGuardOptions): DiskGuard {
  const { servers, quota, accounts, log, clock, changed } = options;
  const lastCalls = createLastCalls(options);

  async function look(serverId: string, { wasOver, grew }: { wasOver: boolean; grew: boolean }): Promise<void> {
    const now = await servers.get(serverId);
    if (now === undefined) return lastCalls.cancel(serverId);
    const over = quota.overBytes(now.row) > 0;
    if (over !== wasOver) await changed(now, over);
    const excess = excessOf(now.row);
    if (excess === undefined) lastCalls.cancel(serverId);
    // An account's servers that hardly write keep running.
    else if (over || grew) await enforce(now, excess);
  }

  function excessOf(row: ServerNow['row']): Excess | undefined {
    const own = { overBytes: quota.overBytes(row), limitBytes: quota.limitBytes(row), cause: CAUSE };
    const { limitBytes } = accounts;
    const account = { overBytes: accounts.overBytes(row.accountId), limitBytes, cause: ACCOUNT_CAUSE };
    return [own, account].find(({ overBytes }) => overBytes > 0);
  }

  async function enforce({ row, state, context }: ServerNow, excess: Excess): Promise<void> {
    const { id } = row;
    const { overBytes, cause } = excess;
    if (state === 'stopping' && !context.kill && beyond(excess, KILL)) return give(id, 'KILL', cause);
    if (isTagged(state, 'preparing')) return give(id, 'STOP', cause);
    if (state !== 'running') return;
    if (!lastCalls.has(id)) {
      log.info({ server: id, overBytes }, `a server stops: ${cause.note}`);
      lastCalls.begin(id, {
        graceMs: DISK_GRACE_MS,
        warning: WARNING,
        servers: () => servers.live().filter((each) => each.row.id === id && each.state === 'running'),
        cause: async () => excessOf(row)?.cause,
      });
    }
    if (beyond(excess, HURRY)) lastCalls.cutShort(id);
  }

  function beyond({ overBytes, limitBytes }: Excess, { share, bytes }: typeof HURRY): boolean {
    return overBytes > Math.max(bytes, limitBytes * share);
  }

  /** A server that has gone on by itself meanwhile is looked at again. */
  async function give(id: string, type: 'STOP' | 'KILL', cause: Cause): Promise<void> {
    try {
      await servers.send(id, { type, at: clock.now(), cause });
    } catch (error) {
      log.warn({ server: id, err: error }, 'a server over its disk quota was not stopped yet');
    }
  }

  return { look, close: () => lastCalls.close() };
}

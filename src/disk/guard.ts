import type { Cause } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import { MIB } from '../kernel/units.ts';
import { type LastCallOptions, LastCalls, type LiveServers } from '../servers/stopping.ts';
import type { ServerNow } from '../servers/server-now.ts';

/** Stops servers that grow beyond their disk quota. */
export interface DiskGuard {
  /**
   * Call it after a measurement or a change of the quota. `wasOver`: the server was over its quota before. `grew`: the
   * server has grown since its account exceeded the limit.
   */
  check(serverId: string, before: { wasOver: boolean; grew: boolean }): Promise<void>;
  close(): void;
}

export interface DiskGuardOptions extends LastCallOptions {
  servers: LiveServers & { get(id: string): Promise<ServerNow | undefined> };
  quota: {
    /** 0: no quota. */
    limitBytes(row: ServerNow['row']): number;
    /** Returns by how many bytes the server is over its quota; negative if it is not. */
    overBytes(row: ServerNow['row']): number;
  };
  /** The same for all servers of the account. */
  accounts: { limitBytes: number; overBytes(accountId: string): number };
  /** Called when a server is over its quota, or under it again. */
  changed: (server: ServerNow, over: boolean) => Promise<void>;
}

/**
 * Time between the warning in chat and the stop: enough to find a safe place, and no more, because the game keeps
 * writing.
 */
const DISK_GRACE_MS = 10_000;
/** Excess at which a server is stopped at once, without the rest of the grace period. */
const HURRY = { share: 0.05, bytes: MIB };
/** Excess at which a server that still writes while it stops is killed. */
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
 * Acts on a server that is over its quota, or that grows while its account is over the limit: warns the players, then
 * saves and stops the server. A fast-growing server is stopped at once, and killed if it still grows much while
 * stopping. Even a game that keeps writing ends within 25 % above its quota (at least 8 MB), unless it writes that much
 * between two measurements.
 */
export function createDiskGuard(options: DiskGuardOptions): DiskGuard {
  const { servers, quota, accounts, log, clock, changed } = options;
  const lastCalls = new LastCalls(options);

  async function check(serverId: string, { wasOver, grew }: { wasOver: boolean; grew: boolean }): Promise<void> {
    const now = await servers.get(serverId);
    if (now === undefined) return lastCalls.cancel(serverId);
    const over = quota.overBytes(now.row) > 0;
    if (over !== wasOver) await changed(now, over);
    const excess = excessOf(now.row);
    if (excess === undefined) lastCalls.cancel(serverId);
    // Servers of a full account keep running if they hardly write.
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

  /** Sends a command. If that fails because the server has moved on, the next measurement acts again. */
  async function give(id: string, type: 'STOP' | 'KILL', cause: Cause): Promise<void> {
    try {
      await servers.send(id, { type, at: clock.now(), cause });
    } catch (error) {
      log.warn({ server: id, err: error }, 'could not stop a server over its disk quota yet');
    }
  }

  return { check, close: () => lastCalls.close() };
}

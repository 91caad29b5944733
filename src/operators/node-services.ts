import { join } from 'node:path';
import type { Cause } from '../../machines/server-types.ts';
import { isTagged } from '../../machines/server.ts';
import type { Capacity } from '../billing/capacity.ts';
import { reserves } from '../billing/reservations.ts';
import type { ServerDatabases } from '../databases/databases.ts';
import type { Disks } from '../disk/disks.ts';
import { createDiskGuard } from '../disk/guard.ts';
import type { DiskQuota } from '../disk/quota.ts';
import { bytesInUse, watchDisks } from '../disk/watch.ts';
import type { Console } from '../engines/console/console.ts';
import type { Engine } from '../engines/engine.ts';
import type { CoreRules } from '../game/core-rules.ts';
import type { ServerEvents } from '../insight/events.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import { recordDeed } from '../people/audit/audit.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { Servers } from '../servers/servers.ts';
import { INSTALLS, WAKES } from '../servers/wake-checks.ts';
import type { Store } from '../store/store.ts';
import { type NodeDrain, openNodeDrain } from './node-drain.ts';
import { type Orphans, createOrphans } from './orphans.ts';
import { type Suspensions, openSuspensions } from './suspensions.ts';

/** What this node allows its servers, beside the rest of the services. */
export interface NodeServices {
  disk: DiskQuota;
  suspensions: Suspensions;
  drain: NodeDrain;
  orphans: Orphans;
  cores: CoreRules;
}

export interface NodeServicesOptions {
  store: Store;
  clock: Clock;
  log: Log;
  dataDir: string;
  nodeLabel: string;
  disk: Disks;
  engine: Pick<Engine, 'list' | 'kill' | 'erase'>;
  /** Absent where no database server is set. */
  databases?: Pick<ServerDatabases, 'orphans'> | undefined;
  servers: Servers;
  serverEvents: Pick<ServerEvents, 'publish'>;
  console: Pick<Console, 'run'>;
  rconPassword: (serverId: string) => string;
  capacity: Pick<Capacity, 'reachable'>;
  cores: CoreRules;
  /** Bytes in use on the file system of the servers. By default it is asked. */
  usedBytes?: (() => Promise<number>) | undefined;
}

/**
 * Opens what decides on this node who may wake, beside money and capacity: disk quotas, suspensions, the drain, and
 * whether the engine is there. From now on wakes are held against it, and disks are watched, until closed.
 */
export async function openNodeServices(
  options: NodeServicesOptions,
): Promise<NodeServices & { close(): Promise<void> }> {
  const { store, clock, log, dataDir, nodeLabel, servers, serverEvents, engine, databases, cores } = options;
  const { usage, quota: disk } = options.disk;
  const suspensions = await openSuspensions(store);
  const drain = await openNodeDrain(store, nodeLabel);
  const folders = { data: join(dataDir, 'servers'), backups: join(dataDir, 'backups') };
  const orphans = createOrphans({ store, engine, log, folders, databases });

  const guard = createDiskGuard({ ...options, quota: disk, changed: tellOfQuota });
  const unobserve = usage.observe((id, before) => {
    void servers
      .get(id)
      .then((now) => now && guard.look(id, disk.isOver(now.row, before)))
      .catch((error: unknown) => log.warn({ server: id, err: error }, 'a disk quota could not be enforced yet'));
  });
  const watch = watchDisks({
    clock,
    usage,
    usedBytes: options.usedBytes ?? (() => bytesInUse(folders.data)),
    watched: () =>
      servers
        .live()
        .filter(({ state }) => isTagged(state, 'holds-place'))
        .map(({ row }) => ({ serverId: row.id, leftBytes: -disk.overBytes(row) })),
  });
  const awake = new Set(servers.live().flatMap(({ row, state }) => (isTagged(state, 'holds-place') ? [row.id] : [])));
  const unwatch = servers.observe((id, now) => {
    if (now === null || now.state === 'deleting') {
      usage.forget(id);
      suspensions.forget(id);
    } else if (!isTagged(now.state, 'holds-place') && awake.delete(id)) disk.freed(id);
    else if (isTagged(now.state, 'holds-place')) awake.add(id);
  });
  const unchecks = [
    servers.checkWakes(
      async (row) => {
        await cores.require(row);
        return () => {};
      },
      [...WAKES, ...INSTALLS],
    ),
    servers.checkWakes((row) => disk.check(row), [...WAKES, ...INSTALLS]),
    servers.checkWakes((row) => options.disk.accounts.check(row.accountId), [...WAKES, ...INSTALLS]),
    servers.checkWakes(
      async () =>
        ({ row }) =>
          suspensions.admit(row.id),
      [...WAKES, ...INSTALLS],
    ),
    servers.checkWakes(async () => (now) => drain.admit(now)),
    // A player is held while the engine comes back; who asks over the API is told.
    servers.checkWakes(requireEngine, ['START', 'RESTART']),
  ];
  await stopSuspended();
  await orphans.resume();

  /** Suspended just before this process died. */
  async function stopSuspended(): Promise<void> {
    for (const now of servers.live()) {
      const { row, state } = now;
      const found = suspensions.of(row.id);
      if (found === undefined || state === 'deleting' || !reserves(now)) continue;
      const cause: Cause = { kind: 'operator', id: found.userId, note: `suspended: ${found.reason}` };
      await servers.send(row.id, { type: 'STOP', at: clock.now(), cause });
    }
  }

  async function requireEngine(): Promise<() => void> {
    if (await options.capacity.reachable()) return () => {};
    const message = `${nodeLabel} cannot be reached now, so nothing is started. Try again in a moment.`;
    throw new StatusError('UNAVAILABLE', 'NODE_UNREACHABLE', message, {
      metadata: { node: nodeLabel },
      retryAfterSeconds: 2,
    });
  }

  async function tellOfQuota({ row }: ServerNow, over: boolean): Promise<void> {
    const { diskUsageMb, diskQuotaEffectiveMb, quotaExceeded } = disk.view(row);
    serverEvents.publish(row.id, 'quota', { diskUsageMb, diskQuotaEffectiveMb, quotaExceeded });
    const { id: serverId, accountId } = row;
    const action = over ? 'server.quotaExceeded' : 'server.quotaFreed';
    const detail = `${diskUsageMb} MB of ${diskQuotaEffectiveMb} MB`;
    const deed = { action, accountId, serverId, detail, at: clock.now() };
    try {
      await store.write((tx) => recordDeed(tx, { userId: '', through: 'system quota' }, deed));
    } catch (error) {
      // A disk that is full may take no entry; the server must be stopped all the more.
      log.warn({ server: serverId, err: error }, 'that a disk quota is exceeded, or no longer, was not recorded');
    }
  }

  return {
    disk: {
      ...disk,
      async setOverride(id, quotaMb, also) {
        // What a sleeping server holds may never have been looked at; a new quota is held against what is there.
        if (quotaMb > 0) await disk.refresh(id);
        const wasOver = await isOver(id);
        await disk.setOverride(id, quotaMb, also);
        await guard.look(id, wasOver);
      },
    },
    suspensions,
    drain,
    orphans,
    cores,
    async close() {
      watch.close();
      unobserve();
      unwatch();
      for (const uncheck of unchecks) uncheck();
      guard.close();
      await usage.close();
    },
  };

  async function isOver(id: string): Promise<boolean> {
    const row = (await servers.get(id))?.row;
    return row !== undefined && disk.overBytes(row) > 0;
  }
}

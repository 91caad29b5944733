import { join } from 'node:path';
import type { OpenFiles } from '../jail/open-files.ts';
import { ENTRY_BYTES } from '../jail/space.ts';
import type { Clock } from '../kernel/clock.ts';
import { createSemaphore } from '../kernel/limits/semaphore.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import { MIB } from '../kernel/units.ts';
import { serverNotFound } from '../people/members/owned-servers.ts';
import type { Store } from '../store/store.ts';
import { listServerDisks, saveDiskUsage } from './rows.ts';
import { measureTree } from './walk.ts';

/** What a server's files take. */
export interface Usage {
  /** What counts: the larger of what is allocated and what the files say of their length. */
  bytes: number;
  /** Entries that take no block of their own, as empty files, count as one. */
  realBytes: number;
  logicalBytes: number;
  measuredAt: number;
}

/** What the files of all servers take, as last measured. */
export interface DiskUsage {
  /** Undefined: never measured. What was measured by an earlier run of the service is known, but not fresh. */
  of(serverId: string): Usage | undefined;
  /** Whether it was measured in this run, and nothing is being measured or waiting to be. */
  isFresh(serverId: string): boolean;
  /**
   * Measures by a walk that begins after this call; those who ask while one waits share it. At most two servers are
   * walked at once, and tenants take turns every few milliseconds, so that nobody waits for another's tree. Rejects where the
   * files cannot be read, with NOT_FOUND once the server is gone, or when closed.
   */
  measure(serverId: string): Promise<Usage>;
  /** Counts what has just been written, or removed, until it is measured. */
  add(serverId: string, bytes: number): void;
  /** Calls after each measurement, with what was known before. Returns the cancellation. */
  observe(listener: (serverId: string, before: Usage | undefined) => void): () => void;
  /** The server is gone. */
  forget(serverId: string): void;
  /** Stops all walks. */
  close(): Promise<void>;
}

export interface DiskUsageOptions {
  store: Store;
  clock: Clock;
  log: Log;
  dataDir: string;
  openFiles?: Pick<OpenFiles, 'deletedBytes'> | undefined;
  /** Whose server it is. Default: each is its own. */
  tenantOf?: (serverId: string) => Promise<string>;
}

/** Walks that work at the same time. */
const WALKS = 2;
/** Begun walks of one tenant: each has some descriptors open. */
const WALKS_PER_TENANT = 4;
/** A smaller change is not worth a write. */
const WORTH_BYTES = MIB;

interface Asked extends PromiseWithResolvers<Usage> {
  /** Undefined: not known yet. */
  tenant: string | undefined;
}

interface Walk {
  tenant: string;
  abort: AbortController;
  /** Written while it walks: it may have seen it or not. */
  added: number;
  done: Promise<void>;
}

/** Reads what earlier runs have measured; files are looked at when somebody asks. */
export async function openDiskUsage(options: DiskUsageOptions): Promise<DiskUsage> {
  const { store, clock, log, dataDir, openFiles, tenantOf } = options;
  const known = new Map<string, Usage>();
  const stored = new Map<string, number>();
  const fresh = new Set<string>();
  /** In the order in which they were asked for. */
  const waiting = new Map<string, Asked>();
  const walking = new Map<string, Walk>();
  const listeners = new Set<(serverId: string, before: Usage | undefined) => void>();
  const walks = createSemaphore({ atOnce: WALKS, mostWaiting: Infinity });
  let closed = false;
  for (const { serverId, realBytes, logicalBytes, measuredAt } of await listServerDisks(store)) {
    if (realBytes === null || logicalBytes === null || measuredAt === null) continue;
    const usage = usageOf(realBytes, logicalBytes, measuredAt);
    known.set(serverId, usage);
    stored.set(serverId, usage.bytes);
  }

  function measure(serverId: string): Promise<Usage> {
    if (closed) return Promise.reject(new StatusError('UNAVAILABLE', 'UNAVAILABLE', 'The service is shutting down.'));
    let asked = waiting.get(serverId);
    if (asked === undefined) {
      asked = { ...Promise.withResolvers<Usage>(), tenant: tenantOf ? undefined : serverId };
      // A caller may ask without awaiting the answer.
      asked.promise.catch(() => {});
      waiting.set(serverId, asked);
      if (tenantOf) void learnTenant(asked, tenantOf(serverId));
      else begin();
    }
    return asked.promise;
  }

  async function learnTenant(asked: Asked, tenant: Promise<string>): Promise<void> {
    // Servers of unknown tenants share one.
    asked.tenant = await tenant.catch(() => '');
    begin();
  }

  function begin(): void {
    if (closed) return;
    for (const [serverId, { tenant, ...asked }] of waiting) {
      if (tenant === undefined || walking.has(serverId) || walksOf(tenant) >= WALKS_PER_TENANT) continue;
      waiting.delete(serverId);
      const walk: Walk = { tenant, abort: new AbortController(), added: 0, done: Promise.resolve() };
      walking.set(serverId, walk);
      walk.done = run(serverId, walk).then(asked.resolve, asked.reject);
    }
  }

  function walksOf(tenant: string): number {
    return [...walking.values()].filter((walk) => walk.tenant === tenant).length;
  }

  async function run(serverId: string, walk: Walk): Promise<Usage> {
    try {
      const root = join(dataDir, 'servers', serverId);
      const { signal } = walk.abort;
      const acquire = () => walks.enter({ key: walk.tenant }, signal);
      const { realBytes, logicalBytes, entries, unread } = await measureTree(root, signal, acquire);
      if (unread > 0) log.warn({ server: serverId, unread }, 'some files of a server could not be measured');
      // Behind the walk: what is deleted during it is counted once too often, and then measured again.
      const deleted = (await openFiles?.deletedBytes(serverId, () => again(serverId))) ?? 0;
      const { added } = walk;
      const taken = Math.max(realBytes, entries * ENTRY_BYTES);
      const usage = usageOf(taken + deleted + added, logicalBytes + deleted + added, clock.now());
      const before = known.get(serverId);
      known.set(serverId, usage);
      fresh.add(serverId);
      keep(serverId, usage);
      if (added !== 0) again(serverId);
      for (const listener of listeners) listener(serverId, before);
      return usage;
    } finally {
      walking.delete(serverId);
      begin();
    }
  }

  /** Unless the server is gone. */
  function again(serverId: string): void {
    if (known.has(serverId)) void measure(serverId).catch(() => {});
  }

  function keep(serverId: string, usage: Usage): void {
    const last = stored.get(serverId);
    if (last !== undefined && Math.abs(last - usage.bytes) < WORTH_BYTES) return;
    stored.set(serverId, usage.bytes);
    store
      .write((tx) => saveDiskUsage(tx, serverId, usage))
      .catch((error: unknown) => {
        stored.delete(serverId);
        log.debug({ server: serverId, err: error }, 'what a server takes of the disk could not be stored');
      });
  }

  return {
    of: (serverId) => known.get(serverId),
    isFresh: (serverId) => fresh.has(serverId) && !walking.has(serverId) && !waiting.has(serverId),
    measure,
    add(serverId, bytes) {
      const before = known.get(serverId);
      if (before !== undefined) {
        const { realBytes, logicalBytes, measuredAt } = before;
        known.set(serverId, usageOf(realBytes + bytes, logicalBytes + bytes, measuredAt));
      }
      const walk = walking.get(serverId);
      // What went away during a walk may have gone before it was seen.
      if (walk !== undefined) walk.added += Math.max(0, bytes);
    },
    observe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    forget(serverId) {
      const gone = serverNotFound(serverId);
      waiting.get(serverId)?.reject(gone);
      waiting.delete(serverId);
      walking.get(serverId)?.abort.abort(gone);
      for (const memory of [known, stored, fresh]) memory.delete(serverId);
    },
    async close() {
      closed = true;
      const reason = new StatusError('UNAVAILABLE', 'UNAVAILABLE', 'The service is shutting down.');
      for (const { reject } of waiting.values()) reject(reason);
      waiting.clear();
      const walks = [...walking.values()];
      for (const { abort } of walks) abort.abort(reason);
      await Promise.all(walks.map(({ done }) => done));
    },
  };
}

function usageOf(realBytes: number, logicalBytes: number, measuredAt: number): Usage {
  const real = Math.max(0, realBytes);
  const logical = Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, logicalBytes));
  return { bytes: Math.max(real, logical), realBytes: real, logicalBytes: logical, measuredAt };
}

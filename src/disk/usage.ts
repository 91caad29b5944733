import { join } from 'node:path';
import type { OpenFiles } from '../jail/open-files.ts';
import { ENTRY_BYTES } from '../jail/space.ts';
import type { Clock } from '../kernel/clock.ts';
import { createSemaphore } from '../kernel/limits/semaphore.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import { MIB } from '../kernel/units.ts';
import { serverNotFound } from '../access/owned-servers.ts';
import type { Store } from '../store/store.ts';
import { listServerDisks, saveDiskUsage } from './rows.ts';
import { measureTree } from './walk.ts';

/** The disk use of a server's files. */
export interface Usage {
  /** The counted size: the larger of the allocated size and the files' lengths. */
  bytes: number;
  /** Allocated bytes. Entries without their own block, such as empty files, count as one block. */
  realBytes: number;
  logicalBytes: number;
  measuredAt: number;
}

/** Most concurrent walks. */
const WALKS = 2;
/** Most open walks of one tenant, because each walk keeps some descriptors open. */
const WALKS_PER_TENANT = 4;
/** Smaller changes are not stored. */
const WORTH_BYTES = MIB;

interface Asked extends PromiseWithResolvers<Usage> {
  /** Undefined: not known yet. */
  tenant: string | undefined;
}

interface Walk {
  tenant: string;
  abort: AbortController;
  /** Bytes written during the walk, which may or may not have counted them. */
  added: number;
  done: Promise<void>;
}

/** The disk use of all servers' files at the last measurement. */
export class DiskUsage {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #dataDir: string;
  readonly #openFiles: OpenFiles | undefined;
  readonly #tenantOf: ((serverId: string) => Promise<string>) | undefined;
  readonly #known = new Map<string, Usage>();
  readonly #stored = new Map<string, number>();
  readonly #fresh = new Set<string>();
  /** In order of request. */
  readonly #waiting = new Map<string, Asked>();
  readonly #walking = new Map<string, Walk>();
  readonly #listeners = new Set<(serverId: string, before: Usage | undefined) => void>();
  readonly #walks = createSemaphore({ atOnce: WALKS, mostWaiting: Infinity });
  #closed = false;

  /** `tenantOf` returns the tenant of a server. Default: each server is its own. */
  private constructor(
    { store, clock, log, dataDir }: { store: Store; clock: Clock; log: Log; dataDir: string },
    openFiles?: OpenFiles,
    tenantOf?: (serverId: string) => Promise<string>,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#dataDir = dataDir;
    this.#openFiles = openFiles;
    this.#tenantOf = tenantOf;
  }

  /** Loads the measurements of earlier runs. Files are measured only on request. */
  static async open(
    base: { store: Store; clock: Clock; log: Log; dataDir: string },
    openFiles?: OpenFiles,
    tenantOf?: (serverId: string) => Promise<string>,
  ): Promise<DiskUsage> {
    const disk = new DiskUsage(base, openFiles, tenantOf);
    for (const { serverId, realBytes, logicalBytes, measuredAt } of await listServerDisks(base.store)) {
      if (realBytes === null || logicalBytes === null || measuredAt === null) continue;
      const usage = usageOf(realBytes, logicalBytes, measuredAt);
      disk.#known.set(serverId, usage);
      disk.#stored.set(serverId, usage.bytes);
    }
    return disk;
  }

  /**
   * Returns the last measurement; undefined if never measured. It may be from an earlier run of the service
   * (`isFresh`).
   */
  of(serverId: string): Usage | undefined {
    return this.#known.get(serverId);
  }

  /** Reports whether the server was measured in this run, with no measurement running or waiting. */
  isFresh(serverId: string): boolean {
    return this.#fresh.has(serverId) && !this.#walking.has(serverId) && !this.#waiting.has(serverId);
  }

  /**
   * Measures by a walk that begins after this call; callers share a walk that has not begun. At most two servers are
   * walked at once, and they alternate every few milliseconds, so that no tenant waits for another's tree. Rejects if
   * the files cannot be read, with NOT_FOUND once the server is gone, or when closed.
   */
  measure(serverId: string): Promise<Usage> {
    if (this.#closed) return Promise.reject(shuttingDown());
    const tenantOf = this.#tenantOf;
    let pending = this.#waiting.get(serverId);
    if (pending === undefined) {
      pending = { ...Promise.withResolvers<Usage>(), tenant: tenantOf ? undefined : serverId };
      // Callers need not await the result.
      pending.promise.catch(() => {});
      this.#waiting.set(serverId, pending);
      if (tenantOf) void this.#learnTenant(pending, tenantOf(serverId));
      else this.#begin();
    }
    return pending.promise;
  }

  /** Adds bytes just written or removed, until the next measurement. */
  add(serverId: string, bytes: number): void {
    const before = this.#known.get(serverId);
    if (before !== undefined) {
      const { realBytes, logicalBytes, measuredAt } = before;
      this.#known.set(serverId, usageOf(realBytes + bytes, logicalBytes + bytes, measuredAt));
    }
    const walk = this.#walking.get(serverId);
    // Bytes removed during a walk may have been removed before they were counted.
    if (walk !== undefined) walk.added += Math.max(0, bytes);
  }

  /** Calls `listener` after each measurement, with the previous one. Returns a function that removes it. */
  observe(listener: (serverId: string, before: Usage | undefined) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Forgets a deleted server and cancels its measurements. */
  forget(serverId: string): void {
    const gone = serverNotFound(serverId);
    this.#waiting.get(serverId)?.reject(gone);
    this.#waiting.delete(serverId);
    this.#walking.get(serverId)?.abort.abort(gone);
    for (const memory of [this.#known, this.#stored, this.#fresh]) memory.delete(serverId);
  }

  /** Stops all walks. */
  async close(): Promise<void> {
    this.#closed = true;
    const reason = shuttingDown();
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
    const walks = [...this.#walking.values()];
    for (const { abort } of walks) abort.abort(reason);
    await Promise.all(walks.map(({ done }) => done));
  }

  async #learnTenant(pending: Asked, tenant: Promise<string>): Promise<void> {
    // Servers of unknown tenants share one.
    pending.tenant = await tenant.catch(() => '');
    this.#begin();
  }

  #begin(): void {
    if (this.#closed) return;
    for (const [serverId, { tenant, ...pending }] of this.#waiting) {
      if (tenant === undefined || this.#walking.has(serverId) || this.#walksOf(tenant) >= WALKS_PER_TENANT) continue;
      this.#waiting.delete(serverId);
      const walk: Walk = { tenant, abort: new AbortController(), added: 0, done: Promise.resolve() };
      this.#walking.set(serverId, walk);
      walk.done = this.#run(serverId, walk).then(pending.resolve, pending.reject);
    }
  }

  #walksOf(tenant: string): number {
    return [...this.#walking.values()].filter((walk) => walk.tenant === tenant).length;
  }

  async #run(serverId: string, walk: Walk): Promise<Usage> {
    try {
      const root = join(this.#dataDir, 'servers', serverId);
      const { signal } = walk.abort;
      const acquire = () => this.#walks.enter({ key: walk.tenant }, signal);
      const { realBytes, logicalBytes, entries, unread } = await measureTree(root, signal, acquire);
      if (unread > 0) this.#log.warn({ server: serverId, unread }, 'some files of a server could not be measured');
      // Queried after the walk: a file deleted during the walk may count twice, and is then measured again.
      const deleted = (await this.#openFiles?.deletedBytes(serverId, () => this.#again(serverId))) ?? 0;
      const { added } = walk;
      const taken = Math.max(realBytes, entries * ENTRY_BYTES);
      const usage = usageOf(taken + deleted + added, logicalBytes + deleted + added, this.#clock.now());
      const before = this.#known.get(serverId);
      this.#known.set(serverId, usage);
      this.#fresh.add(serverId);
      this.#keep(serverId, usage);
      if (added !== 0) this.#again(serverId);
      for (const listener of this.#listeners) listener(serverId, before);
      return usage;
    } finally {
      this.#walking.delete(serverId);
      this.#begin();
    }
  }

  /** Measures again, unless the server is gone. */
  #again(serverId: string): void {
    if (this.#known.has(serverId)) void this.measure(serverId).catch(() => {});
  }

  #keep(serverId: string, usage: Usage): void {
    const last = this.#stored.get(serverId);
    if (last !== undefined && Math.abs(last - usage.bytes) < WORTH_BYTES) return;
    this.#stored.set(serverId, usage.bytes);
    this.#store
      .write((tx) => saveDiskUsage(tx, serverId, usage))
      .catch((error: unknown) => {
        this.#stored.delete(serverId);
        this.#log.debug({ server: serverId, err: error }, "could not store a server's disk use");
      });
  }
}

function shuttingDown(): StatusError {
  return new StatusError('UNAVAILABLE', 'UNAVAILABLE', 'The service is shutting down.');
}

function usageOf(realBytes: number, logicalBytes: number, measuredAt: number): Usage {
  const real = Math.max(0, realBytes);
  const logical = Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, logicalBytes));
  return { bytes: Math.max(real, logical), realBytes: real, logicalBytes: logical, measuredAt };
}

import type { Readable } from 'node:stream';
import type { Cause, Job } from '../../machines/server-types.ts';
import { inProgress } from '../jail/change-lock.ts';
import { randomBase62 } from '../kernel/ids.ts';
import { abortable } from '../kernel/timeout.ts';
import { type AuditActor, recordAudit } from '../audit/audit.ts';
import { getMaintenance } from '../servers/machine-rows.ts';
import type { Servers } from '../servers/servers.ts';
import { filesMissing, jobStatus, locked, noArchive, notFound, notReady, superseded } from './errors.ts';
import { type Orphan, exists, siblingsOf } from './files.ts';
import type { ByteRange } from './offsite/archive-store.ts';
import type { Tools } from './job.ts';
import type { LeftOver } from './offsite/uploads.ts';
import { countUploads, listUploadsOf } from './offsite/rows.ts';
import { PreviousFolders, isRedundant } from './previous-folders.ts';
import { type BackupRemoval, DEFAULT_RETENTION, createBackupRemoval } from './removal.ts';
import * as rows from './rows.ts';
import { createBackupRun } from './run.ts';
import { type Saving, saveAgain } from './saving.ts';

/** A server and its account. */
interface Owned {
  id: string;
  accountId: string;
}

/** The requester of a backup and its kind. */
interface Asked {
  actor: AuditActor;
  kind: Exclude<rows.BackupKind, 'previous'>;
  /** The occasion, if the kind does not say it. */
  label?: string;
}

/** All servers' backups. Rejects with StatusError: BACKUP_NOT_FOUND also for ids of other servers. */
export class Backups {
  readonly #tools: Tools;
  readonly #servers: Servers;
  readonly #saving: Saving;
  readonly #inFlight = new Map<string, { call: AbortController; ended: Promise<void> }>();
  readonly #closing = new AbortController();
  readonly #removal: BackupRemoval;
  readonly #previous: PreviousFolders;
  readonly #run: ReturnType<typeof createBackupRun>;
  /** Archives without a backup, found at the start or left by a failed removal. */
  readonly orphans: () => readonly Orphan[];
  /** Archives off site without a backup. */
  readonly leftOver: LeftOver;

  private constructor(tools: Tools, servers: Servers, saving: Saving, withPrevious: Set<string>, leftOver: LeftOver) {
    this.#tools = tools;
    this.#servers = servers;
    this.#saving = saving;
    this.#removal = createBackupRemoval(tools);
    const { drop, prune, orphans } = this.#removal;
    this.#run = createBackupRun(tools, servers, saving, { switchOn: (id) => this.#switchOn(id), prune });
    this.#previous = new PreviousFolders(tools, servers, withPrevious, drop);
    this.orphans = orphans;
    this.leftOver = leftOver;
  }

  /**
   * Resumes after the previous process: queued backups stay queued, and games whose saving was paused save again. Call
   * it when the servers are live again. `withPrevious`: the servers with a folder that a restore has replaced.
   */
  static async open(
    tools: Tools,
    servers: Servers,
    saving: Saving,
    withPrevious: Set<string>,
    leftOver: LeftOver,
  ): Promise<Backups> {
    const backups = new Backups(tools, servers, saving, withPrevious, leftOver);
    const { store, uploads } = tools;
    await backups.#removal.recover();
    await backups.#previous.recover();
    for (const id of await rows.listSavingOff(store)) void backups.#switchOn(id);
    for (const row of await rows.listBackupsIn(store, 'queued')) backups.#begin(row);
    uploads.start();
    return backups;
  }

  /** Newest first. */
  list(serverId: string): Promise<rows.BackupRow[]> {
    return rows.listBackups(this.#tools.store, serverId);
  }

  /** Progress of a backup or of its restore, 0 to 100; 0 if neither is running. */
  percentOf({ serverId, id }: rows.Ref): number {
    return this.#tools.progress.of(serverId, id);
  }

  /** Returns the ids of the backups still to be uploaded. Until then, they are in the folder. */
  awaitingOffSite(serverId: string): Promise<ReadonlySet<string>> {
    return listUploadsOf(this.#tools.store, serverId);
  }

  /** Returns the number of backups of all servers waiting for their upload, and how long the oldest has waited. */
  async uploadsWaiting(): Promise<{ count: number; oldestMs: number }> {
    const { store, clock } = this.#tools;
    const { count, since } = await countUploads(store);
    return { count, oldestMs: since === null ? 0 : Math.max(0, clock.now() - since) };
  }

  /** Returns the retention rules. */
  async retention(serverId: string): Promise<rows.Retention> {
    return (await rows.getRetention(this.#tools.store, serverId)) ?? DEFAULT_RETENTION;
  }

  /**
   * Queues a backup; it stays queued over restarts. A server may have only one in progress: otherwise throws ABORTED
   * OPERATION_IN_PROGRESS.
   */
  async create(server: Owned, { actor, kind, label = '' }: Asked): Promise<rows.BackupRow> {
    const { store, clock, progress } = this.#tools;
    const at = clock.now();
    const row = { ...rows.emptyBackup({ serverId: server.id, id: `bak_${randomBase62(16)}` }, at), kind, label };
    await store.write(async (tx) => {
      const waiting = [...(await rows.listBackupsIn(tx, 'queued')), ...(await rows.listBackupsIn(tx, 'running'))];
      if (waiting.some(({ serverId }) => serverId === server.id)) throw inProgress(server.id, 'the backup in progress');
      await rows.insertBackup(tx, row);
      await recordAudit(tx, actor, { action: 'backup.create', ...of(server), detail: row.id, at });
    });
    progress.publish(server.id, { id: row.id, state: 'queued', percent: 0 });
    this.#begin(row);
    return row;
  }

  /** Resolves with the backup once it is `ready` or `failed`; rejects when `signal` fires, or with BACKUP_NOT_FOUND. */
  async finished(ref: rows.Ref, signal: AbortSignal): Promise<rows.BackupRow> {
    for (;;) {
      const row = await rows.getBackup(this.#tools.store, ref.serverId, ref.id);
      if (row === undefined) throw notFound(ref.id);
      if (row.state === 'ready' || row.state === 'failed') return row;
      signal.throwIfAborted();
      const ended = this.#inFlight.get(rows.keyOf(ref))?.ended;
      if (ended === undefined) throw notFound(ref.id);
      await abortable(ended, signal);
    }
  }

  /** Removes a backup, even one in progress or with missing or unreachable files. Throws BACKUP_LOCKED. */
  async remove(server: Owned, id: string, actor: AuditActor): Promise<void> {
    const { store, clock, progress } = this.#tools;
    const row = await rows.getBackup(store, server.id, id);
    if (row === undefined || row.state === 'dropping') throw notFound(id);
    if (row.locked) throw locked(id);
    if ((await getMaintenance(store, server.id))?.target === id) throw inProgress(server.id, 'its restore');
    const making = this.#inFlight.get(rows.keyOf(row));
    making?.call.abort();
    await making?.ended;
    // An update that it would undo has no way back any more.
    await this.#servers.patch(server.id, ({ pendingUpdate }) =>
      pendingUpdate?.backupId === id ? { pendingUpdate: { ...pendingUpdate, backupId: '' } } : {},
    );
    const entry = { action: 'backup.delete', ...of(server), detail: id, at: clock.now() };
    await this.#removal.drop(row, (tx) => recordAudit(tx, actor, entry));
    progress.publish(server.id, { id, state: 'deleted', percent: 0 });
  }

  async setLocked(server: Owned, id: string, lock: boolean, actor: AuditActor): Promise<rows.BackupRow> {
    const { store, clock } = this.#tools;
    const row = await this.#ready(server.id, id);
    if (id === rows.PREVIOUS) throw noArchive();
    await store.write(async (tx) => {
      if (!(await rows.patchBackup(tx, row, { locked: lock }, ['ready']))) throw notFound(id);
      const action = lock ? 'backup.lock' : 'backup.unlock';
      await recordAudit(tx, actor, { action, ...of(server), detail: id, at: clock.now() });
    });
    return { ...row, locked: lock };
  }

  /** Sets the given fields; others are unchanged. Applies from the next backup on. */
  async setRetention(server: Owned, fields: Partial<rows.Retention>, actor: AuditActor): Promise<rows.Retention> {
    const { store, clock } = this.#tools;
    const at = clock.now();
    return await store.write(async (tx) => {
      const before = (await rows.getRetention(tx, server.id)) ?? DEFAULT_RETENTION;
      const retention = { ...before, ...fields };
      if (Object.keys(fields).length === 0) return retention;
      await rows.setRetention(tx, server.id, retention);
      const detail = Object.entries(retention).map(([name, value]) => `${name} ${value}`);
      await recordAudit(tx, actor, { action: 'backup.setRetention', ...of(server), detail: detail.join(', '), at });
      return retention;
    });
  }

  /**
   * Returns a finished backup and its bytes. Throws BACKUP_NOT_READY and the errors of `ArchiveFiles.require`; reading
   * fails like `ArchiveFiles.read`.
   */
  async archive(
    serverId: string,
    id: string,
  ): Promise<{ backup: rows.BackupRow; read: (range?: ByteRange) => Readable }> {
    const backup = await this.#ready(serverId, id);
    if (id === rows.PREVIOUS) throw noArchive();
    await this.#requireFiles(backup);
    return { backup, read: (range) => this.#tools.files.read(backup, range) };
  }

  /**
   * Replaces the server's files with a backup. Stops the server for this and starts it again if it was running.
   * Resolves when done. If it rejects, everything is unchanged, unless `signal` fired: then the restore continues in
   * the background.
   */
  async restore(serverId: string, id: string, cause: Cause, signal: AbortSignal): Promise<void> {
    const backup = await this.#ready(serverId, id);
    if (id === rows.PREVIOUS && (await isRedundant(this.#tools.store, backup))) throw notFound(id);
    await this.#requireFiles(backup);
    await this.maintain(serverId, { kind: 'backup.restore', target: id }, cause, signal);
  }

  /** Runs a job on a server's files in the same way. */
  async maintain(serverId: string, job: Omit<Job, 'id'>, cause: Cause, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#tools;
    const making = (await rows.listBackups(store, serverId)).find(
      ({ state }) => state === 'queued' || state === 'running',
    );
    if (making) throw inProgress(serverId, 'the backup in progress');
    const id = `job_${randomBase62(16)}`;
    await this.#servers.send(serverId, { type: 'MAINTAIN', at: clock.now(), cause, job: { id, ...job } });
    const now = await this.#servers.until(serverId, (each) => each === null || each.context.job?.id !== id, signal);
    if (now?.context.maintained?.jobId !== id) throw superseded();
    if (now.context.maintained.failure !== null) throw jobStatus(now.context.maintained.failure);
  }

  /** Cancels the backups in progress of a server that is being deleted. */
  async end(serverId: string): Promise<void> {
    const ofServer = [...this.#inFlight].filter(([key]) => key.startsWith(`${serverId}/`));
    for (const [, { call }] of ofServer) call.abort();
    await Promise.all(ofServer.map(([, { ended }]) => ended));
    this.#previous.forget(serverId);
  }

  /** Cancels all archives in progress and makes games save again. */
  async close(): Promise<void> {
    this.#previous.close();
    this.#closing.abort();
    await Promise.all([...this.#inFlight.values()].map(({ ended }) => ended));
    await this.#tools.uploads.close();
  }

  #begin(row: rows.BackupRow): void {
    const call = new AbortController();
    const signal = AbortSignal.any([call.signal, this.#closing.signal]);
    const key = rows.keyOf(row);
    const ended = this.#run(row, signal).finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, { call, ended });
  }

  #switchOn(serverId: string): Promise<void> {
    return saveAgain(this.#tools, this.#servers, this.#saving, serverId, this.#closing.signal);
  }

  async #ready(serverId: string, id: string): Promise<rows.BackupRow> {
    const row = await rows.getBackup(this.#tools.store, serverId, id);
    if (row === undefined || row.state === 'dropping') throw notFound(id);
    if (row.state === 'ready') return row;
    throw notReady(row);
  }

  async #requireFiles(row: rows.BackupRow): Promise<void> {
    const { serverId, id } = row;
    const { files, dataDir } = this.#tools;
    if (id !== rows.PREVIOUS) await files.require(row);
    else if (!(await exists(siblingsOf(dataDir, serverId).previous))) throw filesMissing(id);
  }
}

function of({ id: serverId, accountId }: Owned): { serverId: string; accountId: string } {
  return { serverId, accountId };
}

import type { Readable } from 'node:stream';
import type { Cause, Job } from '../../machines/server-types.ts';
import { inProgress } from '../jail/change-lock.ts';
import { randomBase62 } from '../kernel/ids.ts';
import { sleep } from '../kernel/sleep.ts';
import { abortable } from '../kernel/timeout.ts';
import { type AuditActor, recordAudit } from '../people/audit/audit.ts';
import { getMaintenance } from '../servers/maintenance-rows.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { ServerNow } from '../servers/server-now.ts';
import type { ArchiveFiles } from './archive-files.ts';
import type { Ref } from './archives.ts';
import { filesMissing, locked, noArchive, notFound, notReady, superseded } from './errors.ts';
import { type Orphan, exists, siblingsOf } from './files.ts';
import { jobStatus } from './job-failure.ts';
import { isNeedless } from './needless.ts';
import type { ByteRange } from './offsite/bucket.ts';
import type { LeftOver } from './offsite/left-over.ts';
import { countUploads, listUploadsOf } from './offsite/rows.ts';
import type { Progress } from './progress.ts';
import { createBackupRemoval, keyOf } from './removal.ts';
import { DEFAULT_RETENTION } from './retention.ts';
import * as rows from './rows.ts';
import { type BackupParts, createBackupRun } from './run.ts';

const RETRY_MS = 5_000;
/** The longest pause between two tries to reach a game; pauses grow up to it. */
const MAX_RETRY_MS = 600_000;

export interface BackupsOptions extends BackupParts {
  files: ArchiveFiles;
  /** What `publish` has told. */
  progress: Pick<Progress, 'of'>;
  /** Servers with a folder that a restore has replaced; the jobs add to it. */
  withPrevious: Set<string>;
  leftOver: LeftOver;
}

/** The server that something is about. */
export type Owned = Pick<ServerRow, 'id' | 'accountId'>;

/** Who asks for a backup, and why. */
export interface Asked {
  actor: AuditActor;
  kind: Exclude<rows.BackupKind, 'previous'>;
}

/** All servers' backups. Rejects with StatusError; BACKUP_NOT_FOUND for ids of other servers too. */
export interface Backups {
  /** Newest first. */
  list(serverId: string): Promise<rows.BackupRow[]>;
  /** How far the making or the restore of one has come, 0 to 100; 0 where neither goes on. */
  percentOf(ref: Ref): number;
  /** The ids of those that are still to be brought off site; until then they lie in the folder. */
  awaitingOffSite(serverId: string): Promise<ReadonlySet<string>>;
  /** How many backups of all servers wait for their upload, and for how long the oldest has waited. */
  uploadsWaiting(): Promise<{ count: number; oldestMs: number }>;
  /** What is kept. */
  retention(serverId: string): Promise<rows.Retention>;
  /**
   * Puts a backup into the queue, where it stays over restarts. Each server has one place in it: ABORTED OPERATION_IN_PROGRESS
   * while that is taken.
   */
  create(server: Owned, asked: Asked): Promise<rows.BackupRow>;
  /** Resolves with the backup once it is `ready` or `failed`; rejects when `signal` fires, or with BACKUP_NOT_FOUND. */
  finished(ref: Ref, signal: AbortSignal): Promise<rows.BackupRow>;
  /** Removes a backup, even one in the making or one whose files are gone or out of reach. BACKUP_LOCKED. */
  remove(server: Owned, id: string, actor: AuditActor): Promise<void>;
  setLocked(server: Owned, id: string, locked: boolean, actor: AuditActor): Promise<rows.BackupRow>;
  /** Fields left out stay as they are. Holds from the next backup on. */
  setRetention(server: Owned, fields: Partial<rows.Retention>, actor: AuditActor): Promise<rows.Retention>;
  /** A finished backup and its archive. BACKUP_NOT_READY, and as `ArchiveFiles.require`; its bytes as `read`. */
  archive(serverId: string, id: string): Promise<{ backup: rows.BackupRow; read: (range?: ByteRange) => Readable }>;
  /**
   * Puts a backup in place of the server's files, the server being stopped for it and started again if it ran. Resolves when
   * that is done; after a rejection everything is as it was, unless it is `signal` that fired: then it goes on by itself.
   */
  restore(serverId: string, id: string, cause: Cause, signal: AbortSignal): Promise<void>;
  /** A job on a server's files, in the same manner. */
  maintain(serverId: string, job: Omit<Job, 'id'>, cause: Cause, signal: AbortSignal): Promise<void>;
  /** Archives that belong to no backup, as found at the start, or left since by a removal that failed. */
  orphans(): readonly Orphan[];
  /** Archives off site that belong to no backup. */
  leftOver: LeftOver;
  /** Calls off the backups in the making of a server that is being deleted. */
  end(serverId: string): Promise<void>;
  /** Calls off all archives in the making, and tells games to save again. */
  close(): Promise<void>;
}

/**
 * Takes up where the previous process ended: queued backups stay queued, and games that were told not to save are told
 * to save again. To be called when the servers are live again.
 */
export async function createBackups(options: BackupsOptions): Promise<Backups> {
  const { servers, store, files, uploads, saving, clock, log, dataDir, publish, progress, withPrevious } = options;
  const inFlight = new Map<string, { call: AbortController; ended: Promise<void> }>();
  const closing = new AbortController();
  /** The runs of servers in which it was asked whether their replaced folder is still needed, by when they became ready. */
  const provenIn = new Map<string, number | null>();
  const removal = createBackupRemoval(options);
  const { drop } = removal;
  const run = createBackupRun({ ...options, switchOn, prune: removal.prune });

  function begin(row: rows.BackupRow): void {
    const call = new AbortController();
    const signal = AbortSignal.any([call.signal, closing.signal]);
    const key = keyOf(row);
    const ended = run(row, signal).finally(() => inFlight.delete(key));
    inFlight.set(key, { call, ended });
  }

  /** Tells a game to save again, until it has heard or is no more. */
  async function switchOn(id: string): Promise<void> {
    for (let wait = RETRY_MS; ; wait = Math.min(2 * wait, MAX_RETRY_MS)) {
      try {
        const now = await servers.get(id);
        if (now?.state === 'running' && now.context.rcon) await saving.on(id, now.context.rcon);
        // The stop in flight saves, and the next game begins with saving on.
        else if (now?.state !== 'running') await saving.forget(id);
        if (!(await rows.isSavingOff(store, id))) return;
      } catch (error) {
        // Logged once: further tries fail for the same reason.
        const level = wait === RETRY_MS ? 'warn' : 'debug';
        log[level]({ server: id, reason: messageOf(error) }, 'a game could not be told to save again; trying again');
      }
      if (closing.signal.aborted) return;
      await sleep(clock, wait, closing.signal).catch(() => {});
    }
  }

  async function ready(serverId: string, id: string): Promise<rows.BackupRow> {
    const row = await rows.getBackup(store, serverId, id);
    if (row === undefined || row.state === 'dropping') throw notFound(id);
    if (row.state === 'ready') return row;
    throw notReady(row);
  }

  async function requireFiles(row: rows.BackupRow): Promise<void> {
    const { serverId, id } = row;
    if (id !== rows.PREVIOUS) await files.require(row);
    else if (!(await exists(siblingsOf(dataDir, serverId).previous))) throw filesMissing(id);
  }

  /** Removes the replaced folder once a start has shown that nobody needs it any more. */
  async function proven(id: string): Promise<void> {
    const row = await rows.getBackup(store, id, rows.PREVIOUS);
    if (row !== undefined && !(await isNeedless(store, row, true))) return;
    if (row !== undefined) await drop(row);
    withPrevious.delete(id);
  }

  /** Once in each run. */
  function seen(now: ServerNow | null): void {
    if (now?.state !== 'running' || !withPrevious.has(now.row.id)) return;
    const { id } = now.row;
    const { readyAt } = now.context;
    if (provenIn.get(id) === readyAt) return;
    provenIn.set(id, readyAt);
    proven(id).catch((error: unknown) => {
      provenIn.delete(id);
      log.warn({ server: id, err: error }, 'the folder that a restore replaced could not be removed');
    });
  }

  async function maintain(serverId: string, job: Omit<Job, 'id'>, cause: Cause, signal: AbortSignal): Promise<void> {
    const making = (await rows.listBackups(store, serverId)).find(
      ({ state }) => state === 'queued' || state === 'running',
    );
    if (making) throw inProgress(serverId, 'the backup in progress');
    const id = `job_${randomBase62(16)}`;
    await servers.send(serverId, { type: 'MAINTAIN', at: clock.now(), cause, job: { id, ...job } });
    const now = await servers.until(serverId, (each) => each === null || each.context.job?.id !== id, signal);
    if (now?.context.maintained?.jobId !== id) throw superseded();
    if (now.context.maintained.failure !== null) throw jobStatus(now.context.maintained.failure);
  }

  const unobserve = servers.observe((_, now) => seen(now));
  await removal.recover();
  for (const row of await rows.listPrevious(store)) {
    if (await isNeedless(store, row)) await drop(row);
    else withPrevious.add(row.serverId);
  }
  for (const id of await rows.listSavingOff(store)) void switchOn(id);
  for (const row of await rows.listBackupsIn(store, 'queued')) begin(row);
  uploads.start();

  return {
    maintain,
    list: (serverId) => rows.listBackups(store, serverId),
    percentOf: ({ serverId, id }) => progress.of(serverId, id),
    awaitingOffSite: (serverId) => listUploadsOf(store, serverId),
    async uploadsWaiting() {
      const { count, since } = await countUploads(store);
      return { count, oldestMs: since === null ? 0 : Math.max(0, clock.now() - since) };
    },
    retention: async (serverId) => (await rows.getRetention(store, serverId)) ?? DEFAULT_RETENTION,
    async create(server, { actor, kind }) {
      const at = clock.now();
      const row = { ...rows.emptyBackup({ serverId: server.id, id: `bak_${randomBase62(16)}` }, at), kind };
      await store.write(async (tx) => {
        const waiting = [...(await rows.listBackupsIn(tx, 'queued')), ...(await rows.listBackupsIn(tx, 'running'))];
        if (waiting.some(({ serverId }) => serverId === server.id))
          throw inProgress(server.id, 'the backup in progress');
        await rows.insertBackup(tx, row);
        await recordAudit(tx, actor, { action: 'backup.create', ...of(server), detail: row.id, at });
      });
      publish(server.id, { id: row.id, state: 'queued', percent: 0 });
      begin(row);
      return row;
    },
    async finished(ref, signal) {
      for (;;) {
        const row = await rows.getBackup(store, ref.serverId, ref.id);
        if (row === undefined) throw notFound(ref.id);
        if (row.state === 'ready' || row.state === 'failed') return row;
        signal.throwIfAborted();
        const ended = inFlight.get(keyOf(ref))?.ended;
        if (ended === undefined) throw notFound(ref.id);
        await abortable(ended, signal);
      }
    },
    async remove(server, id, actor) {
      const row = await rows.getBackup(store, server.id, id);
      if (row === undefined || row.state === 'dropping') throw notFound(id);
      if (row.locked) throw locked(id);
      if ((await getMaintenance(store, server.id))?.target === id) throw inProgress(server.id, 'its restore');
      const making = inFlight.get(keyOf(row));
      making?.call.abort();
      await making?.ended;
      const entry = { action: 'backup.delete', ...of(server), detail: id, at: clock.now() };
      await drop(row, (tx) => recordAudit(tx, actor, entry));
      publish(server.id, { id, state: 'deleted', percent: 0 });
    },
    async setLocked(server, id, lock, actor) {
      const row = await ready(server.id, id);
      if (id === rows.PREVIOUS) throw noArchive();
      await store.write(async (tx) => {
        if (!(await rows.patchBackup(tx, row, { locked: lock }, ['ready']))) throw notFound(id);
        const action = lock ? 'backup.lock' : 'backup.unlock';
        await recordAudit(tx, actor, { action, ...of(server), detail: id, at: clock.now() });
      });
      return { ...row, locked: lock };
    },
    async setRetention(server, fields, actor) {
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
    },
    async archive(serverId, id) {
      const backup = await ready(serverId, id);
      if (id === rows.PREVIOUS) throw noArchive();
      await requireFiles(backup);
      return { backup, read: (range) => files.read(backup, range) };
    },
    async restore(serverId, id, cause, signal) {
      const backup = await ready(serverId, id);
      if (id === rows.PREVIOUS && (await isNeedless(store, backup))) throw notFound(id);
      await requireFiles(backup);
      await maintain(serverId, { kind: 'backup.restore', target: id }, cause, signal);
    },
    orphans: removal.orphans,
    leftOver: options.leftOver,
    async end(serverId) {
      const ofServer = [...inFlight].filter(([key]) => key.startsWith(`${serverId}/`));
      for (const [, { call }] of ofServer) call.abort();
      await Promise.all(ofServer.map(([, { ended }]) => ended));
      withPrevious.delete(serverId);
      provenIn.delete(serverId);
    },
    async close() {
      unobserve();
      closing.abort();
      await Promise.all([...inFlight.values()].map(({ ended }) => ended));
      await uploads.close();
    },
  };
}

function of({ id: serverId, accountId }: Owned): { serverId: string; accountId: string } {
  return { serverId, accountId };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

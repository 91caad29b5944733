import { rm } from 'node:fs/promises';
import type { Failure } from '../../machines/server-types.ts';
import type { Engine } from '../engines/engine.ts';
import type { Disk } from '../jail/space.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { Log } from '../kernel/log.ts';
import type { EffectHost } from '../servers/effect-host.ts';
import { type MaintenanceRow, noteStep } from '../servers/machine-rows.ts';
import type { ServerRow } from '../servers/rows.ts';
import { untilStored } from '../store/errors.ts';
import type { ArchiveFiles } from './archive-files.ts';
import type { Archives } from './archives.ts';
import type { Base } from './base.ts';
import { jobFailure } from './errors.ts';
import { archivePath, siblingsOf, softwareOf } from './files.ts';
import type { Uploads } from './offsite/uploads.ts';
import { type BackupKind, deleteBackup, emptyBackup, insertBackup, keepMods, patchBackup } from './rows.ts';

/** The dependencies of backups and of the jobs on a server's files, including the jobs of other rooms. */
export interface Tools extends Base {
  engine: Engine;
  owner: FileOwner | undefined;
  disk: Disk;
  archives: Archives;
  files: ArchiveFiles;
  uploads: Uploads;
}

/** The context of one job. */
export interface Work {
  job: MaintenanceRow;
  row: ServerRow;
  host: EffectHost;
  signal: AbortSignal;
}

/** Executes a job of the machine; see `createMaintenance`. */
export type DoJob = (work: Work) => Promise<Failure | null>;

/** Runs work that does not change the server yet. If it fails, the job ends and is not retried. */
export async function attempt(log: Log, signal: AbortSignal, work: () => Promise<void>): Promise<Failure | null> {
  try {
    await work();
    return null;
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ err: error }, 'a job on a server’s files failed; nothing was changed');
    return jobFailure(error);
  }
}

/**
 * The first step of a job that would discard files without a backup: creates one and records the step `kept`. Must not
 * be called while holding the mutex of the server's files, because creating a backup acquires it.
 */
export async function keepFiles(
  { store, archives, uploads, clock, dataDir, progress }: Tools,
  { job, row, host, signal }: Work,
  kind: BackupKind,
): Promise<void> {
  const { serverId, jobId } = job;
  const { format } = archives;
  // The id derives from the job's, so that a repeated step leaves only one backup.
  const id = jobId.replace('job_', 'bak_');
  const ref = { serverId, id };
  const report = (percent: number) => progress.publish(serverId, { id, state: 'running', percent });
  const software = await softwareOf(row, siblingsOf(dataDir, serverId).root);
  try {
    const making = { accountId: row.accountId, signal, progress: report };
    const finished = await archives.make(ref, making, async ({ archive }) => {
      await store.write(async (tx) => {
        await deleteBackup(tx, ref);
        await insertBackup(tx, { ...emptyBackup(ref, clock.now()), ...software, format, kind, state: 'running' });
        await keepMods(tx, ref);
      });
      return await archive(signal, host.now(serverId)?.context.bakedAt != null);
    });
    const fields = { ...finished, state: 'ready', finishedAt: clock.now() } as const;
    const ready = () =>
      store.write(async (tx) => {
        if (await patchBackup(tx, ref, fields, ['running'])) await uploads.owe(tx, ref);
        await noteStep(tx, jobId, 'kept');
      });
    await untilStored(ready, clock, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    // A row that stays `running` would block all further backups.
    await untilStored(() => store.write((tx) => deleteBackup(tx, ref)), clock, signal);
    await rm(archivePath(dataDir, { ...ref, format }), { force: true });
    throw error;
  }
  progress.publish(serverId, { id, state: 'ready', percent: 100 });
  uploads.kick();
}

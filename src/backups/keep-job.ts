import { rm } from 'node:fs/promises';
import { archivePath, siblingsOf } from './files.ts';
import { noteStep } from '../servers/machine-rows.ts';
import { untilStored } from '../store/errors.ts';
import type { Tools, Work } from './job.ts';
import { softwareOf } from './server-software.ts';
import { keepMods } from './mod-rows.ts';
import { type BackupKind, deleteBackup, emptyBackup, insertBackup, patchBackup } from './rows.ts';

/**
 * The first step of a job that would discard files without a backup: creates one and records the step `kept`. Must not
 * be called while holding the mutex of the server's files, because creating a backup acquires it.
 */
export function createKeep(tools: Tools): (work: Work, kind: BackupKind) => Promise<void> {
  const { store, archives, uploads, clock, dataDir, publish } = tools;

  return async function keep({ job, row, host, signal }, kind) {
    const { serverId, jobId } = job;
    // The id derives from the job's, so that a repeated step leaves only one backup.
    const id = jobId.replace('job_', 'bak_');
    const ref = { serverId, id };
    const progress = (percent: number) => publish(serverId, { id, state: 'running', percent });
    const made = {
      ...(await softwareOf(row, siblingsOf(dataDir, serverId).root)),
      kind,
      state: 'running',
    } as const;
    try {
      const finished = await archives.make(ref, { accountId: row.accountId, signal, progress }, async ({ archive }) => {
        await store.write(async (tx) => {
          await deleteBackup(tx, ref);
          await insertBackup(tx, { ...emptyBackup(ref, clock.now()), ...made });
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
      await rm(archivePath(dataDir, serverId, id), { force: true });
      throw error;
    }
    publish(serverId, { id, state: 'ready', percent: 100 });
    uploads.kick();
  };
}

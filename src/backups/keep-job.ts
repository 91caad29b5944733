import { siblingsOf } from './files.ts';
import { noteStep } from '../servers/maintenance-rows.ts';
import type { Tools, Work } from './job.ts';
import { softwareOf } from './server-software.ts';
import { keepMods } from './mod-rows.ts';
import { type BackupKind, deleteBackup, emptyBackup, insertBackup, patchBackup } from './rows.ts';

/**
 * The first step of a job that would discard files without a backup: makes one, and notes the step `kept`. Not to be
 * called while the mutex of the server's files is held, as making a backup takes it.
 */
export function createKeep(tools: Tools): (work: Work, kind: BackupKind) => Promise<void> {
  const { store, archives, uploads, clock, dataDir, publish } = tools;

  return async function keep({ job, row, signal }, kind) {
    const { serverId, jobId } = job;
    // The backup has the job's id, so that a repeated step leaves only one.
    const id = jobId.replace('job_', 'bak_');
    const ref = { serverId, id };
    const progress = (percent: number) => publish(serverId, { id, state: 'running', percent });
    await archives.make(ref, { signal, progress }, async ({ archive }) => {
      const made = {
        ...(await softwareOf(row, siblingsOf(dataDir, serverId).root)),
        kind,
        state: 'running',
      } as const;
      await store.write(async (tx) => {
        await deleteBackup(tx, ref);
        await insertBackup(tx, { ...emptyBackup(ref, clock.now()), ...made });
        await keepMods(tx, ref);
      });
      try {
        const finished = await archive(signal);
        await store.write(async (tx) => {
          const fields = { ...finished, state: 'ready', finishedAt: clock.now() } as const;
          if (await patchBackup(tx, ref, fields, ['running'])) await uploads.owe(tx, ref);
          await noteStep(tx, jobId, 'kept');
        });
        publish(serverId, { id, state: 'ready', percent: 100 });
        uploads.kick();
      } catch (error) {
        if (!signal.aborted) await store.write((tx) => deleteBackup(tx, ref));
        throw error;
      }
    });
  };
}

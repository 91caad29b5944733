import { siblingsOf } from './files.ts';
import { noteStep } from '../servers/maintenance-rows.ts';
import type { Tools, Work } from './maintenance.ts';
import { softwareOf } from './server-software.ts';
import { keepMods } from './mod-rows.ts';
import { type BackupKind, deleteBackup, emptyBackup, insertBackup, patchBackup } from './rows.ts';

/**
 * What a job does first that takes away what nobody has a backup of: it makes one, and notes the step `kept`. Not to be
 * called in the server's turn, as making one takes it.
 */
export function createKeep(tools: Tools): (work: Work, kind: BackupKind) => Promise<void> {
  const { store, archives, clock, dataDir, publish } = tools;

  return async function keep({ job, row, signal }, kind) {
    const { serverId, jobId } = job;
    // Of the job's own name, so that doing it again leaves one.
    const id = jobId.replace('job_', 'bak_');
    const ref = { serverId, id };
    const progress = (percent: number) => publish(serverId, { id, state: 'running', percent });
    await archives.make(ref, { signal, progress }, async (archive) => {
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
          await patchBackup(tx, ref, { ...finished, state: 'ready', finishedAt: clock.now() }, ['running']);
          await noteStep(tx, jobId, 'kept');
        });
        publish(serverId, { id, state: 'ready', percent: 100 });
      } catch (error) {
        if (!signal.aborted) await store.write((tx) => deleteBackup(tx, ref));
        throw error;
      }
    });
  };
}

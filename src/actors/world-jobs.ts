import type { Failure } from '../../machines/server-types.ts';
import { exists, siblingsOf } from '../hosting/backup-files.ts';
import { openJail } from '../hosting/jail.ts';
import { makeOf } from '../hosting/server-make.ts';
import { removeWorld } from '../hosting/worlds.ts';
import { keepMods } from '../store/backup-mods.ts';
import { deleteBackup, emptyBackup, insertBackup, patchBackup } from '../store/backups.ts';
import { noteStep } from '../store/maintenance.ts';
import type { Tools, Work } from './maintenance.ts';
import type { DoJob } from './restore-jobs.ts';

/** The jobs that remove a world. */
export function createWorldJobs(tools: Tools): { reset: DoJob; remove: DoJob } {
  const { store, archives, clock, dataDir, owner, disk, publish, at, attempt } = tools;

  /** A backup of everything, and then the world that is active is made anew by the next start. */
  async function reset(work: Work): Promise<Failure | null> {
    const { job, signal } = work;
    if (job.step === '') {
      await at('asked');
      const failure = await attempt(signal, () => keep(work));
      if (failure !== null) return failure;
      await at('kept');
    }
    return await archives.alone(job.serverId, () => remove(work));
  }

  async function keep({ job, row, signal }: Work): Promise<void> {
    const { serverId, jobId } = job;
    // Of the job's own name, so that doing it again leaves one.
    const id = jobId.replace('job_', 'bak_');
    const ref = { serverId, id };
    const progress = (percent: number) => publish(serverId, { id, state: 'running', percent });
    await archives.make(ref, { signal, progress }, async (archive) => {
      const made = {
        ...(await makeOf(row, siblingsOf(dataDir, serverId).root)),
        kind: 'reset',
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
  }

  async function remove({ job: { serverId, target }, signal }: Work): Promise<Failure | null> {
    const { root } = siblingsOf(dataDir, serverId);
    await at('asked');
    if (await exists(root)) {
      await using jail = await openJail(root, { owner });
      await removeWorld(jail, target, async () => {
        await at('removed');
        signal.throwIfAborted();
      });
    }
    disk.freed(serverId);
    await at('cleaned');
    return null;
  }

  return { reset, remove };
}

import type { Failure } from '../../machines/server-types.ts';
import { exists, siblingsOf } from '../backups/files.ts';
import { createKeep } from '../backups/keep-job.ts';
import type { Tools, Work } from '../backups/maintenance.ts';
import type { DoJob } from '../backups/restore-jobs.ts';
import { openJail } from '../jail/jail.ts';
import { removeWorld } from './folders.ts';

/** The jobs that remove a world. */
export function createWorldJobs(tools: Tools): { reset: DoJob; remove: DoJob } {
  const { archives, dataDir, owner, disk, at, attempt } = tools;
  const keep = createKeep(tools);

  /** A backup of everything, and then the world that is active is made anew by the next start. */
  async function reset(work: Work): Promise<Failure | null> {
    const { job, signal } = work;
    if (job.step === '') {
      await at('asked');
      const failure = await attempt(signal, () => keep(work, 'reset'));
      if (failure !== null) return failure;
      await at('kept');
    }
    return await archives.withFilesLock(job.serverId, () => remove(work));
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

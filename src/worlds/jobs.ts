import type { Failure } from '../../machines/server-types.ts';
import { exists, siblingsOf } from '../backups/files.ts';
import { type DoJob, type Tools, type Work, attempt, keepFiles } from '../backups/job.ts';
import { openJail } from '../jail/jail.ts';
import { removeWorld } from '../game/worlds.ts';

/** Creates the jobs that remove a world: `world.delete`, and `world.reset`, which first backs up the whole server. */
export function createWorldJobs(tools: Tools): Record<'world.delete' | 'world.reset', DoJob> {
  const { archives, dataDir, owner, disk, log, at } = tools;

  /** Backs up the whole server and removes the active world. The next start creates a new one. */
  async function reset(work: Work): Promise<Failure | null> {
    const { job, signal } = work;
    if (job.step === '') {
      await at('asked');
      const failure = await attempt(log, signal, () => keepFiles(tools, work, 'reset'));
      if (failure !== null) return failure;
      await at('kept');
    }
    return await remove(work);
  }

  function remove(work: Work): Promise<Failure | null> {
    return archives.withFilesLock(work.job.serverId, async () => {
      work.signal.throwIfAborted();
      return await removeNow(work);
    });
  }

  async function removeNow({ job: { serverId, target }, signal }: Work): Promise<Failure | null> {
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

  return { 'world.delete': remove, 'world.reset': reset };
}

import type { Failure } from '../../machines/server-types.ts';
import type { EffectHost, Maintain } from '../servers/effect-host.ts';
import { getMaintenance } from '../servers/machine-rows.ts';
import type { MaintenanceOptions, Tools, Work } from './job.ts';
import { jobFailure } from './job-failure.ts';
import { RestoreJobs } from './restore-jobs.ts';
import { PREVIOUS } from './rows.ts';

/**
 * The jobs on the files of a server at rest. A job consists of steps: a finished step is recorded in the job's row, and
 * an interrupted step is repeated from what is on disk. Whenever the process is killed, the next one therefore finishes
 * the job. Afterwards, the server is either unchanged or exactly as requested, and it cannot start in between.
 */
export function createMaintenance(options: MaintenanceOptions): (host: EffectHost) => Maintain {
  const { store, archives, engine, lock, log } = options;
  const tools: Tools = {
    ...options,
    at: options.at ?? (() => {}),
    release: async (serverId) => {
      lock.replaced(serverId);
      await options.release?.(serverId);
    },
    attempt,
  };
  const restores = new RestoreJobs(tools);
  const others = options.jobs?.(tools) ?? {};

  async function attempt(signal: AbortSignal, work: () => Promise<void>): Promise<Failure | null> {
    try {
      await work();
      return null;
    } catch (error) {
      signal.throwIfAborted();
      log.warn({ err: error }, 'a job on a server’s files failed; nothing was changed');
      return jobFailure(error);
    }
  }

  return (host) => async (serverId, jobId, signal) => {
    const [job, now] = [await getMaintenance(store, serverId), host.now(serverId)];
    if (job?.jobId !== jobId || now === undefined) throw new Error(`job ${jobId} of ${serverId} does not exist`);
    // No program may run on files being replaced, even one started by another process.
    await engine.kill(serverId);
    // The machine is in the job, so no new changes begin. Waits for those in progress.
    await lock.settled(serverId);
    const work: Work = { job, row: now.row, host, signal };
    const other = others[job.kind];
    if (other !== undefined) return await other(work);
    if (job.kind !== 'backup.restore') throw new Error(`no handler for jobs of kind ${job.kind}`);
    const notKept = await restores.keepChanged(work);
    if (notKept !== null) return notKept;
    return await archives.withFilesLock(serverId, async () => {
      signal.throwIfAborted();
      return job.target === PREVIOUS ? await restores.undo(work) : await restores.restore(work);
    });
  };
}

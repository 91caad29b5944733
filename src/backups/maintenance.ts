import type { Failure } from '../../machines/server-types.ts';
import type { Engine } from '../engines/engine.ts';
import type { ChangeLock } from '../jail/change-lock.ts';
import type { Disk } from '../jail/space.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { ServerRow } from '../servers/rows.ts';
import type { EffectHost, Maintain } from '../servers/effect-host.ts';
import type { Store } from '../store/store.ts';
import type { ArchiveFiles } from './archive-files.ts';
import type { Archives } from './archives.ts';
import { jobFailure } from './job-failure.ts';
import { type MaintenanceRow, getMaintenance } from '../servers/maintenance-rows.ts';
import type { Uploads } from './offsite/uploads.ts';
import type { Told } from './progress.ts';
import { createRestoreJobs } from './restore-jobs.ts';
import { PREVIOUS } from './rows.ts';

export interface MaintenanceOptions {
  store: Store;
  archives: Archives;
  uploads: Pick<Uploads, 'owe' | 'kick'>;
  files: Pick<ArchiveFiles, 'require'>;
  engine: Pick<Engine, 'kill'>;
  clock: Clock;
  log: Log;
  dataDir: string;
  owner: FileOwner | undefined;
  disk: Disk;
  /** Keeps changes and restores apart. */
  lock: ChangeLock;
  /** Tells the server's watchers the progress of a restore or a backup. */
  publish: (serverId: string, told: Told) => void;
  /** Closes the server's folder for all who hold it open, as later writes of theirs would be lost. */
  release?: (serverId: string) => Promise<void>;
  /** Tells that the server now has a folder that a restore has replaced. */
  onPrevious: (serverId: string) => void;
  /** Called with a step's name between any two steps, so that tests can crash the process there. */
  at?: (step: string) => Promise<void> | void;
  /** The jobs of other rooms, by kind, done with the tools of this one. */
  jobs?: (tools: Tools) => Readonly<Record<string, DoJob>>;
}

/** What one job works with. */
export interface Work {
  job: MaintenanceRow;
  row: ServerRow;
  host: EffectHost;
  signal: AbortSignal;
}

/** Does a job of the machine; see `createMaintenance`. */
export type DoJob = (work: Work) => Promise<Failure | null>;

/** What all jobs work with. */
export interface Tools extends MaintenanceOptions {
  at: (step: string) => Promise<void> | void;
  release: (serverId: string) => Promise<void>;
  /** Does work that changes nothing of the server's yet. If it fails, the job ends and is not tried again. */
  attempt: (signal: AbortSignal, work: () => Promise<void>) => Promise<Failure | null>;
}

/**
 * The jobs on the files of a server at rest. A job goes in steps: a finished step is noted in the job's row, and a step
 * that was cut short is done again from what is on disk. So whenever the process is killed, the next one finishes the
 * job. The server is then exactly as it was or exactly what was asked for, and it cannot start while it is between the
 * two.
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
  const { keepChanged, restore, undo } = createRestoreJobs(tools);
  const others = options.jobs?.(tools) ?? {};

  async function attempt(signal: AbortSignal, work: () => Promise<void>): Promise<Failure | null> {
    try {
      await work();
      return null;
    } catch (error) {
      signal.throwIfAborted();
      log.warn({ err: error }, 'a job on a server’s files failed; everything is as it was');
      return jobFailure(error);
    }
  }

  return (host) => async (serverId, jobId, signal) => {
    const [job, now] = [await getMaintenance(store, serverId), host.now(serverId)];
    if (job?.jobId !== jobId || now === undefined) throw new Error(`job ${jobId} of ${serverId} is not there`);
    // Nothing may run on files that are being replaced, whoever started it.
    await engine.kill(serverId);
    // The machine has the job, so no change begins any more; the job waits for those that had begun.
    await lock.settled(serverId);
    const work: Work = { job, row: now.row, host, signal };
    const other = others[job.kind];
    if (other !== undefined) return await other(work);
    if (job.kind !== 'backup.restore') throw new Error(`nobody here does jobs of kind ${job.kind}`);
    const notKept = await keepChanged(work);
    if (notKept !== null) return notKept;
    return await archives.withFilesLock(serverId, async () => {
      signal.throwIfAborted();
      return job.target === PREVIOUS ? await undo(work) : await restore(work);
    });
  };
}

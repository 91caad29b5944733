import { StatusError } from '../kernel/status.ts';

/** Runs one change of a server's files, or refuses it. */
export type Change = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Keeps changes of a server's files apart from the jobs that replace them. The machine says whether there is a job, and
 * is asked synchronously when a change begins. So once a job is accepted, a change has either begun, and the job waits
 * for it, or is refused: ABORTED OPERATION_IN_PROGRESS. A stream is one change for each piece, so that no job waits for
 * a caller.
 */
export interface ChangeLock {
  /** Runs a change; reads need none. Rejects as `require` does, before `work` is called. */
  change<T>(serverId: string, work: () => Promise<T>): Promise<T>;
  /** Refuses while a job is accepted or in progress. */
  require(serverId: string): void;
  /**
   * Refuses likewise for work that keeps the server's folder open; to be called before it is opened. Once other files are in its place, all changes
   * by it are refused for good: ABORTED FILES_REPLACED.
   */
  of(serverId: string): Change;
  /** Resolves once no change is in flight. To be awaited by a job before it looks at the files. */
  settled(serverId: string): Promise<void>;
  /** Called before a server's files are replaced by others: open files belong to the old ones. */
  replaced(serverId: string): void;
}

/** `jobOf`: what is being done with a server's files as a whole, from the moment it is accepted; undefined: nothing. */
export function createChangeLock(jobOf: (serverId: string) => string | undefined): ChangeLock {
  const inFlight = new Map<string, Set<Promise<unknown>>>();
  /** How often each server's files were replaced since this process began. */
  const replacements = new Map<string, number>();

  function requireFree(serverId: string): void {
    const job = jobOf(serverId);
    if (job !== undefined) throw inProgress(serverId, job);
  }

  async function change<T>(serverId: string, work: () => Promise<T>): Promise<T> {
    requireFree(serverId);
    const changes = inFlight.get(serverId) ?? new Set();
    inFlight.set(serverId, changes);
    const changing = work();
    changes.add(changing);
    try {
      return await changing;
    } finally {
      changes.delete(changing);
      if (changes.size === 0) inFlight.delete(serverId);
    }
  }

  return {
    change,
    require: requireFree,
    of(serverId) {
      const opened = replacements.get(serverId);
      return async (work) => {
        requireFree(serverId);
        if (replacements.get(serverId) !== opened) throw filesReplaced();
        return await change(serverId, work);
      };
    },
    async settled(serverId) {
      for (let changes = inFlight.get(serverId); changes !== undefined; changes = inFlight.get(serverId))
        await Promise.allSettled(changes);
    },
    replaced: (serverId) => void replacements.set(serverId, (replacements.get(serverId) ?? 0) + 1),
  };
}

/** Something else is being done with the server's files. */
export function inProgress(server: string, operation: string): StatusError {
  const sentence = `Wait until ${operation} has ended, then try again.`;
  return new StatusError('ABORTED', 'OPERATION_IN_PROGRESS', sentence, {
    metadata: { server, operation },
    retryAfterSeconds: 5,
  });
}

function filesReplaced(): StatusError {
  const sentence = "The server's files were replaced meanwhile, by a restore. Try again.";
  return new StatusError('ABORTED', 'FILES_REPLACED', sentence);
}

import { StatusError } from '../kernel/status.ts';

/** Runs one change of a server's files, or refuses it. */
export type Change = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Keeps changes of a server's files apart from the jobs that replace them. When a change begins, the machine is queried
 * synchronously for a job. So once a job is accepted, a change has either begun, and the job waits for it, or is
 * refused: ABORTED OPERATION_IN_PROGRESS. A stream is one change for each piece, so that no job waits for a caller.
 */
export interface ChangeLock {
  /** Runs a change; reads need none. Rejects as `require` does, before `work` is called. */
  change<T>(serverId: string, work: () => Promise<T>): Promise<T>;
  /** Throws ABORTED OPERATION_IN_PROGRESS while a job is accepted or in progress. */
  require(serverId: string): void;
  /**
   * Returns a `Change` for work that keeps the server's folder open. Call it before the folder is opened. Throws like
   * `require`. Once the files are replaced, it refuses all further changes: ABORTED FILES_REPLACED.
   */
  of(serverId: string): Change;
  /** Resolves once no change is in flight. A job awaits it before it reads the files. */
  settled(serverId: string): Promise<void>;
  /** Called before a server's files are replaced, because open files belong to the old ones. */
  replaced(serverId: string): void;
}

/** `jobOf` returns the job on a server's files as a whole, from the moment it is accepted; undefined without one. */
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

/** Returns the error for a change while another operation works on the server's files. */
export function inProgress(server: string, operation: string): StatusError {
  const sentence = `Wait until ${operation} has ended, then try again.`;
  return new StatusError('ABORTED', 'OPERATION_IN_PROGRESS', sentence, {
    metadata: { server, operation },
    retryAfterSeconds: 5,
  });
}

function filesReplaced(): StatusError {
  const sentence = "A restore has replaced the server's files. Try again.";
  return new StatusError('ABORTED', 'FILES_REPLACED', sentence);
}

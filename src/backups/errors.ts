import type { Failure } from '../../machines/server-types.ts';
import { CODES, type Code, StatusError } from '../kernel/status.ts';

export function notFound(id: string): StatusError {
  return new StatusError('NOT_FOUND', 'BACKUP_NOT_FOUND', 'The server has no such backup.', { metadata: { id } });
}

export function noArchive(): StatusError {
  const sentence = 'This is the folder from before the restore, not an archive. Restore it, then create a backup.';
  return new StatusError('FAILED_PRECONDITION', 'BACKUP_NO_ARCHIVE', sentence);
}

export function notReady({ id, state }: { id: string; state: string }): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'BACKUP_NOT_READY', `This backup is ${state}, not ready.`, {
    metadata: { id, state },
  });
}

export function filesMissing(id: string): StatusError {
  const sentence = 'The files of this backup are missing or incomplete. You can only delete it.';
  return new StatusError('FAILED_PRECONDITION', 'BACKUP_FILE_MISSING', sentence, { metadata: { id } });
}

export function folderMissing(): StatusError {
  const sentence =
    'The server’s folder is missing, so there is nothing to back up. Ask the operator to check the disk.';
  return new StatusError('FAILED_PRECONDITION', 'SERVER_FOLDER_MISSING', sentence);
}

const REFUSED = 'BACKUP_STORE_REFUSED';

/** A setting of the off-site store is wrong; the sentence names it. */
export function refused(sentence: string, cause?: unknown): StatusError {
  return new StatusError('FAILED_PRECONDITION', REFUSED, sentence, { cause });
}

/** Reports whether the store's settings are wrong, which does not resolve itself. */
export function isRefused(error: unknown): boolean {
  return error instanceof StatusError && error.reason === REFUSED;
}

/** Returns the error for callers. The log has the cause. */
export function storeAway(cause: unknown): StatusError {
  const sentence = 'The off-site backup store is not responding correctly. Try again later.';
  return new StatusError('UNAVAILABLE', 'BACKUP_STORE_AWAY', sentence, { cause, retryAfterSeconds: 60 });
}

export function locked(id: string): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'BACKUP_LOCKED', 'This backup is locked; unlock it first.', {
    metadata: { id },
  });
}

export function superseded(): StatusError {
  const sentence =
    'The server was deleted, or another operation interrupted this one. Check the server, then try again.';
  return new StatusError('ABORTED', 'OPERATION_ABORTED', sentence);
}

/** An archive differs from the one that was written. */
export class ArchiveCorrupt extends Error {
  override name = 'ArchiveCorrupt';
}

/**
 * Returns the reason why a job failed, as stored by the machine: `code` is the reason for callers, `raw` its
 * google.rpc.Code.
 */
export function jobFailure(error: unknown): Failure {
  if (error instanceof StatusError)
    return { code: error.reason, summary: error.message, suggestion: '', raw: error.code };
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof ArchiveCorrupt) {
    return failure(
      'BACKUP_CORRUPT',
      `The backup is damaged. Nothing was restored: ${error.message}`,
      'FAILED_PRECONDITION',
    );
  }
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return failure('DISK_FULL', "The machine's disk is full.", 'RESOURCE_EXHAUSTED');
  return failure('INTERNAL', 'An internal error occurred. The operator can find the cause in the log.', 'INTERNAL');
}

function failure(code: string, summary: string, raw: string): Failure {
  return { code, summary, suggestion: '', raw };
}

/** Returns a job's failure for callers. */
export function jobStatus({ code, summary, raw }: Failure): StatusError {
  return new StatusError(Object.hasOwn(CODES, raw) ? (raw as Code) : 'INTERNAL', code, summary);
}

import type { Failure } from '../../machines/server-types.ts';
import { CODES, type Code, StatusError } from '../kernel/status.ts';
import { ArchiveCorrupt } from './errors.ts';

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

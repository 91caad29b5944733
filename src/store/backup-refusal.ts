import { StatusError } from '../kernel/status.ts';

/** Why a service is not backed up or restored, in a sentence that says what to do. */
export function backupRefusal(message: string, cause?: unknown): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'SERVICE_BACKUP', message, { cause });
}

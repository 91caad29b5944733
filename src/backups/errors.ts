import { StatusError } from '../kernel/status.ts';

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

export function keyMissing(id: string, keyId: string): StatusError {
  const sentence =
    `This backup is encrypted with a key that the service does not have (key id ${keyId}). ` +
    'Ask the operator to add the key to BACKUP_ENCRYPTION_KEY.';
  return new StatusError('FAILED_PRECONDITION', 'BACKUP_KEY_MISSING', sentence, { metadata: { id, keyId } });
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

import { type Code, StatusError } from '../kernel/status.ts';
import { type Names, joinNames, shown } from './path.ts';

type Refusal = readonly [code: Code, reason: string, sentence: string];

const TAKEN = 'This path already exists. Choose another name, or move the existing entry first.';

/** The entry exists but cannot be used. */
export const NOT_ACCESSIBLE = 'PATH_NOT_ACCESSIBLE';

const REFUSALS: Record<string, Refusal> = {
  ENOENT: ['NOT_FOUND', 'PATH_NOT_FOUND', 'No such file or directory.'],
  EEXIST: ['ALREADY_EXISTS', 'PATH_EXISTS', TAKEN],
  ENOTEMPTY: ['ALREADY_EXISTS', 'PATH_EXISTS', TAKEN],
  ENOTDIR: ['FAILED_PRECONDITION', 'NOT_A_DIRECTORY', 'Part of the path is a link or not a directory.'],
  ELOOP: ['FAILED_PRECONDITION', 'PATH_IS_LINK', 'It is a symbolic link. Links are not followed.'],
  EISDIR: ['FAILED_PRECONDITION', 'NOT_A_FILE', 'It is a directory.'],
  ENXIO: ['FAILED_PRECONDITION', 'NOT_A_FILE', 'It is not a plain file.'],
  ENODEV: ['FAILED_PRECONDITION', 'NOT_A_FILE', 'It is not a plain file.'],
  // Not PERMISSION_DENIED, because the caller has permission and the service has not.
  EACCES: ['FAILED_PRECONDITION', NOT_ACCESSIBLE, 'The file system does not allow the service to do this.'],
  EPERM: ['FAILED_PRECONDITION', NOT_ACCESSIBLE, 'The file system does not allow the service to do this.'],
  EROFS: ['UNAVAILABLE', 'DISK_READ_ONLY', 'The machine’s disk is read-only. Tell the operator.'],
  ENAMETOOLONG: ['INVALID_ARGUMENT', 'INVALID_PATH', 'The name is too long for the file system.'],
  EINVAL: ['FAILED_PRECONDITION', 'PATH_NOT_POSSIBLE', 'The file system does not allow this.'],
  EFBIG: ['RESOURCE_EXHAUSTED', 'DISK_FULL', 'The file is too large for the file system.'],
  ENOSPC: ['RESOURCE_EXHAUSTED', 'DISK_FULL', "The machine's disk is full."],
  EDQUOT: ['RESOURCE_EXHAUSTED', 'DISK_FULL', "The machine's disk is full."],
  EMFILE: ['UNAVAILABLE', 'TOO_MANY_FILES', 'Too many files are open. Try again.'],
  ENFILE: ['UNAVAILABLE', 'TOO_MANY_FILES', 'Too many files are open. Try again.'],
  EBUSY: ['UNAVAILABLE', 'PATH_BUSY', 'The file system is busy with it. Try again.'],
};

/** Converts the file system's error about a path for the caller; other errors stay as they are. */
export function fileError(error: unknown, path: string): unknown {
  const refusal = error instanceof Error && 'syscall' in error && REFUSALS[(error as NodeJS.ErrnoException).code ?? ''];
  return refusal ? refuse(refusal, path, error) : error;
}

/** Returns the error for a file system's code: `refused('EEXIST', 'world/level.dat')`. */
export function refused(code: string, path: string): StatusError {
  return refuse(REFUSALS[code]!, path);
}

/** Returns the error for a hard link, because the same file may belong to another user under its other name. */
export function hardLinked(path: string): StatusError {
  return refuse(
    ['FAILED_PRECONDITION', 'PATH_IS_LINK', 'It has a second name (a hard link), so it cannot be changed.'],
    path,
  );
}

/** Returns the error for an entry that has changed since the caller read it. */
export function changedMeanwhile(names: Names): StatusError {
  const sentence = 'It has changed since you read it. Read it again.';
  return refuse(['ABORTED', 'FILE_CHANGED', sentence], joinNames(names));
}

function refuse([code, reason, sentence]: Refusal, path: string, cause?: unknown): StatusError {
  const metadata = { path: shown(path) };
  return new StatusError(code, reason, `${metadata.path || '/'}: ${sentence}`, { metadata, cause });
}

import { execFile } from 'node:child_process';

/**
 * Has the file system that a path lies on put all on disk that was written before: syncfs(2), which Node has no call for, by
 * `sync -f` of coreutils or BusyBox. For many files that costs far less than an fsync of each, for which the file system would
 * close a transaction. False where it could not be done.
 */
export function syncFileSystem(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    execFile('sync', ['-f', path], (error) => resolve(error === null));
  });
}

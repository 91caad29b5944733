import type { EventEmitter } from 'node:events';
import type { FileHandle } from 'node:fs/promises';

/**
 * Tracks open files of servers, over SFTP or for a download. A deleted file takes space until it is closed, and no walk
 * finds it.
 */
export interface OpenFiles {
  /** Tracks a file until it is closed. */
  add(serverId: string, file: FileHandle): void;
  /** Returns the bytes of open files whose last name was removed. Calls `closed` when one of them is closed. */
  deletedBytes(serverId: string, closed: () => void): Promise<number>;
}

const BLOCK_BYTES = 512;

export function createOpenFiles(): OpenFiles {
  /** By server. Each file has the function to call when it is closed. */
  const open = new Map<string, Map<FileHandle, () => void>>();
  return {
    add(serverId, file) {
      const files = open.get(serverId) ?? new Map<FileHandle, () => void>();
      open.set(
        serverId,
        files.set(file, () => {}),
      );
      // Node's types leave out that a FileHandle is an EventEmitter.
      (file as FileHandle & EventEmitter).once('close', () => {
        const closed = files.get(file);
        files.delete(file);
        if (files.size === 0 && open.get(serverId) === files) open.delete(serverId);
        closed?.();
      });
    },
    async deletedBytes(serverId, closed) {
      const files = open.get(serverId) ?? new Map<FileHandle, () => void>();
      const found = new Map<string, number>();
      for (const file of files.keys()) {
        // A file that was closed meanwhile takes no space.
        const stats = await file.stat().catch(() => undefined);
        if (stats?.nlink !== 0 || !files.has(file)) continue;
        files.set(file, closed);
        found.set(`${stats.dev}:${stats.ino}`, Math.max(stats.size, stats.blocks * BLOCK_BYTES));
      }
      return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
    },
  };
}

import type { EventEmitter } from 'node:events';
import type { FileHandle } from 'node:fs/promises';

/**
 * Files of servers that are open, over SFTP or for a download. A file that is deleted meanwhile takes its room until it
 * is closed, and no walk finds it.
 */
export interface OpenFiles {
  /** Until it is closed. */
  add(serverId: string, file: FileHandle): void;
  /** The bytes of open files that have no name any more. `closed` is called when one of them is closed. */
  deletedBytes(serverId: string, closed: () => void): Promise<number>;
}

const BLOCK_BYTES = 512;

export function createOpenFiles(): OpenFiles {
  /** By server, with the function to call at the end. */
  const open = new Map<string, Map<FileHandle, () => void>>();
  return {
    add(serverId, file) {
      const files = open.get(serverId) ?? new Map<FileHandle, () => void>();
      open.set(
        serverId,
        files.set(file, () => {}),
      );
      // Node's types do not say that it is an emitter.
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
        // Closed meanwhile, it takes nothing.
        const stats = await file.stat().catch(() => undefined);
        if (stats?.nlink !== 0 || !files.has(file)) continue;
        files.set(file, closed);
        found.set(`${stats.dev}:${stats.ino}`, Math.max(stats.size, stats.blocks * BLOCK_BYTES));
      }
      return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
    },
  };
}

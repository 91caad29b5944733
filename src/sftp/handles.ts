import type { Entry, JailFile } from '../jail/jail.ts';
import { StatusError } from '../kernel/status.ts';

/** A file that a client has open. */
export interface OpenFile {
  file: JailFile;
  readable: boolean;
  writable: boolean;
  /** Writes are appended to the file, regardless of the client's offset. */
  append: boolean;
}

/** A directory that a client is listing. */
export interface OpenDirectory {
  batches: AsyncGenerator<Entry[]>;
  /** The unsent part of the current batch. */
  rest: Entry[];
}

/** The open handles of a session. Handle numbers are never reused. */
export interface Handles {
  /**
   * Opens a file or directory and returns the client's handle for it. Rejects with RESOURCE_EXHAUSTED TOO_MANY_HANDLES
   * before it opens anything.
   */
  add(open: () => Promise<OpenFile | OpenDirectory>): Promise<string>;
  file(handle: string): OpenFile;
  directory(handle: string): OpenDirectory;
  close(handle: string): Promise<void>;
  closeAll(): Promise<void>;
}

/** Creates the handles of a session: at most `most`, and at most `total.left` over all sessions. */
export function createHandles(most: number, total: { left: number }): Handles {
  const open = new Map<string, OpenFile | OpenDirectory>();
  let last = 0;

  function get(handle: string): OpenFile | OpenDirectory {
    const found = open.get(handle);
    if (found) return found;
    throw new StatusError('FAILED_PRECONDITION', 'NOT_OPEN', 'There is no such handle.');
  }

  async function release(handle: string, opened: OpenFile | OpenDirectory): Promise<void> {
    open.delete(handle);
    total.left++;
    if ('file' in opened) await opened.file.close();
    else await opened.batches.return(undefined);
  }

  return {
    async add(work) {
      if (open.size >= most || total.left <= 0) {
        throw new StatusError('RESOURCE_EXHAUSTED', 'TOO_MANY_HANDLES', 'Too many files are open. Close some.');
      }
      total.left--;
      try {
        const opened = await work();
        const handle = String(++last);
        open.set(handle, opened);
        return handle;
      } catch (error) {
        total.left++;
        throw error;
      }
    },
    file(handle) {
      const found = get(handle);
      if ('file' in found) return found;
      throw new StatusError('FAILED_PRECONDITION', 'NOT_A_FILE', 'This is a directory.');
    },
    directory(handle) {
      const found = get(handle);
      if ('batches' in found) return found;
      throw new StatusError('FAILED_PRECONDITION', 'NOT_A_DIRECTORY', 'This is a file.');
    },
    close: (handle) => release(handle, get(handle)),
    async closeAll() {
      await Promise.allSettled(Array.from(open, ([handle, opened]) => release(handle, opened)));
    },
  };
}

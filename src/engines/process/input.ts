import { execFile } from 'node:child_process';
import { constants, mkdirSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkedServerId } from '../server-id.ts';

/**
 * The standard input of games, as named pipes beside their run files. A game keeps its own pipe open, so the pipe
 * outlives the service, and the next service process finds it.
 */
export class ProcessInput {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Creates the pipe for a game that is about to start. The caller closes it once the game has it. */
  async openForGame(serverId: string): Promise<FileHandle> {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
    this.remove(serverId);
    await promisify(execFile)('mkfifo', ['-m', '600', this.#path(serverId)]);
    // Open at both ends, so that the game's input does not end when a writer closes the pipe.
    return await open(this.#path(serverId), constants.O_RDWR);
  }

  /** Writes a line. Returns false if no game reads the pipe, or if the pipe is full. */
  async write(serverId: string, line: string): Promise<boolean> {
    try {
      await using pipe = await open(this.#path(serverId), constants.O_WRONLY | constants.O_NONBLOCK);
      const bytes = Buffer.from(`${line}\n`);
      return (await pipe.write(bytes)).bytesWritten === bytes.length;
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (['ENOENT', 'ENXIO', 'EAGAIN'].includes(code)) return false;
      throw error;
    }
  }

  remove(serverId: string): void {
    rmSync(this.#path(serverId), { force: true });
  }

  #path(serverId: string): string {
    return join(this.#dir, `${checkedServerId(serverId)}.input`);
  }
}

import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { type FileHandle, mkdir, open, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { KIB, MIB } from '../../kernel/units.ts';
import { checkedServerId } from '../server-id.ts';

const NEWLINE = 0x0a;
const CHUNK = 64 * KIB;
const COPY_CHUNK = MIB;

/** A position in a server's log: the number of the file, and a byte in it. */
export interface Spot {
  generation: number;
  offset: number;
}

/**
 * The log files of a directory, `<server id>.<generation>.log`. Games append to the newest through their own
 * descriptor, without the service. All but the newest two are removed. Reads of more than one file are synchronous, so
 * that no rotation happens in between.
 */
export class ProcessLogFiles {
  readonly #dir: string;
  readonly #maxBytes: number;
  /** If a game prints more than this between two checks, only the end of it is stored. */
  readonly #floodBytes: number;

  constructor(dir: string, maxBytes = 10 * MIB, floodBytes = 64 * MIB) {
    this.#dir = dir;
    this.#maxBytes = maxBytes;
    this.#floodBytes = floodBytes;
  }

  /** Opens the newest file for a game that is about to start. The caller closes it. */
  async openForGame(serverId: string): Promise<FileHandle> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    this.heal(serverId);
    let newest = this.generations(serverId).at(-1) ?? 1;
    if (this.size(serverId, newest) > this.#maxBytes) newest += 1;
    this.#prune(serverId, newest);
    const file = await open(this.path(serverId, newest), 'a+', 0o600);
    // An unfinished line of an earlier game must not join the first line of this one.
    const { size } = await file.stat();
    if (size > 0 && this.read(serverId, { generation: newest, offset: size - 1 }, 1)[0] !== NEWLINE)
      await file.write('\n');
    return file;
  }

  /** Returns the numbers of the existing files, oldest first. */
  generations(serverId: string): number[] {
    const prefix = `${checkedServerId(serverId)}.`;
    const names = existsSync(this.#dir) ? readdirSync(this.#dir) : [];
    const numbers = names.flatMap((name) => {
      const [, number] = (name.startsWith(prefix) && /^(\d+)\.log$/.exec(name.slice(prefix.length))) || [];
      return number === undefined ? [] : [Number(number)];
    });
    return numbers.sort((a, b) => a - b);
  }

  path(serverId: string, generation: number): string {
    return join(this.#dir, `${checkedServerId(serverId)}.${generation}.log`);
  }

  exists(serverId: string, generation: number): boolean {
    return existsSync(this.path(serverId, generation));
  }

  size(serverId: string, generation: number): number {
    return statSync(this.path(serverId, generation), { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Reads up to `length` bytes. Returns an empty buffer at the end of the file, or if the file is gone. */
  read(serverId: string, { generation, offset }: Spot, length = CHUNK): Buffer {
    // Check the size first: followers read a few times a second, usually without new output.
    const size = Math.min(length, this.size(serverId, generation) - offset);
    const buffer = Buffer.allocUnsafe(Math.max(0, size));
    if (size <= 0) return buffer;
    try {
      const fd = openSync(this.path(serverId, generation), 'r');
      try {
        return buffer.subarray(0, readSync(fd, buffer, 0, size, offset));
      } finally {
        closeSync(fd);
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return buffer.subarray(0, 0);
      throw error;
    }
  }

  /**
   * Starts a new file for a running game once its file is large, and returns whether it was. The game keeps writing to
   * the same file, which gets the next number and is emptied, while a copy gets the old number. `pause` stops the
   * game's writing for that moment and returns whether it did; `resume` continues it. If the file is far beyond the
   * limit, only its end is stored, under the following number: a position in the lost part leads there.
   */
  async rotateIfLarge(serverId: string, pause: () => Promise<boolean>, resume: () => void): Promise<boolean> {
    const generation = this.generations(serverId).at(-1);
    if (generation === undefined || this.size(serverId, generation) <= this.#maxBytes) return false;
    const live = this.path(serverId, generation);
    const size = this.size(serverId, generation);
    const copied = size <= this.#floodBytes ? size : 0;
    let kept = generation;
    try {
      // Output written during the copy is copied once the game is paused.
      if (copied > 0) await copyRange(live, this.#part(serverId, kept), 0, copied);
      if (!(await pause())) return true;
      const end = this.size(serverId, generation);
      let from = copied;
      if (end - copied > this.#floodBytes) {
        rmSync(this.#part(serverId, kept), { force: true });
        kept += 1;
        from = this.#lineStart(live, end - this.#maxBytes);
      }
      await copyRange(live, this.#part(serverId, kept), from, end);
      // Freeing gigabytes takes seconds and must not block; `heal` frees the rest.
      if (kept > generation) await truncate(live, end - from);
      renameSync(live, this.path(serverId, kept + 1));
      this.heal(serverId);
      return true;
    } finally {
      resume();
      rmSync(this.#part(serverId, kept), { force: true });
    }
  }

  /** Finishes or undoes an interrupted rotation. */
  heal(serverId: string): void {
    for (const generation of this.#parts(serverId)) {
      const part = this.#part(serverId, generation);
      const next = this.path(serverId, generation + 1);
      if (!this.exists(serverId, generation) && existsSync(next)) {
        const copied = statSync(part).size;
        if (statSync(next).size >= copied) {
          // The beginning of an unfinished line stays with its end.
          const keep = this.#unfinished(part, copied);
          truncateSync(next, 0);
          appendFileSync(next, keep);
          truncateSync(part, copied - keep.length);
        }
        renameSync(part, this.path(serverId, generation));
        this.#prune(serverId, generation + 1);
      } else rmSync(part, { force: true });
    }
  }

  remove(serverId: string): void {
    for (const generation of this.#parts(serverId)) rmSync(this.#part(serverId, generation), { force: true });
    for (const generation of this.generations(serverId)) rmSync(this.path(serverId, generation), { force: true });
  }

  #part(serverId: string, generation: number): string {
    return `${this.path(serverId, generation)}.part`;
  }

  #parts(serverId: string): number[] {
    const last = this.generations(serverId).at(-1) ?? 0;
    return [last - 1, last, last + 1].filter((generation) => existsSync(this.#part(serverId, generation)));
  }

  #prune(serverId: string, newest: number): void {
    for (const generation of this.generations(serverId)) {
      if (generation < newest - 1) rmSync(this.path(serverId, generation), { force: true });
    }
  }

  /** Returns the offset after the first line end from `offset` on; `offset` if none is near. */
  #lineStart(path: string, offset: number): number {
    const buffer = Buffer.alloc(CHUNK);
    const fd = openSync(path, 'r');
    try {
      return offset + buffer.subarray(0, readSync(fd, buffer, 0, CHUNK, offset)).indexOf(NEWLINE) + 1;
    } finally {
      closeSync(fd);
    }
  }

  #unfinished(path: string, size: number): Buffer {
    const buffer = Buffer.alloc(Math.min(CHUNK, size));
    const fd = openSync(path, 'r');
    try {
      readSync(fd, buffer, 0, buffer.length, size - buffer.length);
    } finally {
      closeSync(fd);
    }
    return buffer.subarray(buffer.lastIndexOf(NEWLINE) + 1);
  }
}

/** Appends the bytes `from`–`end` of a file to another, which may not be there yet, without blocking the thread. */
async function copyRange(source: string, target: string, from: number, end: number): Promise<void> {
  await using input = await open(source, 'r');
  await using output = await open(target, 'a', 0o600);
  const buffer = Buffer.allocUnsafe(COPY_CHUNK);
  for (let offset = from; offset < end;) {
    const { bytesRead } = await input.read(buffer, 0, Math.min(COPY_CHUNK, end - offset), offset);
    if (bytesRead === 0) return;
    await output.writeFile(buffer.subarray(0, bytesRead));
    offset += bytesRead;
  }
}

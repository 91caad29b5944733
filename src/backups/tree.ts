import { closeSync, constants, fchownSync, mkdirSync, openSync } from 'node:fs';
import { SAFELY, at } from '../jail/descriptors.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_DIRECTORY } = constants;

/**
 * A tree in the making, by calls that block. `names` is the path from its top, each character a byte. Throws the file system's
 * error: EEXIST where something is there already, ENOENT or ENOTDIR where the folder above is missing.
 */
export interface TreeMaker extends Disposable {
  folder(names: readonly string[]): void;
  /** Open for writing; the caller closes it. */
  file(names: readonly string[], mode: number): number;
}

interface Level {
  name: string;
  fd: number;
}

/**
 * Makes a tree in the order of a walk, each folder before its content, in an empty folder that is open and stays so. Only the
 * folders above the last entry are open, so each entry is reached by one name, however long its path is.
 */
export function openTree(root: number, owner: FileOwner | undefined): TreeMaker {
  const levels: Level[] = [{ name: '', fd: root }];

  /** Returns the folder that holds the entry. */
  function placeOf(names: readonly string[]): string | Buffer {
    const folders = names.slice(0, -1);
    const apart = folders.findIndex((name, depth) => levels[depth + 1]?.name !== name);
    leave(1 + (apart === -1 ? folders.length : apart));
    for (const name of folders.slice(levels.length - 1)) {
      levels.push({ name, fd: openSync(at(levels.at(-1)!, bytesOf(name)), O_RDONLY | O_DIRECTORY | SAFELY) });
    }
    return at(levels.at(-1)!, bytesOf(names.at(-1)!));
  }

  function leave(kept: number): void {
    for (const { fd } of levels.splice(kept).toReversed()) closeSync(fd);
  }

  function give(fd: number): number {
    try {
      if (owner) fchownSync(fd, owner.uid, owner.gid);
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  return {
    folder(names) {
      const place = placeOf(names);
      mkdirSync(place, 0o750);
      if (owner) closeSync(give(openSync(place, O_RDONLY | O_DIRECTORY | SAFELY)));
    },
    file: (names, mode) => give(openSync(placeOf(names), O_RDWR | O_CREAT | O_EXCL | SAFELY, (mode & 0o777) | 0o600)),
    [Symbol.dispose]: () => leave(1),
  };
}

function bytesOf(name: string): Buffer {
  return Buffer.from(name, 'latin1');
}

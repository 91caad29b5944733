import { closeSync, constants, fchownSync, mkdirSync, openSync } from 'node:fs';
import { SAFELY, at } from '../jail/descriptors.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_DIRECTORY } = constants;

/**
 * Creates a tree with blocking calls. `names` is the path from its root, each character representing a byte. Throws the
 * file system's error: EEXIST if the entry exists, ENOENT or ENOTDIR if the parent folder is missing.
 */
export interface TreeMaker extends Disposable {
  folder(names: readonly string[]): void;
  /** Returns a descriptor open for writing, which the caller closes. */
  file(names: readonly string[], mode: number): number;
}

interface Level {
  name: string;
  fd: number;
}

/**
 * Creates a tree in an empty folder, whose descriptor must stay open. Each folder must come before its content. Only
 * the folders above the last entry are kept open, so each entry is reached by one name, however long its path is.
 */
export function openTree(root: number, owner: FileOwner | undefined): TreeMaker {
  const levels: Level[] = [{ name: '', fd: root }];

  /** Returns the path of an entry in its open folder. */
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

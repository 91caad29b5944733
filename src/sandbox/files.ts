import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/**
 * Reads a text file, without the byte order mark that a Windows editor may have added. Throws the file system's error.
 */
export function readText(path: string): string {
  return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
}

/**
 * Replaces a file in one step: a reader, even after a power cut, finds the old or the new text, never a mixture. Throws
 * the file system's error.
 */
export function writeAtomic(path: string, content: string | Buffer): void {
  const temporary = `${path}.tmp`;
  const file = openSync(temporary, 'w');
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

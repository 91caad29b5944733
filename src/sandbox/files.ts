import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** A text file without the byte order mark with which a Windows editor may have begun it. Throws what the file system throws. */
export function readText(path: string): string {
  return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
}

/**
 * Replaces a file in one step: whoever reads it, also after a power cut, finds the old or the new text, never half of
 * one. Throws what the file system throws.
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

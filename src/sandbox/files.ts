import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';

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

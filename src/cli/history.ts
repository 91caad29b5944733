import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writePrivate } from './credentials.ts';

const MOST_LINES = 500;
const MOST_CHARS = 4096;

/** Commands typed at consoles, newest first. */
export interface History {
  load(): Promise<string[]>;
  /** Stores the newest lines. Does nothing if the folder is not writable. */
  save(lines: readonly string[]): Promise<void>;
}

/** The history stored beside the key file, readable only by its owner. */
export function historyBeside(credentialsFile: string): History {
  const file = join(dirname(credentialsFile), 'console-history.json');
  return {
    async load() {
      try {
        const lines: unknown = JSON.parse(await readFile(file, 'utf8'));
        return Array.isArray(lines) ? bounded(lines) : [];
      } catch {
        // Missing or damaged: the next line replaces it.
        return [];
      }
    },
    save: (lines) => writePrivate(file, `${JSON.stringify(bounded(lines))}\n`).catch(() => {}),
  };
}

function bounded(lines: readonly unknown[]): string[] {
  const texts = lines.filter((line): line is string => typeof line === 'string' && line.length <= MOST_CHARS);
  return texts.slice(0, MOST_LINES);
}

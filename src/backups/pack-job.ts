import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { readTree } from '../jail/read-tree.ts';
import { job } from '../kernel/workers/job.ts';
import { compressed } from './compressed.ts';
import { type SealKey, sealed } from './seal.ts';
import { tarOf } from './tar.ts';

/** A finished archive. */
export interface Archive {
  sizeBytes: number;
  /** The size of the archived files. */
  treeBytes: number;
  /** In hex. */
  sha256: string;
  /** A note for the backup's owner about what the archive lacks; '' if it is complete. */
  note: string;
}

export interface PackInput {
  /** Whether there is a tree. Without one, the archive is empty. */
  hasTree: boolean;
  /** The encryption key; undefined: unencrypted. */
  key: SealKey | undefined;
}

/** Sent before a piece is written: its size, and how much of the files has been read. */
export interface PackStep {
  bytes: number;
  treeBytes: number;
  /** Set in the last step. */
  archive?: Archive;
}

/** The worker's descriptors of the job: the archive, open for writing, and the root of the tree. */
const [ARCHIVE, TREE] = [4, 5];

/** Writes a tree as a compressed tar. File calls block, because this process does nothing else. */
export const packTree = job(
  import.meta.url,
  'packTree',
  async function* packTree({ hasTree, key }: PackInput): AsyncGenerator<PackStep> {
    const hash = createHash('sha256');
    let [sizeBytes, treeBytes] = [0, 0];
    let [links, firstLink] = [0, ''];
    const onLink = (path: string): void => {
      firstLink ||= path;
      links += 1;
    };
    const tar = tarOf(hasTree ? readTree(TREE, onLink) : [], (bytes) => (treeBytes += bytes));
    async function* counted(): AsyncGenerator<Buffer> {
      for await (const chunk of compressed(tar)) {
        sizeBytes += chunk.length;
        hash.update(chunk);
        yield chunk;
      }
    }
    for await (const piece of key ? sealed(counted(), key) : counted()) {
      yield { bytes: piece.length, treeBytes };
      writeFileSync(ARCHIVE, piece);
    }
    yield {
      bytes: 0,
      treeBytes,
      archive: { sizeBytes, treeBytes, sha256: hash.digest('hex'), note: linksNote(links, firstLink) },
    };
  },
);

function linksNote(count: number, first: string): string {
  if (count === 0) return '';
  const which = count === 1 ? `The symbolic link ${first} is` : `${count} symbolic links (${first} and others) are`;
  return `${which} not in this backup. Linked files are not included. Move them into the server’s folder to back them up.`;
}

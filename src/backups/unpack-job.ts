import { createReadStream } from 'node:fs';
import process from 'node:process';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { KIB } from '../kernel/units.ts';
import { job } from '../kernel/workers/job.ts';
import { type ArchiveFacts, unpack } from './unpack.ts';

/** The worker's first descriptor of the job. */
const FOLDER = 4;

/** Bytes read from a file at once. With fewer, passing them on costs more than processing them. */
const CHUNK_BYTES = 512 * KIB;

export interface UnpackInput {
  facts: ArchiveFacts;
  owner: FileOwner | undefined;
  /** Whether standard input is a file. */
  isFile: boolean;
}

/** Unpacks the archive on standard input into an empty folder (`unpack.ts`). */
export const unpackArchive = job(import.meta.url, 'unpackArchive', ({ facts, owner, isFile }: UnpackInput) => {
  const archive = isFile ? createReadStream('', { fd: 0, start: 0, highWaterMark: CHUNK_BYTES }) : process.stdin;
  return unpack(archive, facts, { root: FOLDER, owner });
});

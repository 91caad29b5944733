import { unpack } from '../files/archives/read.ts';
import type { JailFile } from '../jail/jail.ts';
import { MIB } from '../kernel/units.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import { type Findings, type ImportFile, clueBytes, findingsOf, withoutDot } from './findings.ts';

/** Limit of the clues of an archive, all together. Those of real servers have less than a megabyte. */
const MAX_CLUES_BYTES = 16 * MIB;

/**
 * Returns the server in an archive; undefined if there is none. Reads the archive once, in a worker and with the limits
 * of `unpack`, and throws its errors. Keeps only small files that tell about the server.
 */
export async function inspect(
  archive: JailFile,
  workers: WorkerPool,
  options: { tenant: string; signal?: AbortSignal | undefined },
): Promise<Findings | undefined> {
  const files: ImportFile[] = [];
  const clues = new Map<string, Uint8Array>();
  let left = MAX_CLUES_BYTES;
  for await (const { path: stored, kind, content } of unpack(archive, workers, options)) {
    if (kind === 'directory') continue;
    const path = withoutDot(stored);
    const most = Math.min(clueBytes(path), left);
    const held: Uint8Array[] = [];
    let sizeBytes = 0;
    for await (const chunk of content) {
      sizeBytes += chunk.length;
      if (sizeBytes <= most) held.push(chunk);
    }
    files.push({ path, sizeBytes });
    if (sizeBytes === 0 || sizeBytes > most) continue;
    clues.set(path, Buffer.concat(held));
    left -= sizeBytes;
  }
  return findingsOf(files, clues);
}

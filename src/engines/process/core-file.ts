import { lstat, mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeAtomic } from '../../kernel/atomic-file.ts';
import type { StatusError } from '../../kernel/status.ts';
import { EngineError } from '../engine.ts';

/** Returns whether a core's jar exists as a plain file. */
export async function hasCore(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isFile() ?? false;
}

/** Returns a core's file name. `loader`: a certain version of its loader. */
export function coreName(core: string, version: string, loader?: string): string {
  return loader === undefined ? `${core}-${version}.jar` : `${core}-${version}-${loader}.jar`;
}

/** Writes a core's jar, atomically. */
export async function saveCore(path: string, chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.part`;
  await rm(draft, { force: true });
  await writeAtomic(path, chunks, { mode: 0o644, draft });
}

/**
 * Returns the EngineError of a failed download: `download_failed` for a temporary fault, otherwise `core_unavailable`.
 */
export function coreFailure(error: StatusError): EngineError {
  if (error.code !== 'UNAVAILABLE') return coreUnavailable(error.message, error);
  return new EngineError('download_failed', error.message, { suggestion: 'Try again in a few minutes.', cause: error });
}

export function coreUnavailable(message: string, cause?: unknown): EngineError {
  return new EngineError('core_unavailable', message, {
    suggestion: 'Choose another version, or ask the operator to add the jar to the cores folder.',
    cause,
  });
}

import { lstat, mkdir, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeAtomic } from '../../kernel/atomic-file.ts';
import type { StatusError } from '../../kernel/status.ts';
import { EngineError } from '../engine.ts';

/** Whether a core's jar is there, as a plain file. */
export async function hasCore(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isFile() ?? false;
}

/** A core's file name; `loader` where a certain version of its loader is meant. */
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

/** The EngineError of a failed download: a fault that may pass, or a core that is not there. */
export function coreFailure(error: StatusError): EngineError {
  if (error.code !== 'UNAVAILABLE') return coreUnavailable(error.message, error);
  return new EngineError('download_failed', error.message, { suggestion: 'Try again in a few minutes.', cause: error });
}

export function coreUnavailable(message: string, cause?: unknown): EngineError {
  return new EngineError('core_unavailable', message, {
    suggestion: 'Choose another version, or ask the operator to put the jar among the cores.',
    cause,
  });
}

import { StatusError } from '../kernel/status.ts';
import type { Jail } from './jail.ts';

/** Size of a plain file; undefined where there is none. */
export async function sizeIfThere(jail: Jail, path: string): Promise<number | undefined> {
  try {
    const { kind, sizeBytes } = await jail.stat(path);
    return kind === 'file' ? sizeBytes : undefined;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Removes a file; it need not be there. */
export async function removeIfThere(jail: Jail, path: string): Promise<void> {
  try {
    await jail.remove(path);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

function isGone(error: unknown): boolean {
  return error instanceof StatusError && (error.code === 'NOT_FOUND' || error.reason === 'NOT_A_DIRECTORY');
}

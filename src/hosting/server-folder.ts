import { chown, mkdir } from 'node:fs/promises';
import type { Jail } from './jail.ts';
import type { FileOwner } from './properties.ts';
import { StatusError } from '../status.ts';

/** Makes a server's folder where it is not there yet, as one that never started has none. */
export async function createFolder(root: string, owner: FileOwner | undefined): Promise<void> {
  const made = await mkdir(root, { recursive: true, mode: 0o750 });
  if (made !== undefined && owner) await chown(root, owner.uid, owner.gid);
}

/**
 * Refuses to call a change done that has gone into a folder which is a server's no more: a restore has put another in its
 * place meanwhile. To be called after the change. ABORTED FILES_REPLACED.
 */
export async function requireCurrent(jail: Pick<Jail, 'isAt'>, root: string): Promise<void> {
  if (await jail.isAt(root)) return;
  const sentence = "The server's files were replaced meanwhile, by a restore. Try again.";
  throw new StatusError('ABORTED', 'FILES_REPLACED', sentence);
}

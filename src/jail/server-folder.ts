import { chown, mkdir } from 'node:fs/promises';
import type { FileOwner } from '../kernel/atomic-file.ts';

/** Creates a server's folder if it is missing. A server that never started has none. */
export async function createFolder(root: string, owner: FileOwner | undefined): Promise<void> {
  const made = await mkdir(root, { recursive: true, mode: 0o750 });
  if (made !== undefined && owner) await chown(root, owner.uid, owner.gid);
}

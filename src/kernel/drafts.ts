import { readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ignore } from './ignore.ts';

/** The temporary name of a file that is written beside its final path. */
const DRAFT = /^(.+)\.[0-9a-f]{12}\.tmp$/;

/**
 * Removes drafts (`<name>.<12 hex digits>.tmp`) of the named files that are older than this process: their writers are
 * dead. Ignores a missing directory.
 */
export async function sweepDrafts(directory: string, isOurs: (name: string) => boolean): Promise<void> {
  const startedAt = Date.now() - process.uptime() * 1_000;
  const entries = await readdir(directory, { withFileTypes: true }).catch(ignore('ENOENT', 'ENOTDIR'));
  for (const entry of entries ?? []) {
    const [, name] = DRAFT.exec(entry.name) ?? [];
    if (name === undefined || !entry.isFile() || !isOurs(name)) continue;
    const path = join(directory, entry.name);
    const found = await stat(path).catch(ignore('ENOENT'));
    if (found && found.mtimeMs < startedAt) await unlink(path).catch(ignore('ENOENT'));
  }
}

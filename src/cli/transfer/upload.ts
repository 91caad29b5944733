import { openAsBlob } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { basename, join, posix } from 'node:path';
import { done } from '../api.ts';
import type { Context } from '../command.ts';
import { CommandError, failed } from '../errors.ts';
import { size } from '../format.ts';
import { reasonOf } from '../report.ts';
import { retried } from '../retry.ts';
import type { Messages } from '../shapes.ts';
import { localError } from './download.ts';

/** A local file and its target path on the server. */
export interface Sent {
  local: string;
  path: string;
  bytes: number;
}

/** Returns the plain files at and below local paths. Each goes below `to` under the last segment of its path. */
export async function filesAt(paths: readonly string[], to: string): Promise<Sent[]> {
  const lists = await Promise.all(
    paths.map(async (path) => {
      const name = basename(join(process.cwd(), path));
      return filesBelow(path, posix.join(to, name));
    }),
  );
  return lists.flat();
}

/** Skips links, because their targets are outside the folder. */
async function filesBelow(local: string, path: string): Promise<Sent[]> {
  try {
    const found = await lstat(local);
    if (found.isFile()) return [{ local, path, bytes: found.size }];
    if (!found.isDirectory()) return [];
    const names = await readdir(local);
    const lists: Sent[][] = [];
    for (const name of names.toSorted()) lists.push(await filesBelow(join(local, name), posix.join(path, name)));
    return lists.flat();
  } catch (error) {
    throw localError(error, local);
  }
}

/** Uploads a file as a stream. It appears once complete. Retries after an interruption. Throws CommandError. */
export async function upload(context: Context, id: string, { local, path }: Sent, overwrite: boolean) {
  try {
    return await retried(context.signal, () => sendOnce(context, id, { local, path, overwrite }));
  } catch (error) {
    throw explained(error, path);
  }
}

async function sendOnce(
  { slow }: Context,
  id: string,
  { local, path, overwrite }: { local: string; path: string; overwrite: boolean },
): Promise<Messages['FileEntry']> {
  const blob = await openAsBlob(local).catch((error: unknown) => Promise.reject(localError(error, local)));
  return done(
    slow.POST('/v1/servers/{id}/file:upload', {
      params: { path: { id }, query: { path, overwrite } },
      headers: { 'content-type': 'application/octet-stream' },
      // Typed as a string, but sent as a stream.
      body: blob as unknown as string,
      bodySerializer: (body: unknown) => body,
    }),
  );
}

/** Adds the remedy for an existing file. */
function explained(error: unknown, path: string): unknown {
  if (!(error instanceof CommandError)) return error;
  if (reasonOf(error) !== 'PATH_EXISTS') return error;
  return failed('FILE_EXISTS', `${path} already exists on the server. Replace it with --force.`);
}

/** Shows the progress of several files on a redrawn line. */
export function counted({ json, terminal }: Context, files: readonly Sent[]): (index: number) => void {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let before = 0;
  return (index) => {
    const file = files[index];
    if (file === undefined || json || !terminal.err.isTerminal) return;
    const share = total === 0 ? 100 : Math.floor((before / total) * 100);
    terminal.progress(`${share} % of ${size(total)}  ${file.path}`);
    before += file.bytes;
  };
}

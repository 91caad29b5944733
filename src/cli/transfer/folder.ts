import { mkdir } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { done, refusal } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import type { Context } from '../command.ts';
import { CommandError, failed, wrongUsage, failedHere } from '../errors.ts';
import { FILE, chunksOf } from '../http.ts';
import { reasonOf } from '../report.ts';
import { retried } from '../retry.ts';
import { type Messages, read } from '../shapes.ts';
import { download } from './download.ts';

const PAGE = 1000;
const MOST_DEPTH = 64;

/** A file or directory of a server in a listing. */
export const ENTRY = { name: '', isDir: false as boolean, size: '0', modifiedAt: '' } satisfies Messages['FileEntry'];
export type Entry = typeof ENTRY;

/** The result of downloading a folder. */
export interface SavedFolder {
  folder: string;
  files: number;
  bytes: number;
  /** Paths that could not be downloaded: links, and files deleted in the meantime. */
  missing: string[];
}

/** Lists a directory of a server, page by page. Names are unchanged. */
export async function listed({ api, signal }: Context, id: string, path: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (;;) {
    const query = { path, limit: PAGE, offset: entries.length };
    const reply = await retried(signal, () =>
      done(api.GET('/v1/servers/{id}/files', { params: { path: { id }, query } })),
    );
    const page = read({ entries: [ENTRY] }, reply, (text) => text).entries;
    entries.push(...page);
    if (page.length < PAGE) return entries;
  }
}

/** Reports whether a path on a server is a directory. Throws if it does not exist. */
export async function isDirectory(context: Context, id: string, path: string): Promise<boolean> {
  const clean = posix.normalize(`/${path}`);
  if (clean === '/') return true;
  const within = await listed(context, id, posix.dirname(clean).slice(1));
  const found = within.find(({ name }) => name === posix.basename(clean));
  if (found === undefined) throw failed('NO_SUCH_FILE', `${id} has no file ${path}. See: ${DORMOUSE} files ls ${id}`);
  return found.isDir;
}

/** Returns the request for a file's content, for `download`. */
export function contentOf({ api }: Context, id: string, path: string) {
  return (headers: Record<string, string>) =>
    api.GET('/v1/servers/{id}/file:download', {
      params: { path: { id }, query: { path } },
      headers,
      parseAs: 'stream',
    });
}

/** Yields the bytes of a file. Throws CommandError if the service refuses. */
export async function* bytesOf(context: Context, id: string, path: string): AsyncGenerator<Uint8Array> {
  const { data, error, response } = await contentOf(context, id, path)({ accept: FILE });
  if (!response.ok) throw refusal(error, response);
  if (data !== null && data !== undefined) yield* chunksOf(data, context.url, context.signal);
}

/** Downloads a directory of a server including everything below it, file by file. */
export async function downloadFolder(
  context: Context,
  id: string,
  path: string,
  folder: string,
  mayReplace: boolean,
): Promise<SavedFolder> {
  const saved: SavedFolder = { folder, files: 0, bytes: 0, missing: [] };
  await below(path, folder, 0);
  return saved;

  async function below(path: string, folder: string, depth: number): Promise<void> {
    if (depth > MOST_DEPTH) throw wrongUsage(`${path} is nested too deeply.`);
    await mkdir(folder, { recursive: true });
    for (const { name, isDir } of await listed(context, id, path)) {
      const [from, to] = [posix.join(path, name), join(folder, harmless(name))];
      if (isDir) await below(from, to, depth + 1);
      else await one(from, to);
    }
  }

  async function one(from: string, to: string): Promise<void> {
    try {
      const { bytes } = await download(context, to, mayReplace, contentOf(context, id, from));
      saved.files++;
      saved.bytes += bytes;
    } catch (error) {
      if (!(error instanceof CommandError) || !GONE.has(reasonOf(error))) throw error;
      saved.missing.push(from);
    }
  }
}

/** The service's reasons for entries that are gone or not plain files. */
const GONE: ReadonlySet<string> = new Set(['PATH_NOT_FOUND', 'PATH_IS_LINK', 'NOT_A_FILE', 'NOT_A_DIRECTORY']);

/** Returns the name. Throws if it leads out of the folder (`..`, `a/b`). */
function harmless(name: string): string {
  if (name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name)) return name;
  throw failedHere('STRANGE_NAME', `A file name on the server cannot be saved here: ${JSON.stringify(name)}.`);
}

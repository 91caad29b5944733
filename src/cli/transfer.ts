import { createHash } from 'node:crypto';
import { constants, createReadStream, openAsBlob } from 'node:fs';
import { type FileHandle, access, lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join, posix } from 'node:path';
import { type Answer, done, refusal } from './api.ts';
import { DORMOUSE } from './called.ts';
import type { Context } from './command.ts';
import { CommandError, failed, failedHere, reasonOf, wrongUsage } from './errors.ts';
import { size } from './format.ts';
import { FILE, chunksOf, retried } from './http.ts';
import { type Messages, read } from './shapes.ts';

/** The saved file. */
interface Saved {
  file: string;
  bytes: number;
  /** Whether the service sent a checksum. It matches the file. */
  isChecked: boolean;
}

/** Requests a file, with headers for a part of it. */
type Get = (headers: Record<string, string>) => Promise<Answer<ReadableStream<Uint8Array> | null>>;

/**
 * Downloads a file, which gets its name once it is complete. Resumes after a lost connection. Throws CommandError if
 * the file exists and may not be replaced, if the service refuses, or if the checksum differs.
 */
export async function download(context: Context, file: string, mayReplace: boolean, get: Get): Promise<Saved> {
  const part = `${file}.part`;
  if (!mayReplace && (await exists(file))) {
    throw failedHere('FILE_EXISTS', `${file} already exists. Choose another name, or replace it with --force.`);
  }
  const handle = await openLocal(part);
  try {
    const { bytes, digest } = await fill(context, handle, basename(file), get);
    await handle.sync();
    const isChecked = await check(part, digest);
    await rename(part, file);
    return { file, bytes, isChecked };
  } finally {
    await handle.close();
    await rm(part, { force: true });
    context.terminal.clear();
  }
}

async function openLocal(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'w');
  } catch (error) {
    throw localError(error, path);
  }
}

/** Converts an error of a local path to a CommandError. */
export function localError(error: unknown, path: string): Error {
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined ? (error as Error) : failedHere('LOCAL_FILE', `Cannot read or write ${path} (${code}).`);
}

/** Opens a local file, so that a request can send it as a stream. */
export async function blobOf(path: string): Promise<Blob> {
  try {
    // The error of openAsBlob does not say what is wrong.
    await access(path, constants.R_OK);
    return await openAsBlob(path);
  } catch (error) {
    throw localError(error, path);
  }
}

/** Reports whether a local path exists. */
async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Downloads the bytes. After an interruption, keeps those received and requests the rest. */
async function fill(context: Context, handle: FileHandle, name: string, get: Get) {
  const { url, signal } = context;
  let bytes = 0;
  let etag = '';
  let digest = '';
  let total = Number.NaN;
  await retried(signal, async () => {
    const range = { range: `bytes=${bytes}-`, 'if-range': etag };
    const { data, error, response } = await get({ accept: FILE, ...(bytes > 0 && etag !== '' && range) });
    if (!response.ok) throw refusal(error, response);
    const start = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1];
    if (response.status === 206 && Number(start) !== bytes) {
      throw failed('WRONG_PART', 'The service sent the wrong part of the file. Download it again.');
    }
    if (response.status !== 206) {
      bytes = 0;
      await handle.truncate(0);
      total = Number(response.headers.get('content-length') ?? Number.NaN);
    }
    etag = response.headers.get('etag') ?? '';
    digest = /sha-256=:([^:]+):/.exec(response.headers.get('repr-digest') ?? '')?.[1] ?? '';
    for await (const chunk of data === null || data === undefined ? [] : chunksOf(data, url, signal)) {
      await handle.write(chunk, 0, chunk.length, bytes);
      bytes += chunk.length;
      progress(context, name, bytes, total);
    }
  });
  return { bytes, digest };
}

function progress({ json, terminal }: Context, name: string, bytes: number, total: number): void {
  if (json || !terminal.err.isTerminal) return;
  const share = total > 0 ? `${Math.floor((bytes / total) * 100)} % of ${size(total)}` : size(bytes);
  terminal.progress(`${name}  ${share}`);
}

/** Verifies the checksum (RFC 9530). Returns false if the service sent none, and throws if it differs. */
async function check(file: string, digest: string): Promise<boolean> {
  if (digest === '') return false;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) hash.update(chunk);
  if (hash.digest('base64') === digest) return true;
  throw failed('WRONG_SUM', 'The checksum does not match, so the file was not saved. Download it again.');
}

const PAGE = 1000;
const MOST_DEPTH = 64;

/** A file or directory of a server in a listing. */
export const ENTRY = { name: '', isDir: false as boolean, size: '0', modifiedAt: '' } satisfies Messages['FileEntry'];
export type Entry = typeof ENTRY;

/** The result of downloading a folder. */
interface SavedFolder {
  folder: string;
  files: number;
  bytes: number;
  /** Paths that could not be downloaded: links, and files deleted in the meantime. */
  missing: string[];
}

/** The entries of a directory to list, as the API describes them. */
export interface Wanted {
  contains: string;
  recursive: boolean;
  sizes: boolean;
}

/** Lists a directory of a server, page by page, or below it at once. Names are unchanged. */
export async function found(
  { api, signal }: Context,
  id: string,
  path: string,
  wanted: Wanted,
): Promise<{ entries: Entry[]; truncated: boolean }> {
  const entries: Entry[] = [];
  const limit = wanted.recursive || wanted.sizes ? 0 : PAGE;
  const sort = wanted.recursive ? ('natural' as const) : ('name' as const);
  for (;;) {
    const query = { path, limit, offset: entries.length, sort, ...wanted };
    const reply = await retried(signal, () =>
      done(api.GET('/v1/servers/{id}/files', { params: { path: { id }, query } })),
    );
    const page = read({ entries: [ENTRY], truncated: false }, reply, (text) => text);
    entries.push(...page.entries);
    if (limit === 0 || page.entries.length < limit) return { entries, truncated: page.truncated };
  }
}

/** Lists all entries of a directory. */
export async function listed(context: Context, id: string, path: string): Promise<Entry[]> {
  return (await found(context, id, path, { contains: '', recursive: false, sizes: false })).entries;
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

/** A local file and its target path on the server. */
interface Sent {
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
  const blob = await blobOf(local);
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

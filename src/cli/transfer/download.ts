import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { type Answer, refusal } from '../api.ts';
import type { Context } from '../command.ts';
import { failed, failedHere } from '../errors.ts';
import { size } from '../format.ts';
import { FILE, chunksOf } from '../http.ts';
import { retried } from '../retry.ts';

/** The saved file. */
export interface Saved {
  file: string;
  bytes: number;
  /** Whether the service sent a checksum. It matches the file. */
  isChecked: boolean;
}

/** Requests a file, with headers for a part of it. */
export type Get = (headers: Record<string, string>) => Promise<Answer<ReadableStream<Uint8Array> | null>>;

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

/** Reports whether a local path exists. */
export async function exists(path: string): Promise<boolean> {
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

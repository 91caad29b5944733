import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { chmod, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { syncDirectory } from '../../../kernel/atomic-file.ts';
import type { RegistryHttp } from '../../../kernel/registry/http.ts';
import { StatusError } from '../../../kernel/status.ts';
import { GIB, KIB } from '../../../kernel/units.ts';

/** A file that a source offers. */
export interface RemoteFile {
  /** For messages: `paper 1.21.8`. */
  name: string;
  url: string;
  /** Absent: the source does not state it. */
  sizeBytes?: number | undefined;
  /** The largest size that is accepted if the source states none. */
  mostBytes?: number | undefined;
  /** Absent: the source publishes none. The file must then be a complete zip archive. */
  checksum?: Checksum | undefined;
}

export interface Checksum {
  algorithm: 'sha512' | 'sha256' | 'sha1' | 'md5';
  /** In lower case. */
  hex: string;
}

export interface FetchOptions {
  http: RegistryHttp;
  signal: AbortSignal;
  /** Called when the percentage changes. */
  progress: (percent: number) => void;
}

/** Follows the name of a file that is not complete yet. */
export const PART = '.part';
const TRIES = 4;
const MAX_FILE_BYTES = 2 * GIB;
/** The first bytes of a zip archive, and thus of a jar. */
const ZIP = Buffer.from('PK\u0003\u0004');
/** The first bytes of a zip archive's last record, and the longest distance of that record from the end. */
const ZIP_END = Buffer.from('PK\u0005\u0006');
const ZIP_END_BYTES = 64 * KIB + 22;

/**
 * Downloads a file to `path`, which appears only once its size and checksum are verified. Received bytes are kept in
 * `<path>.part`, from which a later call continues, also after a kill. Tries again after temporary faults. Rejects with
 * StatusError: UNAVAILABLE CHECKSUM_MISMATCH, DOWNLOAD_BROKEN or REGISTRY_UNAVAILABLE, FAILED_PRECONDITION
 * DOWNLOAD_REFUSED, NOT_FOUND CORE_NOT_FOUND.
 */
export async function fetchFile(file: RemoteFile, path: string, options: FetchOptions): Promise<void> {
  const { name, sizeBytes = 0 } = file;
  if (sizeBytes > MAX_FILE_BYTES) throw refusal(`The file of ${name} is too large.`);
  const part = `${path}${PART}`;
  await makeReadable(dirname(path));
  for (let tries = 1; ; tries++) {
    try {
      await receive(file, part, options);
      await verify(file, part);
      break;
    } catch (error) {
      options.signal.throwIfAborted();
      if (tries === TRIES || !(error instanceof StatusError) || error.code !== 'UNAVAILABLE') throw error;
    }
  }
  await chmod(part, 0o644);
  await rename(part, path);
  await syncDirectory(dirname(path));
}

/** Creates a directory that the games' user may read, whatever the umask is. */
export async function makeReadable(dir: string): Promise<void> {
  const first = await mkdir(dir, { recursive: true });
  if (first === undefined) return;
  for (let each = dir; each.length >= first.length; each = dirname(each)) await chmod(each, 0o755);
}

async function receive(file: RemoteFile, part: string, { http, signal, progress }: FetchOptions): Promise<void> {
  // Without a checksum, parts of two different files could be joined.
  const begunBytes = file.checksum === undefined ? 0 : await sizeOf(part);
  if (begunBytes > 0 && begunBytes === file.sizeBytes) return;
  const opened = await openFrom(file, begunBytes, http, signal);
  const mostBytes = file.sizeBytes ?? file.mostBytes ?? MAX_FILE_BYTES;
  const totalBytes = file.sizeBytes ?? opened.sizeBytes;
  let shown = -1;
  let size = opened.from;
  try {
    // Never follow a link: the bytes come from another machine.
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW;
    await using target = await open(part, flags, 0o644);
    await target.truncate(size);
    for await (const chunk of opened.chunks) {
      if (size + chunk.length > mostBytes) {
        await rm(part, { force: true });
        throw tooLarge(file);
      }
      await target.write(chunk, 0, chunk.length, size);
      size += chunk.length;
      const percent = totalBytes === undefined ? 0 : Math.floor((size / totalBytes) * 100);
      if (percent !== shown) progress((shown = percent));
    }
    await target.sync();
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof StatusError || isOfDisk(cause)) throw cause;
    throw broken(file, cause);
  } finally {
    await opened.close();
  }
  if (totalBytes !== undefined && size < totalBytes) throw broken(file);
}

/** Opens the rest of a file. If the host refuses the range, or the rest does not fit, opens the whole file. */
async function openFrom(file: RemoteFile, begunBytes: number, http: RegistryHttp, signal: AbortSignal) {
  const rest =
    begunBytes === 0
      ? undefined
      : await http.open(file.url, begunBytes, signal).catch((error: unknown) => {
          signal.throwIfAborted();
          if (error instanceof StatusError && error.code === 'FAILED_PRECONDITION') return undefined;
          throw error;
        });
  if (rest && (rest.from === 0 || rest.from === begunBytes)) return rest;
  await rest?.close();
  const whole = await http.open(file.url, 0, signal);
  if (whole) return whole;
  throw new StatusError('NOT_FOUND', 'CORE_NOT_FOUND', `The file of ${file.name} no longer exists.`);
}

/** Rejects if the received file is not the offered one, and removes it. */
async function verify(file: RemoteFile, part: string): Promise<void> {
  const { checksum, sizeBytes } = file;
  const fits = sizeBytes === undefined || (await sizeOf(part)) === sizeBytes;
  if (fits && (checksum === undefined ? await isZip(part) : (await hashOf(part, checksum)) === checksum.hex)) return;
  await rm(part, { force: true });
  if (checksum === undefined) throw refusal(`The file that is offered as ${file.name} is not a jar.`);
  const sentence = `The download of ${file.name} does not match the size or checksum of its source and was discarded. Try again.`;
  throw new StatusError('UNAVAILABLE', 'CHECKSUM_MISMATCH', sentence);
}

async function hashOf(path: string, { algorithm }: Checksum): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

async function isZip(path: string): Promise<boolean> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const { size } = await file.stat();
  const first = Buffer.alloc(ZIP.length);
  const last = Buffer.alloc(Math.min(size, ZIP_END_BYTES));
  await file.read(first, 0, first.length, 0);
  await file.read(last, 0, last.length, size - last.length);
  return first.equals(ZIP) && last.includes(ZIP_END);
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

function isOfDisk(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall !== undefined && (error as NodeJS.ErrnoException).code !== undefined;
}

function broken({ name }: RemoteFile, cause?: unknown): StatusError {
  const sentence = `The download of ${name} was interrupted. Try again.`;
  return new StatusError('UNAVAILABLE', 'DOWNLOAD_BROKEN', sentence, { cause });
}

function tooLarge({ name, sizeBytes }: RemoteFile): StatusError {
  const limit = sizeBytes === undefined ? 'expected' : 'its source states';
  return refusal(`The file of ${name} is larger than ${limit}.`);
}

function refusal(sentence: string): StatusError {
  return new StatusError('FAILED_PRECONDITION', 'DOWNLOAD_REFUSED', sentence);
}

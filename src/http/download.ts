import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { namesEtag } from './kept-bytes.ts';
import { StatusError } from '../kernel/status.ts';
import { MINUTE_MS } from '../kernel/units.ts';
import { onceEnded } from './ended.ts';

/** A client that reads nothing for this long has gone. */
export const STALLED_MS = MINUTE_MS;

/** A file's content to be sent. */
export interface Download {
  /** The name to save the file under. Any text, because it is sanitised here. */
  filename: string;
  /** Size in bytes; undefined if unknown before the end. Ranges then are not available. */
  sizeBytes?: number | undefined;
  /** Identifies the content, in plain characters. With it, a client can resume an earlier download. */
  version?: string;
  /** Epoch ms. */
  modifiedAt?: number;
  /** Further headers, e.g. a checksum. */
  headers?: Record<string, string>;
  /** Opens the file at bytes `start` to `end`, both inclusive. Called at most once. */
  open: (range?: { start: number; end: number }) => Readable;
  /** Called when the answer has ended, in success or failure. */
  close: () => unknown;
}

/**
 * Answers with a file: all of it, the requested range (RFC 9110 §14), or 304 if unchanged. Ignores invalid and multiple
 * ranges; a range outside the file is OUT_OF_RANGE (416). If the file cannot be sent completely, the connection is
 * broken, so that the client does not mistake a part for the whole.
 */
export function sendDownload(ctx: Context, download: Download): void {
  const { res } = ctx;
  onceEnded(res, () => void download.close());
  if (res.closed) return;
  const { sizeBytes } = download;
  const range = sizeBytes === undefined ? undefined : wantedRange(ctx, download, sizeBytes);
  describe(ctx, download);
  ctx.status = isKnown(ctx, download) ? 304 : 200;
  if (ctx.status === 304) return;
  if (range) {
    ctx.status = 206;
    ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${sizeBytes}`);
  }
  const length = range ? range.end - range.start + 1 : sizeBytes;
  if (ctx.method !== 'HEAD') {
    res.setTimeout(STALLED_MS, () => res.destroy());
    ctx.body = length === 0 ? Buffer.alloc(0) : bodyOf(ctx, download.open(range), length);
  }
  if (length !== undefined) ctx.length = length;
}

function describe(ctx: Context, { filename, sizeBytes, version, modifiedAt, headers = {} }: Download): void {
  // A browser must save a server's files, not show them.
  ctx.type = 'application/octet-stream';
  ctx.attachment(filename.toWellFormed().replaceAll(/[\p{Cc}/\\]/gu, '_'));
  ctx.set('Accept-Ranges', sizeBytes === undefined ? 'none' : 'bytes');
  if (version !== undefined) ctx.etag = quoted(version);
  if (modifiedAt !== undefined) ctx.lastModified = new Date(modifiedAt);
  ctx.set(headers);
}

function bodyOf({ res }: Context, bytes: Readable, length: number | undefined): Readable {
  const body = Readable.from(whole(bytes, length), { objectMode: false });
  return body.once('error', () => res.destroy());
}

/** Passes on the bytes. Throws if there are fewer than announced: the client would wait for the rest. */
async function* whole(bytes: Readable, length: number | undefined): AsyncGenerator<Buffer> {
  let sent = 0;
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    sent += chunk.length;
    yield chunk;
  }
  if (length !== undefined && sent < length) throw new Error(`the file ended after ${sent} of ${length} bytes`);
}

/** Returns the requested range; undefined for the whole file. Throws OUT_OF_RANGE RANGE_NOT_SATISFIABLE. */
function wantedRange(ctx: Context, download: Download, sizeBytes: number): { start: number; end: number } | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(ctx.get('range').replaceAll(/[ \t]/g, '')) ?? [];
  if ((first === '' && last === '') || !isStill(ctx, download)) return undefined;
  // A range whose end precedes its start is invalid and therefore ignored.
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  if (start <= end) return { start, end };
  ctx.set('Content-Range', `bytes */${sizeBytes}`);
  const sentence = `The range is outside the file, which has ${sizeBytes} bytes.`;
  throw new StatusError('OUT_OF_RANGE', 'RANGE_NOT_SATISFIABLE', sentence, {
    httpStatus: 416,
    metadata: { sizeBytes: String(sizeBytes) },
  });
}

/** Reports whether the caller already has this version. */
function isKnown(ctx: Context, { version }: Download): boolean {
  return version !== undefined && namesEtag(ctx.get('if-none-match'), quoted(version));
}

/** Reports whether the caller's partial download still matches (`If-Range`). True without `If-Range`. */
function isStill(ctx: Context, { version, modifiedAt }: Download): boolean {
  const wanted = ctx.get('if-range');
  if (wanted === '') return true;
  if (wanted.startsWith('"')) return version !== undefined && wanted === quoted(version);
  return modifiedAt !== undefined && wanted === new Date(modifiedAt).toUTCString();
}

function quoted(version: string): string {
  return `"${version}"`;
}

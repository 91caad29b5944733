import type { ReplyOf } from '../../http/calls.ts';
import { type Encoding, encodingOf, isUtf16 } from '../../kernel/decode-text.ts';
import { StatusError } from '../../kernel/status.ts';

/** A text to edit. `version` is `none` for a new file. The text has LF line ends; `ends` are those of the file. */
export interface Text {
  text: string;
  version: string;
  ends: 'lf' | 'crlf';
  /** A byte order mark is part of the text, as U+FEFF. */
  encoding: Encoding;
}

/** A file opened for editing, or the reason why it cannot be. */
export type Found = Text | { why: 'binary' | 'large' | 'folder' };

/** Control characters that no text has, except for the escapes that colour a log. */
const BINARY = /[^\P{Cc}\s\u0080-\u009F]/u;
const ESCAPE = '\u001B';

/** Returns a file's content as text, if every byte of it can be saved unchanged. */
export function textOf({ content, truncated, version }: ReplyOf<'ReadFile'>, mostBytes: number): Found {
  const bytes = Buffer.from(content, 'base64');
  if (truncated || bytes.length > mostBytes) return { why: bytes.includes(0) && !isUtf16(bytes) ? 'binary' : 'large' };
  const encoding = encodingOf(bytes);
  const text = decode(bytes, encoding);
  if (text === undefined || BINARY.test(text.replaceAll(ESCAPE, ''))) return { why: 'binary' };
  const all = text.match(/\n/g)?.length ?? 0;
  const windows = text.match(/\r\n/g)?.length ?? 0;
  return { text: text.replaceAll('\r\n', '\n'), version, ends: windows * 2 > all ? 'crlf' : 'lf', encoding };
}

/**
 * Returns a form's text as bytes with the file's line ends and encoding. Forms send CRLF (HTML §4.10.22.4), whatever
 * the text had. Throws INVALID_ARGUMENT NOT_IN_ENCODING for a character that the encoding lacks.
 */
export function contentOf(text: string, { ends, encoding }: Record<'ends' | 'encoding', string | null>): Buffer {
  const plain = text.replaceAll(/\r\n?/g, '\n');
  const whole = ends === 'crlf' ? plain.replaceAll('\n', '\r\n') : plain;
  if (encoding === 'utf-16le') return Buffer.from(whole, 'utf16le');
  if (encoding === 'utf-16be') return Buffer.from(whole, 'utf16le').swap16();
  if (encoding !== 'latin1') return Buffer.from(whole);
  const foreign = /[^\0-\u00ff]/u.exec(whole)?.[0];
  if (foreign === undefined) return Buffer.from(whole, 'latin1');
  const units = foreign.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const escaped = units.join('');
  const sentence = `This file is in ISO 8859-1, which has no “${foreign}”. Write it as ${escaped}, or leave it out.`;
  throw new StatusError('INVALID_ARGUMENT', 'NOT_IN_ENCODING', sentence);
}

function decode(bytes: Buffer, encoding: Encoding): string | undefined {
  // The decoder's `latin1` is Windows-1252, which lacks five bytes.
  if (encoding === 'latin1') return bytes.toString('latin1');
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

import type { ReplyOf } from '../../http/calls.ts';

/** A text to edit. `version` is `none` for a new file. The text has LF line ends; `ends` are those of the file. */
export interface Text {
  text: string;
  version: string;
  ends: 'lf' | 'crlf';
}

/** A file opened for editing, or the reason why it cannot be. */
export type Found = Text | { why: 'binary' | 'large' | 'folder' };

/** Returns a file's content as text if all of it is valid UTF-8, because only that can be saved unchanged. */
export function textOf({ content, truncated, version }: ReplyOf<'ReadFile'>, mostBytes: number): Found {
  const bytes = Buffer.from(content, 'base64');
  if (bytes.includes(0)) return { why: 'binary' };
  if (truncated || bytes.length > mostBytes) return { why: 'large' };
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const all = text.match(/\n/g)?.length ?? 0;
    const windows = text.match(/\r\n/g)?.length ?? 0;
    return { text: text.replaceAll('\r\n', '\n'), version, ends: windows * 2 > all ? 'crlf' : 'lf' };
  } catch {
    return { why: 'binary' };
  }
}

/**
 * Returns a form's text as bytes with the file's line ends. Forms send CRLF (HTML §4.10.22.4), whatever the text had.
 */
export function contentOf(text: string, ends: string): Buffer {
  const plain = text.replaceAll(/\r\n?/g, '\n');
  return Buffer.from(ends === 'crlf' ? plain.replaceAll('\n', '\r\n') : plain);
}

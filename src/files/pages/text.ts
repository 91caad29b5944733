import type { ReplyOf } from '../../http/calls.ts';

/** A text to be edited; `version` is `none` for a file that is not there. Line ends are LF here, and `ends` in the file. */
export interface Text {
  text: string;
  version: string;
  ends: 'lf' | 'crlf';
}

/** A file that is read to be edited, or why it is not. */
export type Found = Text | { why: 'binary' | 'large' | 'folder' };

/** Returns a file's content as text if it is entirely UTF-8: only that is saved unchanged. */
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

/** The file's bytes of a text from a form, in which lines end in CRLF (HTML §4.10.22.4) whatever they ended in before. */
export function contentOf(text: string, ends: string): Buffer {
  const plain = text.replaceAll(/\r\n?/g, '\n');
  return Buffer.from(ends === 'crlf' ? plain.replaceAll('\n', '\r\n') : plain);
}

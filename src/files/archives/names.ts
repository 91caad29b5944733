import type { Header } from 'tar-stream';
import type { TreeEntry } from '../../jail/jail.ts';

/** A path in hex, for names that are not text: tars are made of text, names on Linux of bytes. */
const BYTES = 'DORMOUSE.path';

/**
 * How a path is written into a backup. One that is no text has its bytes in a record of its own; other programs see a name
 * that no second file has.
 */
export function namedInArchive({ path, bytes }: Pick<TreeEntry, 'path' | 'bytes'>): Pick<Header, 'name' | 'pax'> {
  if (bytes === undefined) return { name: path };
  const name = bytes
    .toString('latin1')
    .replaceAll(/[\x80-\xff]/g, (byte) => String.raw`\x${byte.charCodeAt(0).toString(16)}`);
  return { name, pax: { [BYTES]: bytes.toString('hex') } };
}

/** The names on the way to an entry of a backup, each character a byte; undefined where they lead nowhere. */
export function namesInArchive({ name, type, pax }: Header): string[] | undefined {
  const hex = (pax as Record<string, string> | null | undefined)?.[BYTES];
  const path = (hex === undefined ? Buffer.from(name) : Buffer.from(hex, 'hex')).toString('latin1');
  const names = (type === 'directory' ? path.replace(/\/$/, '') : path).split('/');
  return names.every((each) => each !== '' && each !== '.' && each !== '..' && !each.includes('\0'))
    ? names
    : undefined;
}

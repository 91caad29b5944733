import type { Header } from 'tar-stream';
import type { TreeEntry } from '../../jail/jail.ts';

/**
 * The pax key for a path in hex, for names that are not text: pax values must be text, but names on Linux are bytes.
 */
const BYTES = 'DORMOUSE.path';

/**
 * Returns how a backup stores a path. If it is not text, its bytes get their own record, and other programs see a
 * unique replacement.
 */
export function namedInArchive({ path, bytes }: Pick<TreeEntry, 'path' | 'bytes'>): Pick<Header, 'name' | 'pax'> {
  if (bytes === undefined) return { name: path };
  const name = bytes
    .toString('latin1')
    .replaceAll(/[\x80-\xff]/g, (byte) => String.raw`\x${byte.charCodeAt(0).toString(16)}`);
  return { name, pax: { [BYTES]: bytes.toString('hex') } };
}

/**
 * Returns the path segments of a backup's entry, each character representing a byte; undefined if the path is invalid.
 */
export function namesInArchive({ name, type, pax }: Header): string[] | undefined {
  const hex = (pax as Record<string, string> | null | undefined)?.[BYTES];
  const path = (hex === undefined ? Buffer.from(name) : Buffer.from(hex, 'hex')).toString('latin1');
  const names = (type === 'directory' ? path.replace(/\/$/, '') : path).split('/');
  return names.every((each) => each !== '' && each !== '.' && each !== '..' && !each.includes('\0'))
    ? names
    : undefined;
}

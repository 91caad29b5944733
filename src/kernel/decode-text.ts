import { isUtf8 } from 'node:buffer';

/** How the text of a file is encoded. `latin1` is ISO 8859-1, in which games before 1.20 write. */
export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'latin1';

/**
 * Returns the encoding of a file that a person or an old game wrote. A byte order mark of UTF-16 decides; without one
 * the bytes are UTF-8 if they are valid UTF-8, else ISO 8859-1.
 */
export function encodingOf(bytes: Uint8Array): Encoding {
  if (isUtf16(bytes)) return bytes[0] === 0xff ? 'utf-16le' : 'utf-16be';
  return isUtf8(bytes) ? 'utf-8' : 'latin1';
}

/** Decodes a text by `encodingOf`, without its byte order mark. Never throws. */
export function decodeText(bytes: Uint8Array): string {
  const encoding = encodingOf(bytes);
  if (encoding !== 'latin1') return new TextDecoder(encoding).decode(bytes);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1').replace(/^ï»¿/, '');
}

/** Whether a text begins with a byte order mark of UTF-16, as some Windows programs write. Games cannot read it. */
export function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

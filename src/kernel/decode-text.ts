const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The text of a file that a person or an old game wrote. A byte order mark decides the encoding and is not part of the text;
 * without one the bytes are UTF-8 if they are valid UTF-8, else ISO 8859-1, in which games before 1.20 write. Never throws.
 */
export function decodeText(bytes: Uint8Array): string {
  if (isUtf16(bytes)) return new TextDecoder(bytes[0] === 0xff ? 'utf-16le' : 'utf-16be').decode(bytes);
  try {
    return UTF_8.decode(bytes);
  } catch {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1').replace(/^ï»¿/, '');
  }
}

/** Whether a text begins with a byte order mark of UTF-16, as some Windows programs write. Games cannot read it. */
export function isUtf16([first, second]: Uint8Array): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}

import { zstdCompressSync, constants } from 'node:zlib';

const BLOCK_BYTES = 512;

/** Returns a tar header with its content, padded to whole blocks. */
export function tarBlock(name: string, type: string, content: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0, 100);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        ', 148);
  header.write(type, 156);
  header.write('ustar', 257);
  header.write('00', 263);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const padding = Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES);
  return Buffer.concat([header, content, padding]);
}

/** Returns `count` records of a pax header, each as small as possible. */
export function paxRecords(count: number): Buffer {
  const records: string[] = [];
  for (let index = 0; index < count; index++) {
    const body = ` ${index.toString(36)}=\n`;
    let length = body.length + 1;
    if (String(length).length + body.length !== length) length = String(length).length + body.length;
    records.push(`${length}${body}`);
  }
  return Buffer.from(records.join(''));
}

export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES);

/** Returns a tar with a global pax header, which `tar-stream` copies for each of the following headers. */
export function globalHeaderTar(keys: number, headers: number): Buffer {
  const one = tarBlock('p', 'x', Buffer.from('7 a=bc\n'));
  return Buffer.concat([
    tarBlock('g', 'g', paxRecords(keys)),
    ...Array.from({ length: headers }, () => one),
    tarBlock('x', '0', Buffer.from('x')),
    TAR_END,
  ]);
}

/** Compresses a tar so that its reader must hold a window of 2 to the power of `windowLog` bytes. */
export function wideWindow(tar: Buffer, windowLog: number): Buffer {
  return zstdCompressSync(tar, {
    params: { [constants.ZSTD_c_windowLog]: windowLog, [constants.ZSTD_c_contentSizeFlag]: 0 },
  });
}

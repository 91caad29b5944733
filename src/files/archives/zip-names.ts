import { isAscii, isUtf8 } from 'node:buffer';
import type { Entry } from 'yauzl';
import { badArchive } from './format.ts';

/** Bit 11 of an entry's flags: its name is in UTF-8. */
const UTF8_NAME = 0x800;
/** The extra field that repeats a name in UTF-8 (APPNOTE 4.6.9), after a version and a checksum. */
const UNICODE_PATH = 0x7075;
const UNICODE_NAME_OFFSET = 5;
/** CP850 from byte 80 to A5: most letters of western European languages. The letter ß is E1. */
const CP850_LETTERS = 'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑ';
/**
 * Byte sequences that those names never contain. A backslash may be half of a character in Asian code pages. In
 * Cyrillic ones, words have no ASCII letters. In those of central Europe, lower-case letters have the bytes of capitals.
 */
const NOT_CP850 =
  /[\x98\x9C\x9E\x9F\xA6-\xE0\xE2-\xFF]|[\x80-\xFF]\\|(?<![A-Za-z\x80-\xFF])[\x80-\xFF]{2,}(?![A-Za-z\x80-\xFF])|[a-z][\x80\x8E-\x90\x92\x99\x9A\x9D\xA5]/;
const GBK = new TextDecoder('gbk', { fatal: true });
/** Code pages in which two bytes are one character, and the second one may be ASCII. */
const DOUBLE_BYTE = [GBK, ...['shift_jis', 'big5', 'euc-kr'].map((label) => new TextDecoder(label, { fatal: true }))];
/** The fault of an archive with names in an unknown encoding. */
export const UNKNOWN_NAMES = 'has file names in an unknown encoding; pack it again with names in UTF-8';

/**
 * Returns an entry's path. Names without the UTF-8 flag (APPNOTE 4.4.4, bit 11) are in the code page of the machine that
 * packed them, which no field names. They are read as UTF-8 if they are valid UTF-8; as CP850 if all their other bytes
 * are letters in it; and as GBK if `isGbk` finds that the names of the archive are Chinese. Throws BAD_ARCHIVE for all
 * others: a wrong guess would give unreadable names.
 */
export async function zipName(entry: Entry, isGbk: () => Promise<boolean>): Promise<string> {
  const { fileName, fileNameRaw } = entry;
  if (isDeclared(entry)) return fileName;
  if (isUtf8(fileNameRaw)) return withSlashes(fileNameRaw.toString());
  const bytes = fileNameRaw.toString('latin1');
  if (!NOT_CP850.test(bytes) && !bytes.split(/[/\\]/).some(isDoubleByte))
    return withSlashes(bytes.replaceAll(/[\x80-\xFF]/g, (byte) => CP850_LETTERS[byte.charCodeAt(0) - 0x80] ?? 'ß'));
  if (await isGbk()) return withSlashes(decoded(GBK, fileNameRaw) ?? '');
  throw badArchive(`${UNKNOWN_NAMES} (7-Zip: add “cu=on” under Parameters)`);
}

/** Reports whether a name is in UTF-8 by its entry, or has only ASCII. */
export function isDeclared({ fileName, fileNameRaw, generalPurposeBitFlag, extraFields }: Entry): boolean {
  // The reader ignores an extra field whose checksum or version is wrong, and then decodes the name as CP437.
  const isUnicodePath = ({ id, data }: Entry['extraFields'][number]) =>
    id === UNICODE_PATH && withSlashes(data.subarray(UNICODE_NAME_OFFSET).toString()) === fileName;
  return (generalPurposeBitFlag & UTF8_NAME) !== 0 || isAscii(fileNameRaw) || extraFields.some(isUnicodePath);
}

/**
 * Reports whether the names of an archive are Chinese, in GBK. Nearly all characters of such names are from GB2312, whose
 * first bytes are B0 to F7 and second ones A1 to FE. Big5 and Shift-JIS have second bytes below that, and Korean
 * syllables in EUC-KR have first bytes up to C8. Fewer than four different characters show nothing.
 */
export function isChinese(names: Iterable<Buffer>): boolean {
  const [hanzi, others] = [new Set<number>(), new Set<number>()];
  for (const name of names) {
    if (decoded(GBK, name) === undefined) return false;
    for (let at = 0; at < name.length; at++) {
      if (name[at]! < 0x80) continue;
      const pair = name.readUInt16BE(at++);
      if (pair >= 0xb000 && pair < 0xf800 && (pair & 0xff) > 0xa0) hanzi.add(pair);
      else if (pair < 0xa100 || pair >= 0xa400) others.add(pair);
    }
  }
  return hanzi.size >= 4 && [...hanzi].some((pair) => pair >= 0xc900) && others.size * 10 <= hanzi.size;
}

const withSlashes = (path: string): string => path.replaceAll('\\', '/');

function decoded(decoder: typeof GBK, bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Reports whether most bytes of a file's name are pairs of a double-byte code page, as in no western language. */
function isDoubleByte(name: string): boolean {
  const stem = Buffer.from(name.replace(/\.[A-Za-z0-9]{1,5}$/, ''), 'latin1');
  return DOUBLE_BYTE.some((decoder) => {
    const pairs = stem.length - (decoded(decoder, stem)?.length ?? stem.length);
    return pairs >= 2 && (pairs * 2 === stem.length || (pairs >= 3 && pairs * 3 >= stem.length));
  });
}

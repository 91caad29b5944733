import { isAscii, isUtf8 } from 'node:buffer';
import type { Entry as ZipEntry } from 'yauzl';
import { badArchive } from './format.ts';

/** Bit 11 of an entry's flags: its name is in UTF-8. */
const UTF8_NAME = 0x800;
/** The extra field that repeats a name in UTF-8 (APPNOTE 4.6.9), after a version and a checksum. */
const UNICODE_PATH = 0x7075;
const UNICODE_NAME_OFFSET = 5;
/** CP850 from byte 80 to A5: most letters of western European languages. The letter ß is E1. */
const CP850_LETTERS = 'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑ';
/** Bytes that those names never contain, and a backslash that in Asian code pages is half of a character. */
const NOT_CP850 = /[\x9C\x9E\x9F\xA6-\xE0\xE2-\xFF]|[\x80-\xFF]\\/;
const UNKNOWN_NAMES =
  'has file names in an unknown encoding; pack it again with names in UTF-8 (7-Zip: add “cu=on” under Parameters)';

/**
 * Returns an entry's path. Names without the UTF-8 flag (APPNOTE 4.4.4, bit 11) are in the code page of the machine that
 * packed them, which no field names. They are read as UTF-8 if they are valid UTF-8, else as CP850 if all their other
 * bytes are letters in it. Throws BAD_ARCHIVE for all others: a wrong guess would give unreadable names.
 */
export function zipName({ fileName, fileNameRaw, generalPurposeBitFlag, extraFields }: ZipEntry): string {
  // The reader ignores an extra field whose checksum or version is wrong, and then decodes the name as CP437.
  const isUnicodePath = ({ id, data }: ZipEntry['extraFields'][number]) =>
    id === UNICODE_PATH && withSlashes(data.subarray(UNICODE_NAME_OFFSET).toString()) === fileName;
  const isDeclared = (generalPurposeBitFlag & UTF8_NAME) !== 0 || extraFields.some(isUnicodePath);
  if (isDeclared || isAscii(fileNameRaw)) return fileName;
  return withSlashes(isUtf8(fileNameRaw) ? fileNameRaw.toString() : fromCp850(fileNameRaw.toString('latin1')));
}

const withSlashes = (path: string): string => path.replaceAll('\\', '/');

/** Decodes a name in CP850 from its bytes as Latin-1. */
function fromCp850(bytes: string): string {
  if (NOT_CP850.test(bytes)) throw badArchive(UNKNOWN_NAMES);
  return bytes.replaceAll(/[\x80-\xFF]/g, (byte) => CP850_LETTERS[byte.charCodeAt(0) - 0x80] ?? 'ß');
}

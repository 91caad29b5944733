import { DAY_MS } from '../kernel/units.ts';
import { type Fields, uint32, uint64 } from './wire.ts';

/** Attributes requested by a client (§5). Absent: unchanged. Times are seconds since 1970. */
export interface Attributes {
  size?: number;
  /** Type and permissions, as in `stat(2)`. */
  mode?: number;
  atime?: number;
  mtime?: number;
}

/** A file's attributes as the client sees them. */
export interface Shown {
  kind: 'file' | 'directory' | 'link' | 'other';
  sizeBytes: number;
  /** Epoch ms. */
  modifiedAt: number;
  /** The nine permission bits. */
  mode: number;
}

const FLAG = { size: 1, owner: 2, mode: 4, times: 8, extended: 0x80_00_00_00 } as const;
const MOST_UINT32 = 0xff_ff_ff_ff;
const TYPE = { file: 0o100000, directory: 0o040000, link: 0o120000, other: 0o140000 } as const;
const LETTER = { file: '-', directory: 'd', link: 'l', other: 's' } as const;

/** The owner shown in listings. All files belong to one user, the game. */
const OWNER = 'game';

export function readAttributes(fields: Fields): Attributes {
  const flags = fields.uint32();
  const attributes: Attributes = {};
  if (flags & FLAG.size) attributes.size = fields.uint64();
  // Ignored: all files belong to the game.
  if (flags & FLAG.owner) fields.skip(8);
  if (flags & FLAG.mode) attributes.mode = fields.uint32();
  if (flags & FLAG.times) {
    attributes.atime = fields.uint32();
    attributes.mtime = fields.uint32();
  }
  if (flags & FLAG.extended) {
    // An extension takes at least eight bytes, so the end of the packet stops this loop, even for a huge count.
    for (let strings = 2 * fields.uint32(); strings > 0; strings--) fields.bytes();
  }
  return attributes;
}

export function attributesOf({ kind, sizeBytes, modifiedAt, mode }: Shown): Buffer {
  const time = uint32(seconds(modifiedAt));
  return Buffer.concat([
    uint32(FLAG.size | FLAG.mode | FLAG.times),
    uint64(sizeBytes),
    uint32(TYPE[kind] | mode),
    time,
    time,
  ]);
}

const HALF_A_YEAR_MS = 182 * DAY_MS;

/**
 * Returns a line of `ls -l` in the columns of §7, which some clients parse: type and permissions, links, owner, group,
 * size, time (UTC; the year instead of the time of day if half a year away), name.
 */
export function longName(name: string, { kind, sizeBytes, modifiedAt, mode }: Shown, now: number): string {
  const rights =
    LETTER[kind] + Array.from('rwxrwxrwx', (letter, bit) => (mode & (0o400 >> bit) ? letter : '-')).join('');
  const columns = [rights, '1'.padStart(4), OWNER.padEnd(8), OWNER.padEnd(8), String(sizeBytes).padStart(8)];
  return [...columns, time(modifiedAt, now), name].join(' ');
}

function time(modifiedAt: number, now: number): string {
  const [, day, month, year, clock] = new Date(seconds(modifiedAt) * 1_000).toUTCString().split(' ');
  const place = Math.abs(now - modifiedAt) < HALF_A_YEAR_MS ? clock?.slice(0, 5) : year;
  return `${month} ${day?.replace(/^0/, ' ')} ${place?.padStart(5)}`;
}

/** Converts to the protocol's seconds: 32 bits, unsigned. */
function seconds(ms: number): number {
  return Math.min(MOST_UINT32, Math.max(0, Math.floor(ms / 1_000)));
}

import { shortText } from '../../kernel/short-text.ts';
import { KIB } from '../../kernel/units.ts';
import type { LogLine } from '../engine.ts';
import { frames } from './streams.ts';

/**
 * Positions are Docker's own timestamps (RFC 3339, nanoseconds). `#n` is added for the n-th further line of the same
 * instant. They stay valid across containers, and when older lines are removed.
 */
const POSITION = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z(?:#\d+)?$/;
const STAMP_LENGTH = 30;

/**
 * Docker adds timestamps to stdout and stderr before it stores their lines, so lines may be out of order by this much.
 */
const DISORDER_MS = 2_000;

/** Longer lines are split into pieces of this size. */
const MAX_LINE = 64 * KIB;

/** Maximum number of lines held back while the requested position may still follow. */
const MAX_HELD = 20_000;

export function isPosition(text: string | undefined): text is string {
  return text !== undefined && POSITION.test(text);
}

/** Returns the `since` for Docker, in seconds, with which the answer contains `position` and everything after it. */
export function sinceFor(position: string): number {
  return Math.max(0, Math.floor((Date.parse(position.slice(0, STAMP_LENGTH)) - DISORDER_MS) / 1000));
}

/** Yields the lines of a `logs` stream with timestamps. Joins lines that Docker stored in pieces. */
export async function* logLines(stream: AsyncIterable<unknown>): AsyncGenerator<LogLine> {
  const begun = new Map<number, { stamp: string; pieces: Buffer[]; length: number }>();
  let lastStamp = '';
  let equals = 0;

  function finish(source: number): LogLine {
    const { stamp, pieces } = begun.get(source)!;
    begun.delete(source);
    equals = stamp === lastStamp ? equals + 1 : 0;
    lastStamp = stamp;
    const text = Buffer.concat(pieces).toString('utf8').replace(/\r$/, '');
    return { position: equals === 0 ? stamp : `${stamp}#${equals}`, text };
  }

  for await (const { source, payload } of frames(stream)) {
    const ends = payload.at(-1) === 0x0a;
    const line = begun.get(source) ?? { stamp: payload.toString('latin1', 0, STAMP_LENGTH), pieces: [], length: 0 };
    const piece = payload.subarray(STAMP_LENGTH + 1, ends ? payload.length - 1 : payload.length);
    line.pieces.push(piece);
    line.length += piece.length;
    begun.set(source, line);
    if (ends || line.length >= MAX_LINE) yield finish(source);
  }
  for (const source of begun.keys()) yield finish(source);
}

/**
 * Yields the lines after the position `after` in the order of the stream, regardless of their timestamps. If that line
 * is no longer stored, yields the lines with later timestamps.
 */
export async function* linesAfter(lines: AsyncIterable<LogLine>, after: string | undefined): AsyncGenerator<LogLine> {
  let found = after === undefined;
  let held: LogLine[] = [];
  for await (const line of lines) {
    if (found) yield line;
    else if (line.position === after) {
      found = true;
      held = [];
    } else {
      if (isLater(line.position, after!)) held.push(line);
      found = held.length > MAX_HELD || msBetween(after!, line.position) > DISORDER_MS;
      if (found) yield* held;
    }
  }
  if (!found) yield* held;
}

/** Returns whether a line has a later timestamp than another, to the nanosecond. */
export function isLater(position: string, than: string): boolean {
  return position.slice(0, STAMP_LENGTH) > than.slice(0, STAMP_LENGTH);
}

function msBetween(from: string, to: string): number {
  return Date.parse(to.slice(0, STAMP_LENGTH)) - Date.parse(from.slice(0, STAMP_LENGTH));
}

/** Returns the newest `count` lines, each cut to its first `lineChars` characters. */
export async function newest(
  lines: AsyncIterable<LogLine>,
  count: number,
  lineChars: number = Infinity,
): Promise<LogLine[]> {
  let kept: LogLine[] = [];
  for await (const { position, text } of lines) {
    kept.push({ position, text: shortText(text, lineChars) });
    if (kept.length >= 2 * count + 1_000) kept = kept.slice(-count);
  }
  return count === 0 ? [] : kept.slice(-count);
}

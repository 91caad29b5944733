/**
 * The scalar fields of messages under protojson's rules (https://protobuf.dev/programming-guides/json), as zod schemas.
 * Requests are lenient where protojson is: `null` is unset, snake_case names and unknown fields are taken, numbers may be
 * strings. Replies always show every field, int64 as decimal strings and instants as RFC 3339 or null.
 */
import * as z from 'zod';
import { INT32_MAX } from '../kernel/units.ts';

const INT32_MIN = -(2 ** 31);
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A request message: only its own fields, by either name, `null` as if absent. Everything else in it is ignored. */
export function message<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape).flatMap((name) => [
    [snakeCase(name), name],
    [name, name],
  ]) as [string, string][];
  return z.preprocess((value) => ownFields(value, names), z.object(shape));
}

/** A message of a caller's whose bytes its handler needs as they were sent, for a signature over them. */
export const Raw = z
  .unknown()
  .meta({ type: 'object' })
  .transform((bytes) => bytes as Buffer);

/** The message without fields. */
export const Empty = message({}).meta({ id: 'Empty' });

/** A server's id: a DNS label, because its address begins with it. Any other text in a path is not found. */
export const ServerId = z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/);

/** Text that can be stored and sent: no lone surrogates, no NUL; at most `max` characters. */
export function text(max: number) {
  return (
    z
      .string()
      // A text that is too long is not looked at any further.
      .max(max, { error: `must have at most ${max} characters`, abort: true })
      .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be valid Unicode text')
  );
}

/** Text of one line: no control characters either. */
export function line(max: number) {
  return text(max).regex(/^\P{Cc}*$/u, 'must not contain control characters');
}

/** A 32-bit integer, as a number or as a string that is one (`"2048"`, `"1e3"`). */
export function int32({ min = INT32_MIN, max = INT32_MAX }: { min?: number; max?: number } = {}) {
  const number = z
    .int('must be an integer')
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`)
    .meta({ format: 'int32' });
  return z.preprocess(asNumber, number);
}

/** An int32 that accepts any integer, however large, as the nearest between `min` and `max`. Absent and empty are `fallback`. */
export function clamped({ min, max, fallback }: { min: number; max: number; fallback: number }) {
  const number = z.int('must be an integer').meta({ format: 'int32', minimum: INT32_MIN, maximum: INT32_MAX });
  return z
    .preprocess((value) => (value === '' ? fallback : asSafeNumber(value)), number)
    .transform((value) => Math.min(Math.max(min, value), max))
    .default(fallback);
}

/** How many are wanted at most (AIP-158): absent and 0 are `fallback`, more than `most` are `most`, fewer than none is refused. */
export function pageLimit({ fallback, most }: { fallback: number; most: number }) {
  const number = z.int('must be an integer').min(0, 'must be at least 0').meta({ format: 'int32', maximum: INT32_MAX });
  return z
    .preprocess((value) => (value === '' ? 0 : asSafeNumber(value)), number)
    .default(0)
    .transform((limit) => (limit === 0 ? fallback : Math.min(limit, most)))
    .describe(`0: ${fallback}; at most ${most}.`);
}

function asNumber(value: unknown): unknown {
  return typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
}

/** An integer beyond those that JavaScript holds exactly becomes the nearest that it does. */
function asSafeNumber(value: unknown): unknown {
  const number = asNumber(value);
  if (typeof number !== 'number') return number;
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, number));
}

/**
 * A 64-bit integer as replies show it, a decimal string, or as a number (protojson), that numbers of JavaScript hold exactly.
 * `pattern`: of the string, for the documentation, which knows this form alone.
 */
export function int64({ min, max, pattern }: { min: number; max: number; pattern: string }) {
  const number = z
    .int('must be an integer')
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`)
    .meta({ type: 'string', format: 'int64', pattern, minimum: undefined, maximum: undefined });
  return z.preprocess(
    (value) => (typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value),
    number,
  );
}

/**
 * Bytes as base64 (RFC 4648), in either alphabet, with padding or without; at most `max` of them. Text of a length that no
 * bytes have, or with bits left over, is refused: it was cut off or damaged on its way.
 */
export function base64(max: number) {
  return z
    .string()
    .regex(/^(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)={0,2}$/, 'must be base64')
    .refine(isWholeBase64, { error: 'must be whole base64', abort: true })
    .transform((text) => Buffer.from(text, 'base64'))
    .refine((bytes) => bytes.length <= max, `must have at most ${max} bytes`)
    .meta({ format: 'byte', pattern: WHOLE_BASE64 });
}

/**
 * `base64` without the URL alphabet, for the documentation: the other alphabet is too much work for an engine that
 * backtracks.
 */
const WHOLE_BASE64 = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw](?:==)?|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=?)?$';

/** A yes or no in a query, in any of the spellings that Go's strconv.ParseBool takes. */
export function queryFlag() {
  return z
    .stringbool({ truthy: ['1', 't', 'true'], falsy: ['0', 'f', 'false'], error: 'must be true or false' })
    .meta({ type: 'boolean' });
}

/** An https URL with a name of several labels, without a user or a port, as the documentation says it of what is checked closer. */
export const HTTPS_URL =
  '^https://(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?[.])+[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:[/?#][!-~]*)?$';

/** A map of texts. Its keys are the caller's to check. */
export function textMap() {
  return z.record(text(128), text(4096));
}

/** Fields of replies: each may be left out by the handler and then has protojson's default on the wire. */
export const reply = {
  text: z.string().default(''),
  int32: z.int32().default(0).meta({ format: 'int32' }),
  flag: z.boolean().default(false),
  textMap: z.record(z.string(), z.string()).default({}),
  /** A safe integer inside, a decimal string on the wire. */
  int64: z
    .int()
    .default(0)
    .transform(String)
    .pipe(z.string().regex(/^-?\d+$/))
    .meta({ format: 'int64' }),
  /** Epoch ms or null inside, RFC 3339 in UTC or null on the wire. */
  timestamp: z
    .number()
    .nullable()
    .default(null)
    .transform(rfc3339)
    .pipe(z.string().nullable())
    .meta({ format: 'date-time' }),
};

/** An instant as the wire shows it; null for never. */
export function rfc3339(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** Whether base64 text is canonical, judged by its end. */
function isWholeBase64(text: string): boolean {
  const [letters = ''] = text.split('=', 1);
  if (letters.length < text.length && text.length % 4 !== 0) return false;
  const end = letters
    .slice(letters.length - (letters.length % 4))
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  return letters.length % 4 !== 1 && Buffer.from(end, 'base64').toString('base64').startsWith(end);
}

function ownFields(value: unknown, names: [string, string][]): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const given = new Map(Object.entries(value));
  const fields: Record<string, unknown> = {};
  for (const [spelling, name] of names) {
    const field: unknown = given.get(spelling);
    if (field !== undefined && field !== null) fields[name] = field;
  }
  return fields;
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

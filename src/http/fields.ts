/**
 * The scalar fields of messages under protojson's rules (https://protobuf.dev/programming-guides/json), as zod schemas.
 * Requests are as lenient as protojson: `null` is unset, snake_case names are accepted, unknown fields are ignored, and
 * numbers may be strings. Replies always contain every field, int64 as decimal strings and instants as RFC 3339 or
 * null.
 */
import * as z from 'zod';
import { INT32_MAX } from '../kernel/units.ts';

const INT32_MIN = -(2 ** 31);
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A request message: its own fields under either name; `null` counts as absent. Other fields are ignored. */
export function message<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape).flatMap((name) => [
    [snakeCase(name), name],
    [name, name],
  ]) as [string, string][];
  return z.preprocess((value: z.input<z.ZodObject<Shape>>) => ownFields(value, names), z.object(shape));
}

/** A message whose handler needs the exact bytes, to verify a signature. */
export const Raw = z
  .unknown()
  .meta({ type: 'object' })
  .transform((bytes) => bytes as Buffer);

/** A message without fields. */
export const Empty = message({}).meta({ id: 'Empty' });

/** A server's id: a DNS label, because the server's address begins with it. Any other text in a path is not found. */
export const ServerId = z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/);

/** Text that can be stored and sent: no lone surrogates, no NUL, at most `max` characters. */
export function text(max: number) {
  return (
    z
      .string()
      // A text that is too long is not checked further.
      .max(max, { error: `must have at most ${max} characters`, abort: true })
      .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be valid Unicode text')
  );
}

/** Text of one line, without control characters. */
export function line(max: number) {
  return text(max).regex(/^\P{Cc}*$/u, 'must not contain control characters');
}

/** A 32-bit integer, as a number or in a string (`"2048"`, `"1e3"`). */
export function int32({ min = INT32_MIN, max = INT32_MAX }: { min?: number; max?: number } = {}) {
  const number = z
    .int('must be an integer')
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`)
    .meta({ format: 'int32' });
  return z.preprocess(asNumber, number);
}

/** An int32 that accepts any integer and clamps it to `min` and `max`. `fallback` is used if it is absent or empty. */
export function clamped({ min, max, fallback }: { min: number; max: number; fallback: number }) {
  const number = z.int('must be an integer').meta({ format: 'int32', minimum: INT32_MIN, maximum: INT32_MAX });
  return z
    .preprocess((value: number | string) => (value === '' ? fallback : asSafeNumber(value)), number)
    .transform((value) => Math.min(Math.max(min, value), max))
    .default(fallback);
}

/**
 * A page size (AIP-158). Absent and 0 become `fallback`, more than `most` becomes `most`. Negative ones are refused.
 */
export function pageLimit({ fallback, most }: { fallback: number; most: number }) {
  const number = z.int('must be an integer').min(0, 'must be at least 0').meta({ format: 'int32', maximum: INT32_MAX });
  return z
    .preprocess((value: number | string) => (value === '' ? 0 : asSafeNumber(value)), number)
    .default(0)
    .transform((limit) => (limit === 0 ? fallback : Math.min(limit, most)))
    .describe(`Page size. 0 means ${fallback}. Values above ${most} count as ${most}.`);
}

function asNumber(value: number | string): unknown {
  return typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
}

/** Clamps an integer to the range that JavaScript represents exactly. */
function asSafeNumber(value: number | string): unknown {
  const number = asNumber(value);
  if (typeof number !== 'number') return number;
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, number));
}

/**
 * A 64-bit integer: a decimal string, as in replies, or a number (protojson), within the range that JavaScript
 * represents exactly. `pattern` describes the string in the documentation, which shows only this form.
 */
export function int64({ min, max, pattern }: { min: number; max: number; pattern: string }) {
  const number = z
    .int('must be an integer')
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`)
    .meta({ type: 'string', format: 'int64', pattern, minimum: undefined, maximum: undefined });
  return z.preprocess(
    (value: number | string) => (typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value),
    number,
  );
}

/**
 * Bytes as base64 (RFC 4648), in either alphabet, with or without padding, at most `max` bytes. Text with an impossible
 * length or with leftover bits is refused, because it was truncated or damaged.
 */
export function base64(max: number) {
  return z
    .string()
    .regex(/^(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)={0,2}$/, 'must be base64')
    .refine(isWholeBase64, { error: 'must be complete base64', abort: true })
    .transform((text) => Buffer.from(text, 'base64'))
    .refine((bytes) => bytes.length <= max, `must have at most ${max} bytes`)
    .meta({ format: 'byte', pattern: WHOLE_BASE64 });
}

/**
 * The documentation's pattern of `base64`. Leaves out the URL alphabet, which is too much work for a backtracking
 * engine.
 */
const WHOLE_BASE64 = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw](?:==)?|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=?)?$';

/** A boolean in a query, in any spelling accepted by Go's strconv.ParseBool. */
export function queryFlag() {
  const flag = z
    .stringbool({ truthy: ['1', 't', 'true'], falsy: ['0', 'f', 'false'], error: 'must be true or false' })
    .meta({ type: 'boolean' });
  return z.preprocess((value: boolean | string) => value, flag);
}

/** The documentation's pattern of an https URL with several labels, without user and port. Validation is stricter. */
export const HTTPS_URL =
  '^https://(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?[.])+[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:[/?#][!-~]*)?$';

/** A map of texts. The caller checks the keys. */
export function textMap() {
  return z.record(text(128), text(4096));
}

/** Fields of replies. A handler may omit any; protojson's default is then sent. */
export const reply = {
  text: z.string().default(''),
  int32: z.int32().default(0).meta({ format: 'int32' }),
  flag: z.boolean().default(false),
  textMap: z.record(z.string(), z.string()).default({}),
  /** A safe integer in code, a decimal string in JSON. */
  int64: z
    .int()
    .default(0)
    .transform(String)
    .pipe(z.string().regex(/^-?\d+$/))
    .meta({ format: 'int64' }),
  /** Epoch ms or null in code, RFC 3339 in UTC or null in JSON. */
  timestamp: z
    .number()
    .nullable()
    .default(null)
    .transform(rfc3339)
    .pipe(z.string().nullable())
    .meta({ format: 'date-time' }),
};

/** Formats an instant as RFC 3339; null for never. */
export function rfc3339(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** Reports whether base64 text has a canonical end. */
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

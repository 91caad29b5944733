import type * as z from 'zod';
import { KIB } from '../kernel/units.ts';
import { invalidFields, routeNotFound } from './errors.ts';
import { Empty } from './fields.ts';

/** Default limit of a body. */
const BODY_BYTES = 64 * KIB;

/** The media type of HTML forms. */
export const FORM = 'application/x-www-form-urlencoded';

export type Method = 'get' | 'post' | 'delete';

/**
 * The type of a request's body. `object`: one required JSON object. `form`: HTML form fields, none repeated; an empty
 * field counts as absent (RFC 6749 §3.2). `raw`: the message as sent (`Raw`). `bytes`: a file's content of any length
 * (`Sent.upload`).
 */
export type Taking = 'object' | 'form' | 'raw' | 'bytes';

/** The part of a declaration common to all operations, whatever credentials they require. */
export interface Declaration<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
> {
  /** Name in the reference, e.g. `StartServer`. */
  id: string;
  method: Method;
  /** As in the reference: `/v1/servers/{id}:start`. */
  path: string;
  summary: string;
  description: string;
  /** The path's parameters. Invalid ones are answered with 404. */
  params?: Params;
  query?: Query;
  body?: Body;
  /** The fields that callers see. All others are stripped. */
  reply: Reply;
  bodyLimitBytes?: number;
  /** Default: one JSON object; an empty body counts as an empty object. */
  takes?: Taking;
  /** Whether programs call it every few moments. Such calls are logged at `debug`. */
  routine?: boolean;
  /** When the operation fails with FAILED_PRECONDITION, as half a sentence for the documentation. */
  precondition?: string;
  /** The objects of a stream's events by kind. For the documentation only; not checked. */
  events?: Readonly<Record<string, z.ZodType>>;
  /** An example of the body, for the documentation. */
  example?: z.input<Body>;
}

/** A declaration with all defaults filled in. */
export interface Declared extends Omit<Declaration<z.ZodType, z.ZodType, z.ZodType, z.ZodType>, 'example'> {
  params: z.ZodType;
  query: z.ZodType;
  body: z.ZodType;
  bodyLimitBytes: number;
  example?: unknown;
  /** Reports whether the path parameters are valid. Called before anything else. */
  fits(params: unknown): boolean;
}

/** A body that is a file's content. It can be read only once. */
export interface Upload {
  chunks: AsyncIterable<Buffer>;
  /** The size if the caller declares it. */
  sizeBytes: number | undefined;
}

/** The input of a call. `query` holds one text per parameter. `body` is empty without a message. */
export interface Sent {
  params: unknown;
  query: unknown;
  body: () => Promise<unknown>;
  upload: () => Upload;
}

/** The validated parts of a call. */
export interface Checked<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> {
  params: z.output<Params>;
  query: z.output<Query>;
  body: z.output<Body>;
}

/**
 * Fills in the defaults of a declaration and creates its validation. Invalid input is INVALID_ARGUMENT, an invalid path
 * 404.
 */
export function declare<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Spec extends Declaration<Params, Query, Body, z.ZodType>,
>(spec: Spec & Declaration<Params, Query, Body, z.ZodType>) {
  const schemas = { params: spec.params ?? Empty, query: spec.query ?? Empty, body: spec.body ?? Empty } as {
    params: Params;
    query: Query;
    body: Body;
  };
  const declared = {
    ...spec,
    ...schemas,
    bodyLimitBytes: spec.bodyLimitBytes ?? BODY_BYTES,
    fits: (params: unknown) => schemas.params.safeParse(params).success,
  };
  async function check(sent: Sent): Promise<Checked<Params, Query, Body>> {
    const params = schemas.params.safeParse(sent.params);
    if (!params.success) throw routeNotFound();
    return {
      params: params.data,
      query: checkFields(schemas.query, sent.query),
      body: checkFields(schemas.body, await sent.body()),
    };
  }
  return { declared, check };
}

/** Returns the input as parsed by its schema. Throws INVALID_ARGUMENT INVALID_FIELD with the problem of each field. */
export function checkFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value, { error: describe });
  if (parsed.success) return parsed.data;
  throw invalidFields(
    parsed.error.issues.map(({ path, message }) => ({ field: path.join('.'), description: message })),
  );
}

function describe({ code, input, expected }: z.core.$ZodRawIssue): string | undefined {
  if (code !== 'invalid_type') return undefined;
  if (input === undefined) return 'is required';
  return expected === 'int' || expected === 'number' ? 'must be an integer' : `must be a single ${expected}`;
}

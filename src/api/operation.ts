import type { z } from 'zod';
import type { Principal } from '../access/keys.ts';
import type { Scope } from '../access/scopes.ts';
import { invalidFields, routeNotFound } from './errors.ts';
import { Empty } from './fields.ts';
import type { Services } from './services.ts';

/** Bodies are small unless an operation says otherwise. */
const BODY_BYTES = 64 * 1024;

export type Method = 'get' | 'post' | 'delete';

/** What an operation is, but for what it does. */
export interface OperationSpec<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
> {
  /** Its name in the reference, e.g. `StartServer`. */
  id: string;
  method: Method;
  /** As in the reference: `/v1/servers/{id}:start`. */
  path: string;
  /** What the caller's credential must hold; `any`: a valid credential will do. */
  scope: Scope | 'any';
  tag: 'control' | 'operator';
  summary: string;
  description: string;
  /** Of the path. What does not fit is no such address: 404. */
  params?: Params;
  query?: Query;
  body?: Body;
  /** What callers are shown and nothing else: what is not in here never leaves. */
  reply: Reply;
  bodyLimitBytes?: number;
  /** An example of the body, for the documentation. */
  example?: z.input<Body>;
}

/** A call as its handler gets it: checked, and by a caller who may. */
export interface Call<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
  principal: Principal;
  /** Fires when the caller goes away. */
  signal: AbortSignal;
}

/** A call as it comes in. `query` holds one text for each parameter; `body` is undefined where the method has none. */
export interface RawCall {
  params: unknown;
  query: unknown;
  body: () => Promise<object>;
  principal: Principal;
  signal: AbortSignal;
}

/** One operation of the API. */
export interface Operation extends Omit<OperationSpec<z.ZodType, z.ZodType, z.ZodType, z.ZodType>, 'example'> {
  params: z.ZodType;
  query: z.ZodType;
  body: z.ZodType;
  bodyLimitBytes: number;
  example?: unknown;
  /** Whether path parameters can belong to something. Asked before anything else of the call. */
  fits(params: unknown): boolean;
  /** Checks the call, does it, and renders the reply. Throws StatusError. */
  run(call: RawCall, services: Services): Promise<unknown>;
}

/**
 * Declares an operation, in two steps so that the handler's types follow from the schemas:
 * `operation({ … }).handle(async ({ params, body }, { servers }) => …)`.
 */
export function operation<
  Reply extends z.ZodType,
  Params extends z.ZodType = typeof Empty,
  Query extends z.ZodType = typeof Empty,
  Body extends z.ZodType = typeof Empty,
>(spec: OperationSpec<Params, Query, Body, Reply>) {
  type Handler = (
    call: Call<z.output<Params>, z.output<Query>, z.output<Body>>,
    services: Services,
  ) => Promise<z.input<Reply>>;
  return {
    handle(handler: Handler): Operation {
      const schemas = {
        params: spec.params ?? Empty,
        query: spec.query ?? Empty,
        body: spec.body ?? Empty,
      } as { params: Params; query: Query; body: Body };
      return {
        ...spec,
        ...schemas,
        bodyLimitBytes: spec.bodyLimitBytes ?? BODY_BYTES,
        fits: (params) => schemas.params.safeParse(params).success,
        async run({ principal, signal, ...raw }, services) {
          const params = schemas.params.safeParse(raw.params);
          if (!params.success) throw routeNotFound();
          const call = {
            params: params.data,
            query: check(schemas.query, raw.query),
            body: check(schemas.body, await raw.body()),
            principal,
            signal,
          };
          return spec.reply.parse(await handler(call, services));
        },
      };
    },
  };
}

/** Parses what a caller sent. Throws INVALID_ARGUMENT with one violation for each bad field. */
export function check<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
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

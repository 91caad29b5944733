import type { Response } from 'koa';
import type * as z from 'zod';
import { type Checked, type Declaration, type Declared, type Sent, checkFields, declare } from './declared.ts';
import type { Described, ErrorDialect } from './errors.ts';
import { Empty } from './fields.ts';
import { replyOf } from './reply.ts';
import type { Visitor } from './session/visitor.ts';

/** The context of a call beside its input. */
interface Around {
  caller: Visitor;
  /** The parts of the answer that are not its message. */
  response: Pick<Response, 'set' | 'status'>;
  /**
   * Resolves when the answer has ended: true if it was written completely to an open connection. Losses further along
   * the network cannot be seen here.
   */
  received: () => Promise<boolean>;
}

/** A call before validation. */
export interface RawPublicCall extends Sent, Around {
  /** By lower-case name. */
  headers: unknown;
}

/** The answers of an operation apart from its reply. */
interface Answering {
  /** Headers of every answer, including errors. */
  answerHeaders?: Readonly<Record<string, string>>;
  /** Successful answers with a status other than 200. */
  also?: Readonly<Record<string, Described>>;
  /** The error format if it is not google.rpc.Status. */
  errors?: ErrorDialect;
}

/** An operation without authentication. */
export interface PublicOperation extends Declared, Answering {
  tag: 'public';
  headers: z.ZodType;
  /** Validates the call, executes it, and renders the reply. Throws StatusError. */
  run(call: RawPublicCall): Promise<unknown>;
}

/** A declaration. `run` gets the validated call and may throw StatusError. */
type PublicSpec<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
  Headers extends z.ZodType,
> = Declaration<Params, Query, Body, Reply> &
  Answering & {
    headers?: Headers;
    /** Called before the body is read. Throws StatusError to refuse the caller. */
    before?: (caller: Visitor) => Promise<unknown>;
    run: (call: Checked<Params, Query, Body> & Around & { headers: z.output<Headers> }) => Promise<z.input<Reply>>;
  };

/** Declares an operation that anyone may call. Its calls are logged at `debug`. */
export function publicOperation<
  Reply extends z.ZodType,
  Params extends z.ZodType = typeof Empty,
  Query extends z.ZodType = typeof Empty,
  Body extends z.ZodType = typeof Empty,
  Headers extends z.ZodType = typeof Empty,
>(spec: PublicSpec<Params, Query, Body, Reply, Headers>): PublicOperation {
  const { run, before, ...declaration } = spec;
  const { declared, check } = declare<Params, Query, Body, typeof declaration>({ ...declaration, routine: true });
  const headers = (spec.headers ?? Empty) as Headers;
  return {
    ...declared,
    tag: 'public',
    headers,
    async run({ caller, response, received, headers: given, ...sent }) {
      await before?.(caller);
      const checked = { ...(await check(sent)), headers: checkFields(headers, given) };
      return replyOf(spec.reply, await run({ ...checked, caller, response, received }));
    },
  };
}

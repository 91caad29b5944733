import type { Response } from 'koa';
import type * as z from 'zod';
import { type Checked, type Declaration, type Declared, type Sent, checkFields, declare } from './declared.ts';
import type { Described, ErrorDialect } from './errors.ts';
import { Empty } from './fields.ts';
import { replyOf } from './reply.ts';
import type { Visitor } from './session/visitor.ts';

/** What a handler gets of a call beside what was sent. */
interface Around {
  caller: Visitor;
  /** The parts of the answer that are not its message. */
  response: Pick<Response, 'set' | 'status'>;
  /**
   * Resolves when the answer has ended, with whether it was received: written whole to a connection that was open. What the
   * network does to it behind that nobody here can know.
   */
  received: () => Promise<boolean>;
}

/** A call as it comes in. */
export interface RawPublicCall extends Sent, Around {
  /** By their lower-case names. */
  headers: unknown;
}

/** How it answers, beside its reply. */
interface Answering {
  /** Headers of every answer, errors too. */
  answerHeaders?: Readonly<Record<string, string>>;
  /** What answers have other statuses than 200 and are no errors. */
  also?: Readonly<Record<string, Described>>;
  /** How it tells errors, where not as google.rpc.Status. */
  errors?: ErrorDialect;
}

/** One operation that asks for no credential of ours. */
export interface PublicOperation extends Declared, Answering {
  tag: 'public';
  headers: z.ZodType;
  /** Checks the call, does it, and renders the reply. Throws StatusError. */
  run(call: RawPublicCall): Promise<unknown>;
}

/** What such an operation is. `run` gets the call checked. Throws StatusError. */
type PublicSpec<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
  Headers extends z.ZodType,
> = Declaration<Params, Query, Body, Reply> &
  Answering & {
    headers?: Headers;
    /** Asked before anything of the body is read. Throws StatusError for who may not go on. */
    before?: (caller: Visitor) => Promise<unknown>;
    run: (call: Checked<Params, Query, Body> & Around & { headers: z.output<Headers> }) => Promise<z.input<Reply>>;
  };

/** Declares an operation that anybody may call. Its calls are no news: they are logged at `debug`. */
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

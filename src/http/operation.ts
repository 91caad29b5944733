import * as z from 'zod';
import { unlessGone } from '../kernel/caller-gone.ts';
import { createSemaphore } from '../kernel/limits/semaphore.ts';
import { type Checked, type Declaration, type Declared, type Sent, type Upload, declare } from './declared.ts';
import type { Download } from './download.ts';
import type { Empty } from './fields.ts';
import type { Principal } from './principal.ts';
import { type WrittenReply, replyOf } from './reply.ts';
import type { Role } from './roles.ts';
import type { Scope } from './scopes.ts';
import type { EventSource } from './sse.ts';

/** The access an operation requires. */
interface Access {
  /** The scope an API key needs; `any`: any valid key. */
  scope: Scope | 'any';
  /**
   * Further scopes that some calls need, each with a description of those calls. The handler checks them
   * (`requireScope`).
   */
  alsoScopes?: Readonly<Partial<Record<Scope, string>>>;
  /** The scope an app token needs; absent if apps must not call it. */
  appScope?: Scope | 'any';
  /** Takes API keys only: whatever is in `Authorization` is no credential here. */
  keyOnly?: boolean;
  /** Takes an API key as a Bearer token as well, for programs that send a credential in no other way. */
  bearerKey?: boolean;
  /** It takes much longer than others: an account may call it less often, and accounts take turns. */
  expensive?: boolean;
  /** On a server: the least the caller must be on it. */
  role?: Role;
  tag: 'control' | 'account' | 'operator';
}

/** The handler's result, by the kind of answer. */
export interface Answers<Reply extends z.ZodType> {
  /** One message. */
  message: z.input<Reply> | WrittenReply;
  /** A stream of events (`sse.ts`), which must then be played. `reply` describes its text. */
  events: EventSource;
  /** A file's content (`download.ts`), which must then be sent. `reply` is `Bytes`. */
  bytes: Download;
  /** Text in a format of its own; `type` is its media type with all parameters. `reply` describes the text. */
  text: { type: string; text: string };
}

/** How an operation answers. */
export type Answering = keyof Answers<z.ZodType>;

/** Operations that cost much, of all accounts: each account has a part of the places, and its calls take turns with those of others. */
const expensive = createSemaphore({ atOnce: 4, atOncePerKey: 2, mostWaiting: 1_024, mostWaitingPerKey: 256 });

/** A file's content, as the documentation shows it. */
export const Bytes = z.string().meta({ format: 'binary' });

/** A call as its handler gets it: checked, and by a caller who may. */
export type Call<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> = Checked<
  Params,
  Query,
  Body
> &
  Omit<RawCall, keyof Sent> & { upload: () => Upload };

/** A call as it comes in. */
export interface RawCall extends Sent {
  principal: Principal;
  /** Behind which event a stream is to go on; '' for none. */
  lastEventId: string;
  /** Fires when the caller goes away. */
  signal: AbortSignal;
}

/** Describes an operation. `run` implements it; `More` is its context beside the call. Throws StatusError. */
export type OperationSpec<
  Answer extends Answering,
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
  More = unknown,
> = Declaration<Params, Query, Body, Reply> &
  Access & {
    /** Default: one message. */
    answers?: Answer;
    run: (call: Call<Params, Query, Body> & More) => Promise<Answers<Reply>[Answer]>;
  };

/** The event source, and the check that its caller may still see it. Throws StatusError. */
export interface OpenedStream extends EventSource {
  check: (principal: Principal) => Promise<unknown>;
}

/** `run` checks the call, does it, and gives the answer. Throws StatusError. */
interface Answered<Answer extends Answering, Result> extends Declared, Access {
  answers: Answer;
  run(call: RawCall): Promise<Result>;
}

/** One operation of the API. */
export type Operation =
  | Answered<'message', unknown>
  | Answered<'events', OpenedStream>
  | Answered<'bytes', Download>
  | Answered<'text', Answers<z.ZodType>['text']>;

/** An operation that answers in one way. */
export type AnsweringWith<Answer extends Answering> = Extract<Operation, { answers: Answer }>;

/** Declares an operation. Who watches a stream may do so as long as they may call it. */
export function operation<
  Reply extends z.ZodType,
  Answer extends Answering = 'message',
  Params extends z.ZodType = typeof Empty,
  Query extends z.ZodType = typeof Empty,
  Body extends z.ZodType = typeof Empty,
>(spec: OperationSpec<Answer, Params, Query, Body, Reply>): Operation {
  return operationOn(spec, async () => ({}));
}

/**
 * Declares an operation on something that `reach` finds for the caller, for the handler. Of a stream it is asked again, and
 * ends the stream by rejecting. Throws StatusError where there is no such thing for them.
 */
export function operationOn<
  Answer extends Answering,
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
  More,
>(
  spec: OperationSpec<Answer, Params, Query, Body, Reply, More>,
  reach: (principal: Principal, checked: Checked<Params, Query, Body>) => Promise<More>,
): Operation {
  const { run: handle, answers = 'message', ...declaration } = spec;
  const { declared, check } = declare<Params, Query, Body, typeof declaration>(declaration);
  async function run(sent: RawCall): Promise<unknown> {
    if (spec.expensive !== true) return await answer(sent);
    const { principal, signal } = sent;
    const leave = await unlessGone(signal, () => expensive.enter({ key: principal.accountId }, signal));
    return await answer(sent).finally(leave);
  }
  async function answer(sent: RawCall): Promise<unknown> {
    const { principal, signal, lastEventId, upload } = sent;
    const checked = await check(sent);
    const call = { ...checked, ...(await reach(principal, checked)), principal, signal, lastEventId, upload };
    const result = await handle(call);
    if (answers === 'message') return replyOf(spec.reply, result as z.input<Reply> | WrittenReply);
    if (answers === 'bytes' || answers === 'text') return result;
    return { ...(result as EventSource), check: (known: Principal) => reach(known, checked) };
  }
  return { ...declared, answers, run } as Operation;
}

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
   * Additional scopes that some calls need, each with a description of those calls. The handler checks them
   * (`requireScope`).
   */
  alsoScopes?: Readonly<Partial<Record<Scope, string>>>;
  /** The scope an app token needs; absent if apps must not call it. */
  appScope?: Scope | 'any';
  /** Accepts only API keys and ignores `Authorization`. */
  keyOnly?: boolean;
  /** Also accepts an API key as a Bearer token, for programs that cannot send it in another way. */
  bearerKey?: boolean;
  /** Takes much longer than other operations. An account may call it less often, and accounts take turns. */
  expensive?: boolean;
  /** Minimum role of the caller on the server. */
  role?: Role;
  tag: 'control' | 'account' | 'operator';
}

/** The handler's result by kind of answer. */
export interface Answers<Reply extends z.ZodType> {
  /** A message. */
  message: z.input<Reply> | WrittenReply;
  /** An event stream (`sse.ts`), which must be played. `reply` describes its text. */
  events: EventSource;
  /** A file's content (`download.ts`), which must be sent. `reply` is `Bytes`. */
  bytes: Download;
  /** Text in another format. `type` is its media type with all parameters. `reply` describes the text. */
  text: { type: string; text: string };
}

/** The kind of an operation's answer. */
export type Answering = keyof Answers<z.ZodType>;

/** Limits expensive operations over all accounts. Each account has a share of the places, and accounts take turns. */
const expensive = createSemaphore({ atOnce: 4, atOncePerKey: 2, mostWaiting: 1_024, mostWaitingPerKey: 256 });

/** A file's content in the documentation. */
export const Bytes = z.string().meta({ format: 'binary' });

/** A validated call by an authorized caller, as its handler gets it. */
export type Call<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> = Checked<
  Params,
  Query,
  Body
> &
  Omit<RawCall, keyof Sent> & { upload: () => Upload };

/** A call before validation. */
export interface RawCall extends Sent {
  principal: Principal;
  /** The last event received by a resuming stream; '' if none. */
  lastEventId: string;
  /** Fires when the caller disconnects. */
  signal: AbortSignal;
}

/** An operation's declaration. `run` implements it and may throw StatusError. `More` is its context beside the call. */
export type OperationSpec<
  Answer extends Answering,
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
  More = unknown,
> = Declaration<Params, Query, Body, Reply> &
  Access & {
    /** Default: a message. */
    answers?: Answer;
    run: (call: Call<Params, Query, Body> & More) => Promise<Answers<Reply>[Answer]>;
  };

/** The event source. `check` throws StatusError once its caller has lost access. */
export interface OpenedStream extends EventSource {
  check: (principal: Principal) => Promise<unknown>;
}

/** `run` validates the call, executes it, and returns the answer. Throws StatusError. */
interface Answered<Answer extends Answering, Result> extends Declared, Access {
  answers: Answer;
  run(call: RawCall): Promise<Result>;
}

/** An operation of the API. */
export type Operation =
  | Answered<'message', unknown>
  | Answered<'events', OpenedStream>
  | Answered<'bytes', Download>
  | Answered<'text', Answers<z.ZodType>['text']>;

/** An operation with one kind of answer. */
export type AnsweringWith<Answer extends Answering> = Extract<Operation, { answers: Answer }>;

/** Declares an operation. A stream's viewer may watch as long as it could call the operation. */
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
 * Declares an operation on a subject, which `reach` finds for the caller and passes to the handler. `reach` throws
 * StatusError if the caller has no such subject. During a stream it is called again, and a rejection ends the stream.
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

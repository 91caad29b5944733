import type { z } from 'zod';
import { type Checked, type Declaration, type Declared, type Sent, declare } from './declared.ts';
import type { Download } from './download.ts';
import type { Empty } from './fields.ts';
import type { Principal } from './principal.ts';
import { replyOf } from './reply.ts';
import type { Role } from './roles.ts';
import type { Scope } from './scopes.ts';
import type { Services } from './services.ts';
import type { EventSource } from './sse.ts';

/** What callers need for an operation. */
interface Access {
  /** What the caller's API key must hold; `any`: a valid one will do. */
  scope: Scope | 'any';
  /** What an app token must hold; absent: apps may not call it. */
  appScope?: Scope | 'any';
  /** Takes API keys only: whatever is in `Authorization` is no credential here. */
  keyOnly?: boolean;
  tag: 'control' | 'operator';
}

/** What an operation is, but for what it does. */
export type OperationSpec<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
> = Declaration<Params, Query, Body, Reply> & Access;

/** A call as its handler gets it: checked, and by a caller who may. */
export type Call<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> = Checked<
  Params,
  Query,
  Body
> & {
  principal: Principal;
  /** Fires when the caller goes away. */
  signal: AbortSignal;
};

/** A call as it comes in. */
export interface RawCall extends Sent {
  principal: Principal;
  /** Behind which event a stream is to go on; '' for none. */
  lastEventId: string;
  signal: AbortSignal;
}

interface Common extends Declared, Access {
  /** On a server: the least the caller must be on it. */
  role?: Role;
}

/** An operation that answers with one message. */
export interface MessageOperation extends Common {
  answers: 'message';
  /** Checks the call, does it, and renders the reply. Throws StatusError. */
  run(call: RawCall, services: Services): Promise<unknown>;
}

/** An operation that answers with a stream of events (`sse.ts`). `reply` describes its text. */
export interface StreamOperation extends Common {
  answers: 'events';
  /** Checks the call and gives what to play, which must then be played. Throws StatusError. */
  open(call: RawCall, services: Services): Promise<OpenedStream>;
}

/** What is to be played, and the check that its caller, as they are known now, may still see it. Throws StatusError. */
export interface OpenedStream extends EventSource {
  check: (principal: Principal) => Promise<unknown>;
}

/** An operation that answers with a file's content (`download.ts`). `reply` describes it. */
export interface DownloadOperation extends Common {
  answers: 'bytes';
  /** Checks the call and gives what to send, which must then be sent. Throws StatusError. */
  open(call: RawCall, services: Services): Promise<Download>;
}

/** One operation of the API. */
export type Operation = MessageOperation | StreamOperation | DownloadOperation;

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
  type Handler = (call: Call<Params, Query, Body>, services: Services) => Promise<z.input<Reply>>;
  return {
    handle(handler: Handler): MessageOperation {
      const { declared, check } = declare<Params, Query, Body, typeof spec>(spec);
      return {
        ...declared,
        answers: 'message',
        async run(sent, services) {
          const { principal, signal } = sent;
          const call = { ...(await check(sent)), principal, signal };
          return await replyOf(spec.reply, await handler(call, services));
        },
      };
    },
  };
}

/** Declares an operation that answers with a stream of events. Who watches may do so as long as they may call it. */
export function streamOperation<Query extends z.ZodType = typeof Empty>(
  spec: OperationSpec<typeof Empty, Query, typeof Empty, z.ZodString>,
) {
  type Handler = (call: Call<typeof Empty, Query, typeof Empty>, services: Services) => Promise<EventSource>;
  return {
    handle(handler: Handler): StreamOperation {
      const { declared, check } = declare<typeof Empty, Query, typeof Empty, typeof spec>(spec);
      return {
        ...declared,
        answers: 'events',
        async open(sent, services) {
          const { principal, signal } = sent;
          const source = await handler({ ...(await check(sent)), principal, signal }, services);
          return { ...source, check: async () => {} };
        },
      };
    },
  };
}

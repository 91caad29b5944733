import type { z } from 'zod';
import { type Checked, type Declaration, type Declared, type Sent, declare } from './declared.ts';
import type { Empty } from './fields.ts';
import type { SessionPrincipal } from './principal.ts';
import { replyOf } from './reply.ts';
import type { Services } from './services.ts';
import type { Visitor } from './visitor.ts';

/** The browser (or what behaves like one) that calls. */
export interface Browser extends Visitor {
  /** Has the browser keep the session with this token from now on, or with null forget the one it has. */
  keepSession(token: string | null): void;
  /** Has it keep what tells it from others, for longer than any session. */
  keepDevice(device: string): void;
}

/** A call as its handler gets it: checked, and from a page of ours. */
export type VisitorCall<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> = Checked<
  Params,
  Query,
  Body
> & { browser: Browser };

/** The same by somebody who is signed in. */
export type SessionCall<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> = VisitorCall<
  Params,
  Query,
  Body
> & { principal: SessionPrincipal };

/** A call as it comes in. */
export interface RawSessionCall extends Sent {
  browser: Browser;
  /** Undefined where nobody is signed in, which only operations for visitors see. */
  principal: SessionPrincipal | undefined;
}

/** One operation of the dashboard: by cookie, never by API key, so that a leaked key cannot mint others. */
export interface SessionOperation extends Declared {
  tag: 'session';
  /** Whether somebody must be signed in. */
  signedIn: boolean;
  run(call: RawSessionCall, services: Services): Promise<unknown>;
}

/** Declares an operation for somebody who is signed in; idiom as `operation`. */
export function sessionOperation<
  Reply extends z.ZodType,
  Params extends z.ZodType = typeof Empty,
  Query extends z.ZodType = typeof Empty,
  Body extends z.ZodType = typeof Empty,
>(spec: Declaration<Params, Query, Body, Reply>) {
  type Handler = (call: SessionCall<Params, Query, Body>, services: Services) => Promise<z.input<Reply>>;
  return {
    handle(handler: Handler): SessionOperation {
      const { declared, check } = declare<Params, Query, Body, typeof spec>(spec);
      return {
        ...declared,
        tag: 'session',
        signedIn: true,
        async run({ principal, browser, ...sent }, services) {
          if (!principal) throw new Error('an operation of a session was called without one');
          const call = { ...(await check(sent)), principal, browser };
          return await replyOf(spec.reply, await handler(call, services));
        },
      };
    },
  };
}

/** Declares an operation for somebody who need not be signed in. */
export function visitorOperation<
  Reply extends z.ZodType,
  Params extends z.ZodType = typeof Empty,
  Query extends z.ZodType = typeof Empty,
  Body extends z.ZodType = typeof Empty,
>(spec: Declaration<Params, Query, Body, Reply>) {
  type Handler = (call: VisitorCall<Params, Query, Body>, services: Services) => Promise<z.input<Reply>>;
  return {
    handle(handler: Handler): SessionOperation {
      const { declared, check } = declare<Params, Query, Body, typeof spec>(spec);
      return {
        ...declared,
        tag: 'session',
        signedIn: false,
        async run({ browser, ...sent }, services) {
          return await replyOf(spec.reply, await handler({ ...(await check(sent)), browser }, services));
        },
      };
    },
  };
}

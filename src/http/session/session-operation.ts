import type * as z from 'zod';
import { type Checked, type Declaration, type Declared, type Sent, declare } from '../declared.ts';
import type { Empty } from '../fields.ts';
import type { SessionPrincipal } from '../principal.ts';
import { replyOf } from '../reply.ts';
import type { Visitor } from './visitor.ts';

/** The browser (or what behaves like one) that calls. */
export interface Browser extends Visitor {
  /** Has the browser keep the session with this token from now on, or with null forget the one it has. */
  keepSession(token: string | null): void;
  /** Stores the device's identity in the browser, for longer than any session. */
  keepDevice(device: string): void;
  /** Has it keep what shows that it has given a password, or with null forget it. */
  keepPending(pending: string | null): void;
}

/** A call as it comes in. */
export interface RawSessionCall extends Sent {
  browser: Browser;
  /** Undefined without a signed-in user, which only operations for visitors see. */
  principal: SessionPrincipal | undefined;
}

/** One operation of the dashboard: by cookie, never by API key, so that a leaked key cannot mint others. */
export interface SessionOperation extends Declared {
  tag: 'session';
  /** Whether somebody must be signed in. */
  signedIn: boolean;
  /** Checks the call, does it, and renders the reply. Throws StatusError. */
  run(call: RawSessionCall): Promise<unknown>;
}

/** Describes an operation of the dashboard. `run` gets the validated call from a page of ours. Throws StatusError. */
type SessionSpec<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
  SignedIn extends boolean,
> = Declaration<Params, Query, Body, Reply> & {
  /** False: for somebody who need not be signed in. */
  signedIn?: SignedIn;
  run: (
    call: Checked<Params, Query, Body> & {
      browser: Browser;
      principal: SignedIn extends true ? SessionPrincipal : undefined;
    },
  ) => Promise<z.input<Reply>>;
};

/** Declares an operation of the dashboard. */
export function sessionOperation<
  Reply extends z.ZodType,
  Params extends z.ZodType = typeof Empty,
  Query extends z.ZodType = typeof Empty,
  Body extends z.ZodType = typeof Empty,
  SignedIn extends boolean = true,
>(spec: SessionSpec<Params, Query, Body, Reply, SignedIn>): SessionOperation {
  const { run, signedIn = true, ...declaration } = spec;
  const { declared, check } = declare<Params, Query, Body, typeof declaration>(declaration);
  return {
    ...declared,
    tag: 'session',
    signedIn,
    async run({ principal, browser, ...sent }) {
      if (signedIn && !principal) throw new Error('an operation of a session was called without one');
      const known = principal as SignedIn extends true ? SessionPrincipal : undefined;
      return await replyOf(spec.reply, await run({ ...(await check(sent)), browser, principal: known }));
    },
  };
}

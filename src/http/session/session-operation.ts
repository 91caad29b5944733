import type * as z from 'zod';
import { type Checked, type Declaration, type Declared, type Sent, declare } from '../declared.ts';
import type { Empty } from '../fields.ts';
import type { SessionPrincipal } from '../principal.ts';
import { replyOf } from '../reply.ts';
import type { Visitor } from './visitor.ts';

/** The calling browser, or a program that behaves like one. */
export interface Browser extends Visitor {
  /** Stores the session's token in the browser; null removes it. */
  keepSession(token: string | null): void;
  /** Stores the device's identity in the browser, for longer than any session. */
  keepDevice(device: string): void;
  /** Stores the proof of an entered password in the browser; null removes it. */
  keepPending(pending: string | null): void;
}

/** A call before validation. */
export interface RawSessionCall extends Sent {
  browser: Browser;
  /** Undefined if no user is signed in, which only happens for operations with `signedIn: false`. */
  principal: SessionPrincipal | undefined;
}

/** A panel operation. Authenticated by cookie and never by API key, so that a leaked key cannot create others. */
export interface SessionOperation extends Declared {
  tag: 'session';
  /** Whether a signed-in user is required. */
  signedIn: boolean;
  /** Validates the call, executes it, and renders the reply. Throws StatusError. */
  run(call: RawSessionCall): Promise<unknown>;
}

/** A declaration. `run` gets the validated call from one of our pages and may throw StatusError. */
type SessionSpec<
  Params extends z.ZodType,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Reply extends z.ZodType,
  SignedIn extends boolean,
> = Declaration<Params, Query, Body, Reply> & {
  /** False: no signed-in user is required. */
  signedIn?: SignedIn;
  run: (
    call: Checked<Params, Query, Body> & {
      browser: Browser;
      principal: SignedIn extends true ? SessionPrincipal : undefined;
    },
  ) => Promise<z.input<Reply>>;
};

/** Declares a panel operation. */
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

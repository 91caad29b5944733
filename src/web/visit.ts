import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { createCookie } from '../http/cookies.ts';
import { csrfToken } from '../http/csrf.ts';
import type { SessionPrincipal } from '../http/principal.ts';
import { sessionToken } from '../http/session-cookie.ts';
import { type Visitor, deviceOf } from '../http/visitor.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Secret } from '../store/secret.ts';
import type { Html } from './html.ts';

/** Somebody asks for a page. */
export interface Visit {
  /** Undefined: nobody is signed in. */
  principal: SessionPrincipal | undefined;
  visitor: Visitor;
  query: URLSearchParams;
  /** The path with its query. */
  path: string;
  now: number;
  /** The page to sign in at, which leads back here. */
  signIn: string;
  /** What forms of the page must send along. */
  csrf: string;
  /** What `csrf` belongs to: the session, or the browser of somebody not signed in. */
  csrfOwner: string;
}

/** The same by somebody who is signed in. */
export interface SignedInVisit extends Visit {
  principal: SessionPrincipal;
}

/** A page to show. */
export interface Page {
  title: string;
  main: Html;
  /** What it needs beyond the style of all pages: paths of ours. A page without a script may run none. */
  style?: string;
  script?: string;
  /** Default 200. */
  status?: number;
  retryAfterSeconds?: number;
}

/** Another page to go to, as the answer to every form that did something. */
export interface Redirect {
  to: string;
  /** The token of the session that begins; null: the one there is ends. */
  session?: string | null;
  /** What the browser keeps past sessions: the device of its `Visitor`. */
  device?: string;
}

export type Answer = Page | Redirect;

/** Who is not signed in has a random cookie, only so that a form can be told from one that another site made. */
const VISITOR = createCookie('visitor');
const VISITOR_ID = /^[\w-]{22}$/;

/** What tells who asks for a page. */
export interface VisitOptions {
  config: {
    /** Where browsers find the pages. */
    baseUrl: string;
  };
  clock: Clock;
  secret: Secret;
  /** Where a request comes from. */
  clientAddress: (request: IncomingMessage) => string;
  /** Who is signed in with the token in a session's cookie; undefined: nobody. */
  findSession: (token: string) => Promise<SessionPrincipal | undefined>;
  /** The page to sign in at that leads on to `wanted`, where that is a page of ours. */
  signInPath: (wanted: string) => string;
}

export async function visitOf(ctx: Context, options: VisitOptions): Promise<Visit> {
  const { clock, config, secret, clientAddress, findSession, signInPath } = options;
  const token = sessionToken(config.baseUrl, ctx.headers.cookie);
  const principal = token === undefined ? undefined : await findSession(token);
  const csrfOwner = principal?.sessionId ?? `visitor ${visitorId(ctx, config.baseUrl)}`;
  const query = new URLSearchParams(ctx.querystring);
  const path = `${ctx.path}${ctx.search}`;
  return {
    principal,
    visitor: {
      address: clientAddress(ctx.req),
      userAgent: ctx.get('user-agent'),
      device: deviceOf(config.baseUrl, ctx.headers.cookie),
    },
    query,
    path,
    now: clock.now(),
    signIn: signInPath(/^\/sign-(?:in|up)/.test(path) ? (query.get('next') ?? '') : path),
    csrf: csrfToken(secret, csrfOwner),
    csrfOwner,
  };
}

function visitorId(ctx: Context, baseUrl: string): string {
  const [known] = VISITOR.values(baseUrl, ctx.headers.cookie);
  if (known !== undefined && VISITOR_ID.test(known)) return known;
  const id = randomBytes(16).toString('base64url');
  ctx.append('Set-Cookie', VISITOR.set(baseUrl, id));
  return id;
}

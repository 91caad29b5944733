import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { parseFields } from '../http/body.ts';
import type { Download } from '../http/download.ts';
import { goneSignal } from '../http/ended.ts';
import type { SessionPrincipal } from '../http/principal.ts';
import type { TakeToken } from '../http/rate-limit.ts';
import { createCookie } from '../http/session/cookies.ts';
import { maskedCsrfToken } from '../http/session/csrf.ts';
import { sessionToken } from '../http/session/session-cookie.ts';
import { type Visitor, deviceOf, pendingOf } from '../http/session/visitor.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import { KIB } from '../kernel/units.ts';
import type { Secret } from '../store/secret.ts';
import type { Html } from './html.ts';

/** A request for a page or from a form. */
export interface PageRequest {
  /** Undefined if no user is signed in. */
  principal: SessionPrincipal | undefined;
  visitor: Visitor;
  query: URLSearchParams;
  /** The path including the query. */
  path: string;
  /** The values of `:name` in the page's path. */
  params: Readonly<Record<string, string>>;
  now: number;
  /** The address of the sign-in page, which returns here. */
  signIn: string;
  /** Fires when the client disconnects. */
  signal: AbortSignal;
  /** The token that the page's forms must send. */
  csrf: string;
  /** Whether the user has finished or dismissed the first steps in this browser. */
  tourOver: boolean;
  /** Whether servers cost nothing here, so that pages omit money. */
  isFree: boolean;
  /** The owner of `csrf`: the session, or a visitor's browser. */
  csrfOwner: string;
}

/** A page request of a signed-in user. */
export interface SignedInRequest extends PageRequest {
  principal: SessionPrincipal;
}

/** The pages beside a page, as links. */
export interface SidePages {
  /** The name of these pages, for screen readers. */
  label: string;
  groups: readonly {
    name?: string;
    links: readonly { href: string; label: string; isCurrent: boolean }[];
  }[];
  /** Shown after the links. */
  note?: Html | false;
}

/** A page to show. */
export interface Page {
  title: string;
  main: Html;
  pages?: SidePages;
  /** Additional style sheets and scripts, as our own paths. A page without scripts must not run any. */
  styles?: readonly string[];
  scripts?: readonly string[];
  /** Packages used by the scripts. */
  libraries?: readonly string[];
  /** Default: 200. */
  status?: number;
  retryAfterSeconds?: number;
  /** Reloads the page in browsers without scripts. */
  reloadSeconds?: number;
  /** Whether to stop showing the first steps to the user. */
  endsTour?: boolean;
}

/** Redirects to another page, as every successful form does. */
export interface Redirect {
  to: string;
  /** The token of a new session; null ends the current one. */
  session?: string | null;
  /** The device of the `Visitor`, which outlives the session. */
  device?: string;
  /** The token that the browser keeps between password and code; null removes it. */
  pending?: string | null;
  /** Same as in `Page`. */
  endsTour?: boolean;
}

/** A file to download. */
interface Attachment {
  download: Download;
}

export type Answer = Page | Redirect | Attachment;

/** Most characters of a field in a form or query. */
const FIELD_CHARS = 8 * KIB;

/** A random cookie for visitors without a session, only used to tell our forms from those of other sites. */
const VISITOR = createCookie('visitor');
const VISITOR_ID = /^[\w-]{22}$/;

/** Dependencies of page requests. */
export interface PageRequestOptions {
  config: {
    /** The pages' base URL for browsers. */
    baseUrl: string;
    pricePerGbHourMicros: number;
    pricePerGbMonthMicros: number;
  };
  clock: Clock;
  secret: Secret;
  /** Returns the client address of a request. */
  clientAddress: (request: IncomingMessage) => string;
  /** Returns the user of a session's token; undefined if there is no session. */
  findSession: (token: string) => Promise<SessionPrincipal | undefined>;
  /** Counts a request against the rate of its session and account. */
  takeToken: TakeToken;
  /** Returns the sign-in page that continues to `wanted` if that is one of our pages. */
  signInPath: (wanted: string) => string;
}

export async function pageRequestOf(ctx: Context, options: PageRequestOptions): Promise<PageRequest> {
  const { clock, config, secret, clientAddress, findSession, takeToken, signInPath } = options;
  const token = sessionToken(config.baseUrl, ctx.headers.cookie);
  const principal = token === undefined ? undefined : await findSession(token);
  if (principal) takeToken(principal);
  const csrfOwner = principal?.sessionId ?? `visitor ${visitorId(ctx, config.baseUrl)}`;
  const query = boundFields(parseFields(ctx.querystring));
  const path = `${ctx.path}${ctx.search}`;
  const request: PageRequest = {
    principal,
    visitor: {
      address: clientAddress(ctx.req),
      userAgent: ctx.get('user-agent'),
      device: deviceOf(config.baseUrl, ctx.headers.cookie),
      pending: pendingOf(config.baseUrl, ctx.headers.cookie),
    },
    query,
    path,
    params: ctx.params as Record<string, string>,
    now: clock.now(),
    signIn: signInPath(/^\/sign-(?:in|up)/.test(path) ? (query.get('next') ?? '') : path),
    signal: goneSignal(ctx.res),
    csrf: maskedCsrfToken(secret, csrfOwner),
    tourOver: principal !== undefined && isTourOver(config.baseUrl, ctx.headers.cookie, principal.userId),
    isFree: config.pricePerGbHourMicros === 0 && config.pricePerGbMonthMicros === 0,
    csrfOwner,
  };
  ctx.state.pageRequest = request;
  return request;
}

/**
 * Returns the fields of a form or query. Throws INVALID_ARGUMENT FIELD_TOO_LONG for one with more than `most`
 * characters.
 */
export function boundFields<Fields extends URLSearchParams>(fields: Fields, most = FIELD_CHARS): Fields {
  for (const [name, value] of fields) {
    if (name.length <= FIELD_CHARS && value.length <= most) continue;
    const sentence = `A field may have at most ${most} characters.`;
    throw new StatusError('INVALID_ARGUMENT', 'FIELD_TOO_LONG', sentence, { metadata: { limit: String(most) } });
  }
  return fields;
}

/** Returns the result of `pageRequestOf` for this request; undefined if it was not called or failed. */
export function knownRequest(ctx: Context): PageRequest | undefined {
  return ctx.state.pageRequest as PageRequest | undefined;
}

function visitorId(ctx: Context, baseUrl: string): string {
  const [known] = VISITOR.values(baseUrl, ctx.headers.cookie);
  if (known !== undefined && VISITOR_ID.test(known)) return known;
  const id = randomBytes(16).toString('base64url');
  ctx.append('Set-Cookie', VISITOR.set(baseUrl, id));
  return id;
}

/** The longest that browsers keep a cookie (RFC 6265bis §5.5). */
const KEPT_SECONDS = 400 * 86_400;

/** Stores which user has finished or dismissed the first steps in this browser. */
const COOKIE = createCookie('tour');

/** Returns whether a `Cookie` header records that a user has finished or dismissed the first steps. */
function isTourOver(baseUrl: string, header: string | undefined, userId: string): boolean {
  return COOKIE.values(baseUrl, header).includes(userId);
}

/** Returns the value of a `Set-Cookie` that stores this. */
export function tourOverCookie(baseUrl: string, userId: string): string {
  return COOKIE.set(baseUrl, userId, KEPT_SECONDS);
}

import { type Context, HttpError, type Middleware } from 'koa';
import { sessionToken } from '../http/session/session-cookie.ts';
import type { Log } from '../kernel/log.ts';
import { StatusError } from '../kernel/status.ts';
import { html } from './html.ts';
import { VISITOR, layout, pageHeaders } from './layout.ts';
import { type PageRequestOptions, knownRequest, pageRequestOf } from './page-request.ts';
import { statusOf } from './problem.ts';

interface Trouble {
  status: number;
  heading: string;
  message: string;
  retryAfterSeconds?: number;
}

const NOT_FOUND: Trouble = {
  status: 404,
  heading: 'Page not found',
  message: 'Check the address. The page may have been removed.',
};

/**
 * Shows an error page for errors of pages and for unknown addresses. Its frame shows the signed-in user if the session
 * was already looked up.
 */
export function pageErrors(options: PageRequestOptions, log: Log): Middleware {
  const headers = pageHeaders(options.config.baseUrl);
  return async function renderPageErrors(ctx, next) {
    ctx.set(headers);
    try {
      await next();
      if (ctx.status === 404 && (ctx.body === undefined || ctx.body === null)) {
        if (sessionToken(options.config.baseUrl, ctx.headers.cookie) !== undefined) await pageRequestOf(ctx, options);
        show(ctx, NOT_FOUND);
      }
    } catch (error) {
      const trouble = troubleOf(error);
      if (trouble.status >= 500) log.error({ requestId: ctx.state.requestId as unknown, err: error }, 'page failed');
      ctx.state.reason = error instanceof StatusError ? error.reason : undefined;
      show(ctx, trouble);
    }
  };
}

function troubleOf(error: unknown): Trouble {
  if (error instanceof StatusError && error.code === 'NOT_FOUND') return { ...NOT_FOUND, message: error.message };
  if (error instanceof StatusError && error.code !== 'INTERNAL') {
    const { retryAfterSeconds } = error.options;
    const status = statusOf(error);
    return {
      status,
      heading: 'Something went wrong',
      message: error.message,
      ...(retryAfterSeconds && { retryAfterSeconds }),
    };
  }
  if (error instanceof HttpError && error.status < 500) {
    return { status: error.status, heading: 'Something went wrong', message: 'Your browser sent an invalid request.' };
  }
  const message =
    'The error is on our side. Try again in a moment. If it persists, send your administrator the request ID below.';
  return { status: 500, heading: 'Something went wrong', message };
}

function show(ctx: Context, { status, heading, message, retryAfterSeconds }: Trouble): void {
  const requestId = typeof ctx.state.requestId === 'string' ? ctx.state.requestId : undefined;
  const main = html`<section class="card narrow">
    <h1>${heading}</h1>
    <p>${message}</p>
    ${status >= 500 && requestId && html`<p class="hint">Request ID: <code>${requestId}</code></p>`}
    <p><a class="button" href="/">Home</a></p>
  </section>`;
  ctx.status = status;
  ctx.type = 'html';
  // Does not look up the session, because that lookup may be what failed.
  ctx.body = layout({ title: heading, main }, knownRequest(ctx) ?? VISITOR).toString();
  if (retryAfterSeconds !== undefined) ctx.set('Retry-After', String(Math.max(1, Math.ceil(retryAfterSeconds))));
  // The rest of such a body is not read, so the connection cannot be reused.
  if (status === 408 || status === 413) ctx.set('Connection', 'close');
}

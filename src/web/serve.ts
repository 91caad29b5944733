import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { readBody } from '../http/body.ts';
import { checkCsrfToken, refuseCrossSite } from '../http/csrf.ts';
import { clearedSessionCookie, sessionCookie } from '../http/session-cookie.ts';
import { deviceCookie } from '../http/visitor.ts';
import { StatusError } from '../kernel/status.ts';
import { KIB } from '../kernel/units.ts';
import { LIVE_PAGE_POLICY } from './headers.ts';
import { layout } from './layout.ts';
import { type Answer, type SignedInVisit, type Visit, type VisitOptions, visitOf } from './visit.ts';

/** More than any form here can fill. */
const FORM_BYTES = 32 * KIB;

/** A form as it was sent. */
export type Form = URLSearchParams;

type Awaitable<T> = T | Promise<T>;

/** Gives pages their routes. */
export interface Serve {
  /** A page for everybody. */
  open(path: string, show: (visit: Visit) => Awaitable<Answer>): void;
  /** A page for who is signed in; others sign in first and come back. */
  signedIn(path: string, show: (visit: SignedInVisit) => Awaitable<Answer>): void;
  /** A form for everybody. `act` is called only for forms of our own pages. */
  submit(path: string, act: (visit: Visit, form: Form) => Awaitable<Answer>): void;
  submitSignedIn(path: string, act: (visit: SignedInVisit, form: Form) => Awaitable<Answer>): void;
}

export function createServe(router: Router, options: VisitOptions): Serve {
  const { baseUrl } = options.config;

  return {
    open(path, show) {
      router.get(path, async (ctx) => {
        const visit = await visitOf(ctx, options);
        send(ctx, visit, await show(visit));
      });
    },
    signedIn(path, show) {
      router.get(path, async (ctx) => {
        const visit = await visitOf(ctx, options);
        send(ctx, visit, isSignedIn(visit) ? await show(visit) : { to: visit.signIn });
      });
    },
    submit(path, act) {
      router.post(path, async (ctx) => {
        refuseCrossSite(ctx.method, ctx.headers, baseUrl);
        const visit = await visitOf(ctx, options);
        send(ctx, visit, await act(visit, await formOf(ctx, visit)));
      });
    },
    submitSignedIn(path, act) {
      router.post(path, async (ctx) => {
        refuseCrossSite(ctx.method, ctx.headers, baseUrl);
        const visit = await visitOf(ctx, options);
        // The session ended while the form was open.
        if (!isSignedIn(visit)) send(ctx, visit, { to: visit.signIn });
        else send(ctx, visit, await act(visit, await formOf(ctx, visit)));
      });
    },
  };

  async function formOf(ctx: Context, visit: Visit): Promise<Form> {
    if (!ctx.is('application/x-www-form-urlencoded')) {
      throw new StatusError('INVALID_ARGUMENT', 'NO_FORM', 'This page takes only its own form.', { httpStatus: 415 });
    }
    const form = new URLSearchParams((await readBody(ctx.req, FORM_BYTES)).toString());
    checkCsrfToken(options.secret, visit.csrfOwner, form.get('csrf') ?? '');
    return form;
  }

  function send(ctx: Context, visit: Visit, answer: Answer): void {
    if (!('to' in answer)) {
      ctx.status = answer.status ?? 200;
      ctx.type = 'html';
      ctx.body = layout(answer, visit).toString();
      if (answer.script !== undefined) ctx.set('Content-Security-Policy', LIVE_PAGE_POLICY);
      if (answer.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(answer.retryAfterSeconds));
      return;
    }
    if (answer.session === null) ctx.append('Set-Cookie', clearedSessionCookie(baseUrl));
    else if (answer.session !== undefined) ctx.append('Set-Cookie', sessionCookie(baseUrl, answer.session));
    if (answer.device !== undefined) ctx.append('Set-Cookie', deviceCookie(baseUrl, answer.device));
    // RFC 9110 §15.4.4: whatever asked, the next request is a GET.
    ctx.status = 303;
    ctx.set('Location', answer.to);
    ctx.type = 'text';
    ctx.body = '';
  }
}

function isSignedIn(visit: Visit): visit is SignedInVisit {
  return visit.principal !== undefined;
}

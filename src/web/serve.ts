import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { parseFields, readBody } from '../http/body.ts';
import { sendDownload } from '../http/download.ts';
import { checkCsrfToken, refuseCrossSite } from '../http/session/csrf.ts';
import { clearedSessionCookie, sessionCookie } from '../http/session/session-cookie.ts';
import { deviceCookie, pendingCookie } from '../http/session/visitor.ts';
import { StatusError } from '../kernel/status.ts';
import { KIB } from '../kernel/units.ts';
import { LIVE_PAGE_POLICY, layout } from './layout.ts';
import { type SentFile, streamForm } from './multipart.ts';
import {
  type Answer,
  type PageRequest,
  type PageRequestOptions,
  type SignedInRequest,
  boundFields,
  pageRequestOf,
  tourOverCookie,
} from './page-request.ts';

/** More than any form here needs. */
const FORM_BYTES = 32 * KIB;

/** A submitted form. */
export interface Form extends URLSearchParams {
  /** The content of uploaded files, by field. */
  files?: ReadonlyMap<string, Buffer>;
  /** The files of a streamed form. Its fields are those before the first file. */
  uploads?: AsyncIterable<SentFile>;
}

/** The size limit of a form, if larger than the default. `streamed`: files of any length, in `Form.uploads`. */
type FormSize = number | 'streamed';

export type Awaitable<T> = T | Promise<T>;

/** Adds routes for pages and forms. */
export interface Serve {
  /** A page for everyone. */
  open(path: string, show: (request: PageRequest) => Awaitable<Answer>): void;
  /** A page for signed-in users. Others sign in first and return. */
  signedIn(path: string, show: (request: SignedInRequest) => Awaitable<Answer>): void;
  /** A form for everyone. `act` is called only for forms from our own pages. */
  submit(path: string, act: (request: PageRequest, form: Form) => Awaitable<Answer>): void;
  submitSignedIn(path: string, act: (request: SignedInRequest, form: Form) => Awaitable<Answer>, size?: FormSize): void;
}

export function createServe(router: Router, options: PageRequestOptions): Serve {
  const { baseUrl } = options.config;

  return {
    open(path, show) {
      router.get(path, async (ctx) => {
        const request = await pageRequestOf(ctx, options);
        send(ctx, request, await show(request));
      });
    },
    signedIn(path, show) {
      router.get(path, async (ctx) => {
        const request = await pageRequestOf(ctx, options);
        send(ctx, request, isSignedIn(request) ? await show(request) : { to: request.signIn });
      });
    },
    submit(path, act) {
      router.post(path, async (ctx) => {
        refuseCrossSite(ctx.method, ctx.headers, baseUrl);
        const request = await pageRequestOf(ctx, options);
        send(ctx, request, await act(request, await formOf(ctx, request)));
      });
    },
    submitSignedIn(path, act, size) {
      router.post(path, async (ctx) => {
        refuseCrossSite(ctx.method, ctx.headers, baseUrl);
        const request = await pageRequestOf(ctx, options);
        // The session ended while the form was open.
        if (!isSignedIn(request)) send(ctx, request, { to: request.signIn });
        else if (size !== 'streamed') send(ctx, request, await act(request, await formOf(ctx, request, size)));
        else send(ctx, request, await withStreamedForm(ctx, request, (form) => act(request, form)));
      });
    },
  };

  async function formOf(ctx: Context, request: PageRequest, limitBytes = FORM_BYTES): Promise<Form> {
    const form = await readForm(ctx, limitBytes);
    boundFields(form, limitBytes > FORM_BYTES ? limitBytes : undefined);
    checkCsrfToken(options.secret, request.csrfOwner, form.get('csrf') ?? '');
    return form;
  }

  async function withStreamedForm(
    ctx: Context,
    request: PageRequest,
    act: (form: Form) => Awaitable<Answer>,
  ): Promise<Answer> {
    const { fields, files, close } = await streamForm(ctx.req);
    try {
      checkCsrfToken(options.secret, request.csrfOwner, fields.get('csrf') ?? '');
      return await act(Object.assign(fields, { uploads: files }));
    } finally {
      await close();
      // The rest of such a body is not read, so the connection cannot be reused.
      if (!ctx.req.complete) ctx.set('Connection', 'close');
    }
  }

  function send(ctx: Context, request: PageRequest, answer: Answer): void {
    if ('download' in answer) return sendDownload(ctx, answer.download);
    if (answer.endsTour === true && request.principal)
      ctx.append('Set-Cookie', tourOverCookie(baseUrl, request.principal.userId));
    if (!('to' in answer)) {
      ctx.status = answer.status ?? 200;
      ctx.type = 'html';
      ctx.body = layout(answer, request).toString();
      if (answer.scripts !== undefined) ctx.set('Content-Security-Policy', LIVE_PAGE_POLICY);
      if (answer.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(answer.retryAfterSeconds));
      return;
    }
    if (answer.session === null) ctx.append('Set-Cookie', clearedSessionCookie(baseUrl));
    else if (answer.session !== undefined) ctx.append('Set-Cookie', sessionCookie(baseUrl, answer.session));
    if (answer.device !== undefined) ctx.append('Set-Cookie', deviceCookie(baseUrl, answer.device));
    if (answer.pending !== undefined) ctx.append('Set-Cookie', pendingCookie(baseUrl, answer.pending));
    // RFC 9110 §15.4.4: the next request is a GET, whatever the method of this one.
    ctx.status = 303;
    ctx.set('Location', answer.to);
    ctx.type = 'text';
    ctx.body = '';
  }
}

/** Reads either encoding of HTML forms into memory, within the limit. */
async function readForm(ctx: Context, limitBytes: number): Promise<Form> {
  const type = ctx.is('application/x-www-form-urlencoded', 'multipart/form-data');
  if (type === 'application/x-www-form-urlencoded') {
    return parseFields((await readBody(ctx.req, limitBytes)).toString());
  }
  const refused = new StatusError('INVALID_ARGUMENT', 'NO_FORM', 'This page accepts only its own form.', {
    httpStatus: 415,
  });
  if (type !== 'multipart/form-data') throw refused;
  const body = await readBody(ctx.req, limitBytes);
  const parts = await new Response(body, { headers: { 'content-type': ctx.get('content-type') } })
    .formData()
    .catch(() => undefined);
  if (!parts) throw refused;
  const form: Form = new URLSearchParams();
  const files = new Map<string, Buffer>();
  for (const [name, value] of parts) {
    if (typeof value === 'string') form.append(name, value);
    else files.set(name, Buffer.from(await value.arrayBuffer()));
  }
  return Object.assign(form, { files });
}

function isSignedIn(request: PageRequest): request is SignedInRequest {
  return request.principal !== undefined;
}

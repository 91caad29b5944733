import type { Router } from '@koa/router';
import type { Context, Middleware } from 'koa';
import type { Calls } from '../http/calls.ts';
import { compressed, encodingFor } from '../http/compressed.ts';
import { newRouter } from '../http/router.ts';
import type { Log } from '../kernel/log.ts';
import { mountAssets } from './assets.ts';
import { mountDocs } from './docs/docs.ts';
import { pageErrors } from './errors.ts';
import type { Feature } from './feature.ts';
import type { PageRequestOptions } from './page-request.ts';
import { createPanel } from './panel/panel.ts';
import { createServe } from './serve.ts';

interface SiteOptions extends PageRequestOptions {
  features: readonly Feature[];
  /** The API's operations for the panel. */
  calls: Calls;
  /** The API's OpenAPI document. */
  openapi: () => object;
  log: Log;
}

/** Returns a router with the pages of all rooms and the API reference. */
export function siteRouter({ features, openapi, calls, ...frame }: Omit<SiteOptions, 'log'>): Router {
  const router = newRouter();
  mountAssets(router);
  const serve = createServe(router, frame);
  mountDocs(router, serve, frame.config.baseUrl, openapi);
  const panel = createPanel(serve, calls);
  for (const feature of features) {
    feature.pages?.(serve, router);
    feature.panel?.(panel);
  }
  return router;
}

/** Returns all pages as one middleware, to add after the API. */
export function createSite({ log, ...options }: SiteOptions): Middleware {
  return servePages(siteRouter(options), options, log);
}

/**
 * Serves the pages of a router as one middleware, to add after the API. Browsers get an error page for unknown
 * addresses; programs, and all requests below `/v1/`, get the API's own errors.
 */
function servePages(router: Router, options: PageRequestOptions, log: Log): Middleware {
  const routes = router.routes();
  const errors = pageErrors(options, log);
  return async function pages(ctx, next) {
    const ours = router.match(ctx.path, ctx.method).route || wantsPage(ctx);
    if (!ours) {
      await next();
      return;
    }
    await errors(ctx, () => routes(ctx as Parameters<typeof routes>[0], next));
    await compress(ctx);
  };
}

/** Compresses pages only. Files are sent unchanged, and constant bytes are already compressed. */
async function compress(ctx: Context): Promise<void> {
  if (typeof ctx.body !== 'string' || ctx.method === 'HEAD') return;
  const bytes = Buffer.from(ctx.body);
  const encoding = encodingFor(ctx, bytes.length);
  if (encoding === undefined) return;
  ctx.body = await compressed(bytes, encoding, { once: false });
  ctx.set('Content-Encoding', encoding);
}

function wantsPage(ctx: Context): boolean {
  return !/^\/v1(?:\/|$)/.test(ctx.path) && ctx.accepts('json', 'html') === 'html';
}

import type { Router } from '@koa/router';
import type { Middleware } from 'koa';
import type { Calls } from '../http/calls.ts';
import { newRouter } from '../http/router.ts';
import type { Log } from '../kernel/log.ts';
import { mountAssets } from './assets.ts';
import { mountDocs } from './docs/docs.ts';
import type { Feature } from './feature.ts';
import { createPanel } from './panel/panel.ts';
import { servePages } from './pages.ts';
import { createServe } from './serve.ts';
import type { PageRequestOptions } from './page-request.ts';

export interface SiteOptions extends PageRequestOptions {
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
  mountDocs(router, serve, { config: frame.config, openapi });
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

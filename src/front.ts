import type Koa from 'koa';
import { type ApiOptions, createApi } from './http/app.ts';
import { type Readiness, healthOperations } from './http/health.ts';
import { openapiDocument } from './http/openapi.ts';
import { type RateLimit, createCallerRate } from './http/rate-limit.ts';
import { createCalls } from './http/calls.ts';
import { createFindBrowser } from './http/session/browsers.ts';
import { OPERATIONS } from './reference.ts';
import type { Feature } from './web/feature.ts';
import type { PageRequestOptions } from './web/page-request.ts';
import { createSite } from './web/site.ts';

/** The rate of panel pages, each counted with its API calls. More than a person reads or clicks. */
const PANEL_RATE: RateLimit = { perSecond: 50, burst: 500 };

export interface FrontOptions extends Omit<ApiOptions, 'openapi' | 'findBrowser'> {
  browsers: ApiOptions['browsers'] & Pick<PageRequestOptions, 'config'>;
  features: readonly Feature[];
  /** Returns the sign-in page that continues to `wanted`. */
  signInPath: (wanted: string) => string;
  /** The checks of the parts that the service requires. Each rejects if its part is unavailable. */
  readiness: Readiness;
}

/** Creates one Koa application with the API of all rooms and, after it, their pages. It is not listening yet. */
export function createFront({ features, signInPath, readiness, ...options }: FrontOptions): Koa {
  const { browsers, clock, log } = options;
  const openapi = () => openapiDocument(browsers.config, OPERATIONS);
  const api = createApi({
    ...options,
    features: [...features, { operations: healthOperations(readiness, clock) }],
    openapi,
    findBrowser: createFindBrowser(browsers),
  });
  const operations = features.flatMap((feature) => feature.operations ?? []);
  const takeToken = createCallerRate(PANEL_RATE, clock);
  const calls = createCalls(operations, takeToken);
  return api.use(createSite({ ...browsers, features, calls, openapi, takeToken, signInPath, clock, log }));
}

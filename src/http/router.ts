import { createRequire } from 'node:module';
import type * as KoaRouter from '@koa/router';

// In the form that does not import `node:http` as an ES module: see kernel/node-http.ts.
const { Router } = createRequire(import.meta.url)('@koa/router') as typeof KoaRouter;

/** Addresses as they are written: no other case, no slash more or less. */
export const newRouter = () => new Router({ strict: true, sensitive: true });

import type { Router } from '@koa/router';
import type { IndexedRouter } from '../../src/http/router.ts';

/** Every method and path that a router answers, as they were added. */
export function routesOf(router: Router): { method: string; path: string }[] {
  return (router as IndexedRouter).added.flatMap(([path, methods]) =>
    methods.map((method) => ({ method: method.toUpperCase(), path: String(path) })),
  );
}

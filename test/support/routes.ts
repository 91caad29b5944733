import type { Router } from '@koa/router';
import type { IndexedRouter } from '../../src/http/router.ts';

/** Returns every method and path that a router answers, in the order they were added. HEAD accompanies each GET. */
export function routesOf(router: Router): { method: string; path: string }[] {
  return (router as IndexedRouter).added.flatMap(([path, added]) => {
    const methods = added.map((method) => method.toUpperCase());
    const all = methods.includes('GET') ? ['HEAD', ...methods] : methods;
    return all.map((method) => ({ method, path: String(path) }));
  });
}

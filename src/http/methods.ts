import type { Middleware } from 'koa';
import type { Declared } from './declared.ts';
import { routePath } from './mount.ts';

/** RFC 9110 §9.3, PATCH (RFC 5789) and QUERY. Any other method is unknown. */
const KNOWN = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY']);

/** The part of a router's route used here. */
interface Route {
  path: string | RegExp;
  methods: string[];
  captures(path: string): string[];
  params(path: string, captures: string[]): Record<string, string>;
}

/**
 * Answers unserved requests: `OPTIONS` with 200, an unknown method with 501, and 405 if the path exists with other
 * methods. `Allow` lists the methods of this exact path: a path with invalid parameters does not exist. Use directly
 * after the routers.
 */
export function answerMethods(operations: readonly Declared[]): Middleware {
  const byRoute = new Map(operations.map((operation) => [routePath(operation.path), operation]));

  function allowed(path: string, matched: readonly Route[]): string[] {
    const ours = matched.filter(
      (route) => byRoute.get(String(route.path))?.fits(route.params(path, route.captures(path))) ?? true,
    );
    return [...new Set(ours.flatMap(({ methods }) => methods))];
  }

  return async function methods(ctx, next) {
    await next();
    if (ctx.status !== 404 || (ctx.body !== undefined && ctx.body !== null)) return;
    const { matched = [] } = ctx as { matched?: Route[] };
    const methods = allowed(ctx.path, matched);
    if (!KNOWN.has(ctx.method)) ctx.status = 501;
    else if (methods.length === 0) return;
    else if (ctx.method === 'OPTIONS') {
      ctx.status = 200;
      ctx.body = '';
    } else ctx.status = 405;
    if (methods.length > 0) ctx.set('Allow', methods.join(', '));
  };
}

import type { IncomingMessage } from 'node:http';
import type { Router } from '@koa/router';
import type { Context, Middleware } from 'koa';
import { onceEnded } from './ended.ts';
import { entering, routePath, sentBy } from './mount.ts';
import type { PublicOperation } from './public-operation.ts';

/** Identifies callers without a credential. */
export interface Callers {
  /** Returns the client address of a request. Only trusted proxies may state it. */
  clientAddress: (request: IncomingMessage) => string;
}

/** Adds a route for every operation without authentication. */
export function mountPublic(router: Router, operations: readonly PublicOperation[], callers: Callers): void {
  for (const operation of operations) {
    router[operation.method](routePath(operation.path), entering(operation, serve(operation, callers)));
  }
}

function serve(operation: PublicOperation, { clientAddress }: Callers): Middleware {
  return async function servePublicOperation(ctx) {
    ctx.set(operation.answerHeaders ?? {});
    ctx.body = await operation.run({
      ...sentBy(ctx, operation),
      headers: ctx.headers,
      caller: { address: clientAddress(ctx.req), userAgent: ctx.get('user-agent') },
      response: ctx.response,
      received: () => received(ctx),
    });
  };
}

function received({ res }: Context): Promise<boolean> {
  return new Promise((resolve) => onceEnded(res, () => resolve(res.writableFinished)));
}

import { Router } from '@koa/router';
import type { Context, Middleware } from 'koa';
import { mountAssets } from './assets.ts';
import { mountCheckout } from './checkout.ts';
import type { PageDeps } from './deps.ts';
import { mountDevice } from './device.ts';
import { pageErrors } from './errors.ts';
import { mountDocs } from './docs.ts';
import { mountHome } from './home.ts';
import { mountMachine } from './machine.ts';
import { mountMachines } from './machines.ts';
import { mountApps } from './profile-apps.ts';
import { mountInvitations } from './profile-invitations.ts';
import { mountKeys } from './profile-keys.ts';
import { mountSshKeys } from './profile-ssh-keys.ts';
import { mountSessions } from './profile-sessions.ts';
import { mountProfile } from './profile.ts';
import { createServe } from './serve.ts';
import { mountSignIn } from './sign-in.ts';
import { mountStatus } from './status.ts';
import { mountVerifyEmail } from './verify-email.ts';

/** Gives every page its route. They need `pageErrors` around them, which also sets their headers. */
export function mountPages(router: Router, deps: PageDeps): void {
  mountAssets(router);
  mountStatus(router, deps);
  const serve = createServe(router, deps);
  mountHome(serve);
  mountDocs(router, serve, deps);
  mountSignIn(serve, deps);
  mountVerifyEmail(serve, deps);
  mountDevice(serve, deps);
  mountCheckout(serve, deps.checkouts);
  mountProfile(serve, deps);
  mountKeys(serve, deps);
  mountSshKeys(serve, deps);
  mountApps(serve, deps);
  mountSessions(serve, deps);
  mountInvitations(serve, deps);
  mountMachines(serve, deps);
  mountMachine(serve, deps);
}

/**
 * All pages as one middleware, to be added behind the API: it serves what the API does not, and tells browsers in a page
 * what neither does. Programs get the API's own errors, as does everything below `/v1/`.
 */
export function createPages(deps: PageDeps): Middleware {
  const router = new Router({ strict: true, sensitive: true });
  mountPages(router, deps);
  const routes = router.routes();
  const errors = pageErrors(deps.config.baseUrl, deps.log);
  return async function pages(ctx, next) {
    const ours = router.match(ctx.path, ctx.method).route || wantsPage(ctx);
    if (!ours) return next();
    return errors(ctx, () => routes(ctx as Parameters<typeof routes>[0], next));
  };
}

function wantsPage(ctx: Context): boolean {
  return !/^\/v1(?:\/|$)/.test(ctx.path) && ctx.accepts('json', 'html') === 'html';
}

import { Router } from '@koa/router';
import type { Context, Middleware } from 'koa';
import { mountCheckout } from '../billing/pages.ts';
import { mountStatus } from '../joining/pages.ts';
import { mountMachine } from '../operators/pages/machine.ts';
import { mountMachines } from '../operators/pages/machines.ts';
import { mountApps } from '../people/apps/pages.ts';
import { mountDevice } from '../people/grants/pages.ts';
import { mountKeys } from '../people/keys/pages.ts';
import { mountVerifyEmail } from '../people/mail/verification-pages.ts';
import { mountInvitations } from '../people/members/invitations-pages.ts';
import { mountSessions } from '../people/profile-sessions.ts';
import { mountProfile } from '../people/profile.ts';
import { mountSignIn } from '../people/sign-in.ts';
import { mountSshKeys } from '../sftp/ssh-keys-pages.ts';
import { mountAssets } from './assets.ts';
import type { PageDeps } from './deps.ts';
import { mountDocs } from './docs/docs.ts';
import { pageErrors } from './errors.ts';
import { mountHome } from './home.ts';
import { createServe } from './serve.ts';

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

import { Router } from '@koa/router';
import type { Middleware } from 'koa';
import type { Checkouts } from '../billing/checkout.ts';
import { mountCheckout } from '../billing/pages.ts';
import type { Browsers } from '../http/session-mount.ts';
import { type StatusPages, mountStatus } from '../joining/pages.ts';
import type { Machines } from '../operators/machines.ts';
import { mountMachine } from '../operators/pages/machine.ts';
import { mountMachines } from '../operators/pages/machines.ts';
import { mountApps } from '../people/apps/pages.ts';
import { type DevicePages, mountDevice } from '../people/grants/pages.ts';
import { mountKeys } from '../people/keys/pages.ts';
import { mountVerifyEmail } from '../people/mail/verification-pages.ts';
import { mountInvitations } from '../people/members/invitations-pages.ts';
import { signInPath } from '../people/next.ts';
import type { People } from '../people/people.ts';
import { mountSessions } from '../people/profile-sessions.ts';
import { mountProfile } from '../people/profile.ts';
import { mountSignIn } from '../people/sign-in.ts';
import { type SshKeyPages, mountSshKeys } from '../sftp/ssh-keys-pages.ts';
import { mountAssets } from '../web/assets.ts';
import { mountDocs } from '../web/docs/docs.ts';
import { mountHome } from '../web/home.ts';
import { servePages } from '../web/pages.ts';
import { createServe } from '../web/serve.ts';

/** What all pages together are made of. */
export interface PagesOptions extends People, StatusPages, DevicePages, SshKeyPages, Pick<Browsers, 'findSession'> {
  config: People['config'];
  checkouts: Pick<Checkouts, 'find' | 'settleTest'>;
  machines: Omit<Machines, 'follow'>;
  /** The API's OpenAPI document. */
  openapi: () => object;
}

/** Gives every page its route. They need `servePages` around them. */
export function mountPages(router: Router, options: PagesOptions): void {
  const { checkouts } = options;
  mountAssets(router);
  mountStatus(router, options);
  const serve = createServe(router, { ...options, signInPath });
  mountHome(serve);
  mountDocs(router, serve, options);
  mountSignIn(serve, options);
  mountVerifyEmail(serve, options);
  mountDevice(serve, options);
  mountCheckout(serve, checkouts);
  mountProfile(serve, options);
  mountKeys(serve, options);
  mountSshKeys(serve, options);
  mountApps(serve, options);
  mountSessions(serve, options);
  mountInvitations(serve, options);
  mountMachines(serve, options);
  mountMachine(serve, options);
}

/** All pages as one middleware, to be added behind the API. */
export function createPages(options: PagesOptions): Middleware {
  const router = new Router({ strict: true, sensitive: true });
  mountPages(router, options);
  return servePages(router, options.config.baseUrl, options.log);
}

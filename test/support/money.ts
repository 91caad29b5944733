import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Router } from '@koa/router';
import type { ExecutionContext } from 'ava';
import Koa from 'koa';
import { openAccountLimits } from '../../src/billing/account-limits.ts';
import { createAdmission } from '../../src/billing/admission.ts';
import { capacityOperations } from '../../src/billing/capacity-api.ts';
import { createCapacity } from '../../src/billing/capacity.ts';
import { checkoutCallbackOperations, checkoutOperations } from '../../src/billing/checkout-api.ts';
import { type Checkouts, createCheckouts } from '../../src/billing/checkout.ts';
import { limitOperations } from '../../src/billing/limits-api.ts';
import type { Machine } from '../../src/billing/machine.ts';
import { mountCheckout } from '../../src/billing/pages.ts';
import type { Checkout } from '../../src/billing/payments.ts';
import { regionOperations } from '../../src/billing/regions.ts';
import { createTestCheckout } from '../../src/billing/test-checkout.ts';
import type { Services } from '../../src/compose/services.ts';
import { createAuthorize } from '../../src/http/auth.ts';
import { renderErrors } from '../../src/http/errors.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { mount, plainColons } from '../../src/http/mount.ts';
import { mountPublic } from '../../src/http/public-mount.ts';
import { accountOperations } from '../../src/operators/accounts-api.ts';
import { authenticateApp } from '../../src/people/apps/app-tokens.ts';
import { recordAudit } from '../../src/people/audit/audit.ts';
import { authenticate } from '../../src/people/keys/keys.ts';
import { signInPath } from '../../src/people/next.ts';
import { findBrowserSession } from '../../src/people/browser-sessions.ts';
import { mountAssets } from '../../src/web/assets.ts';
import { pageErrors } from '../../src/web/errors.ts';
import { createServe } from '../../src/web/serve.ts';
import { type ApiUnderTest, api } from './api-harness.ts';

export const MACHINE: Machine = { cores: 4, ramMb: 16_384, diskFreeMb: 40_000, diskTotalMb: 50_000 };

/** The operations about machine, limits and checkout, and the page of a checkout, over HTTP. */
export interface MoneyUnderTest {
  api: ApiUnderTest;
  /** Where operations and pages are. */
  origin: string;
  machine: Machine;
  money: Pick<Services, 'capacity' | 'accountLimits' | 'checkouts'>;
  checkouts: Checkouts;
  call(method: string, path: string, options?: MoneyCall): Promise<MoneyAnswer>;
}

export interface MoneyCall {
  key?: string | null;
  body?: unknown;
  raw?: string;
  headers?: Record<string, string>;
}

export interface MoneyAnswer {
  status: number;
  json: Record<string, unknown>;
  reason: string;
}

export async function moneySite(
  t: ExecutionContext,
  checkout: Checkout | 'off' = createTestCheckout(),
): Promise<MoneyUnderTest> {
  const harness = await api(t);
  const { store, clock, engine, services } = harness;
  const machine = { ...MACHINE };
  const app = new Koa();
  // What is served is made once it is known where that is.
  let serve: Koa.Middleware | undefined;
  app.use((ctx, next) => serve?.(ctx, next));
  const server = createHttpServer(app).listen(0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const live = () => harness.servers.live();
  const accountLimits = await openAccountLimits(store, { maxRamMb: 16_384, maxServers: 0 });
  const capacity = await createCapacity({ probe: async () => machine, engine, live, clock });
  t.teardown(() => capacity.close());
  const admission = createAdmission({ live, capacity, limits: accountLimits, nodeLabel: 'node-1' });
  harness.servers.checkWakes(async () => (now) => admission.admit(now));
  const checkouts = createCheckouts({
    store,
    clock,
    log: services.log,
    checkout: checkout === 'off' ? undefined : checkout,
    baseUrl: origin,
    record: (tx, entry) => recordAudit(tx, { userId: '', through: 'system checkout' }, entry),
  });
  const money = { capacity, accountLimits, checkouts };
  Object.assign(services, money);

  const router = new Router({ strict: true, sensitive: true });
  const findApp = (token: string) => authenticateApp(store, clock, token);
  const authorize = createAuthorize(
    (given) => authenticate(store, clock, given),
    findApp,
    () => {},
  );
  const own = [limitOperations, checkoutOperations, capacityOperations, regionOperations, accountOperations].flatMap(
    (list) => list(services),
  );
  mount(router, own, { authorize, authorizeAgain: authorize }, services);
  mountPublic(router, checkoutCallbackOperations(services), services);
  const pages = new Router({ strict: true, sensitive: true });
  mountAssets(pages);
  const serving = createServe(pages, {
    ...services,
    config: { baseUrl: origin },
    findSession: (token) => findBrowserSession(store, clock, token),
    signInPath,
  });
  mountCheckout(serving, checkouts);
  const [showErrors, sendErrors] = [pageErrors(origin, services.log), renderErrors(services.log)];
  const [operations, shown] = [router.routes(), pages.routes()];
  serve = (ctx, next) =>
    ctx.path.startsWith('/v1/')
      ? sendErrors(ctx, () => plainColons(ctx, () => operations(ctx as Parameters<typeof operations>[0], next)))
      : showErrors(ctx, () => shown(ctx as Parameters<typeof shown>[0], next));

  return {
    api: harness,
    origin,
    machine,
    money,
    checkouts,
    async call(method, path, { key = harness.key, body, raw, headers } = {}) {
      const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
      const response = await fetch(origin + path, {
        method,
        headers: { ...(key !== null && { 'x-api-key': key }), ...headers },
        ...(sent !== undefined && { body: sent }),
      });
      const json = (await response.json()) as Record<string, unknown>;
      const [info] = (json['details'] ?? []) as { reason?: string }[];
      return { status: response.status, json, reason: info?.reason ?? '' };
    },
  };
}

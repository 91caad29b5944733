import type Koa from 'koa';
import { mountCheckoutCallback } from '../billing/checkout-api.ts';
import { type AnsweredRequest, type ApiOptions, createApi } from '../http/app.ts';
import { type Exposition, mountPrometheus } from '../insight/prometheus.ts';
import { mountPublicStatus } from '../joining/public-status-api.ts';
import type { Log } from '../kernel/log.ts';
import { createFindBrowser } from '../operators/session.ts';
import { authenticateApp } from '../people/apps/app-tokens.ts';
import { mountDevice } from '../people/grants/api.ts';
import type { DeviceDeps } from '../people/grants/replies.ts';
import { authenticate } from '../people/keys/keys.ts';
import { openOperations } from './operations.ts';
import type { Services } from './services.ts';

export interface ServiceApiOptions extends Pick<ApiOptions, 'readiness' | 'rate'> {
  log: Log;
  services: Services;
  /** What device grants need; without it none are handed out. */
  device?: Pick<DeviceDeps, 'grants' | 'startLimit'>;
  /** What operators see at `/metrics`, and who counts the calls for it. Without it there is nothing there. */
  telemetry?: Exposition & { answered: (request: AnsweredRequest) => void };
}

/** The API with all its operations, as a Koa application that does not listen yet. */
export function createServiceApi({ services, log, device, telemetry, ...rest }: ServiceApiOptions): Koa {
  const { store, clock } = services;
  return createApi({
    ...rest,
    log,
    services,
    ...openOperations(services),
    openapi: services.openapi,
    routes: [
      (router) => mountCheckoutCallback(router, services.checkouts),
      (router, { authorize }) => telemetry && mountPrometheus(router, telemetry, authorize),
      (router) => mountPublicStatus(router, services),
      (router) => device && mountDevice(router, { ...services, ...device, log }),
    ],
    findPrincipal: (key) => authenticate(store, clock, key),
    findApp: (token) => authenticateApp(store, clock, token),
    findBrowser: createFindBrowser(services),
    ...(telemetry && { answered: telemetry.answered }),
  });
}

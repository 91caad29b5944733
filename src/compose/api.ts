import type Koa from 'koa';
import { type ApiOptions, createApi } from '../http/app.ts';
import type { Log } from '../kernel/log.ts';
import { createFindBrowser } from '../operators/session.ts';
import { authenticateApp } from '../people/apps/app-tokens.ts';
import { authenticate } from '../people/keys/keys.ts';
import { openOperations } from './operations.ts';
import type { Services } from './services.ts';

export interface ServiceApiOptions extends Pick<ApiOptions, 'rate'> {
  log: Log;
  services: Services;
}

/** The API with all its operations, as a Koa application that does not listen yet. */
export function createServiceApi({ services, log, ...rest }: ServiceApiOptions): Koa {
  const { store, clock } = services;
  return createApi({
    ...rest,
    log,
    services,
    ...openOperations(services),
    openapi: services.openapi,
    findPrincipal: (key) => authenticate(store, clock, key),
    findApp: (token) => authenticateApp(store, clock, token),
    findBrowser: createFindBrowser(services),
    answered: services.telemetry.answered,
  });
}

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Router } from '@koa/router';
import type { ExecutionContext } from 'ava';
import Koa, { type Middleware } from 'koa';
import { createPages } from '../../src/compose/pages.ts';
import { renderErrors } from '../../src/http/errors.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { mountPublic } from '../../src/http/public-mount.ts';
import { createMachines } from '../../src/operators/machines.ts';
import { insertClient } from '../../src/people/apps/client-rows.ts';
import { deviceGrantOperations } from '../../src/people/grants/api.ts';
import { createGrants } from '../../src/people/grants/grants.ts';
import { createStartLimit } from '../../src/people/grants/start-limit.ts';
import { createGuessLimit } from '../../src/people/grants/user-codes.ts';
import type { SignUp } from '../../src/people/people.ts';
import { api } from '../support/api-harness.ts';

/** What a device learns when it asks to be let in. */
export interface Started {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
}

/** The pages over HTTP, with the endpoints of devices beside them, and all that is behind them on a store of the test's own. */
export type Site = Awaited<ReturnType<typeof openSite>>;

export async function openSite(
  t: ExecutionContext,
  { signup = 'open', host = '127.0.0.1' }: { signup?: SignUp; host?: string } = {},
) {
  const behind = await api(t);
  const { store, clock, log, secret } = behind.services;
  const app = new Koa();
  // Pages are made once it is known where they are.
  let pages: Middleware | undefined;
  app.use((ctx, next) => pages?.(ctx, next));
  const server = createHttpServer(app).listen(0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const origin = `http://${host}:${(server.address() as AddressInfo).port}`;

  const config = { ...behind.services.config, baseUrl: origin, signup };
  const grants = createGrants({ store, clock, secret, log });
  const guessLimit = createGuessLimit(clock);
  const machines = createMachines({ store, clock, servers: behind.servers, grants });
  const deps = { ...behind.services, config, grants, machines, guessLimit };
  const router = new Router();
  const startLimit = createStartLimit({ store, clock });
  mountPublic(router, deviceGrantOperations({ ...deps, startLimit }), deps);
  const devices = router.routes();
  const rest = createPages(deps);
  const sendErrors = renderErrors(log);
  pages = (ctx, next) =>
    ctx.path.startsWith('/v1/')
      ? sendErrors(ctx, () => devices(ctx as Parameters<typeof devices>[0], next))
      : rest(ctx, next);

  return {
    ...behind,
    ...deps,
    clock: behind.clock,
    origin,
    apiOrigin: behind.origin,
    registerApp,
    startDevice: (clientId?: string) => post<Started>('/v1/public/device/start', clientId && { client_id: clientId }),
    /** What the device is told when it asks whether it is let in. */
    poll: ({ device_code }: Started) => post<Record<string, string>>('/v1/public/device/poll', { device_code }),
  };

  /** As an operator would have registered it. */
  async function registerApp(name: string, homepage = 'https://launcher.example/about'): Promise<string> {
    const row = { id: `app_${name.length}`, name, homepage, scopes: ['servers:list'], createdAt: 0, disabledAt: null };
    await store.write((tx) => insertClient(tx, row));
    return row.id;
  }

  async function post<Reply>(path: string, body: unknown): Promise<Reply> {
    const headers = { 'user-agent': 'Launcher/1.4' };
    const reply = await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(body || {}) });
    return (await reply.json()) as Reply;
  }
}

import { once } from 'node:events';
import { type AddressInfo, BlockList } from 'node:net';
import { Router } from '@koa/router';
import type { ExecutionContext } from 'ava';
import Koa from 'koa';
import { keyCallers, openCallers } from '../../src/http/callers.ts';
import { createAuthorize } from '../../src/http/auth.ts';
import { createClientAddress } from '../../src/http/client-address.ts';
import { renderErrors } from '../../src/http/errors.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { mount, plainColons } from '../../src/http/mount.ts';
import { browserCallers } from '../../src/http/session/browsers.ts';
import { createLog } from '../../src/kernel/log.ts';
import { authenticateApp } from '../../src/grants/app-tokens.ts';
import { insertClient } from '../../src/grants/app-rows.ts';
import { clientOperations } from '../../src/grants/clients-api.ts';
import { deviceGrantOperations } from '../../src/grants/device-api.ts';
import { Grants } from '../../src/grants/grants.ts';
import { oauthOperations } from '../../src/grants/oauth-api.ts';
import { deviceOperations } from '../../src/grants/consent-api.ts';
import { StartLimit, GuessLimit } from '../../src/grants/limits.ts';
import { authenticate } from '../../src/access/keys.ts';
import { type Answer, type ApiUnderTest, api } from '../support/api-harness.ts';

export const START = '/v1/public/device/start';
export const POLL = '/v1/public/device/poll';
export const USER = { userId: 'usr_test', accountId: 'acc_test' };
export const APP = 'app_launcher';
export const ORIGIN = 'https://panel.example';

interface DeviceUnderTest extends ApiUnderTest {
  grants: Grants;
  /** The origin of the device endpoints. */
  origin: string;
  port: number;
  post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Answer>;
  form: (path: string, fields: Record<string, string> | string) => Promise<Answer>;
  send: (path: string, init: RequestInit) => Promise<Answer>;
  /** Starts a grant of the app and returns its codes and id. */
  begin: (body?: object) => Promise<{ id: string; code: string; userCode: string }>;
}

interface DeviceTestOptions {
  trusted?: BlockList;
  starts?: number;
  wrap?: (grants: Grants) => Grants;
}

/** The device endpoints and the registry of apps over HTTP, beside the API on the same database. */
export async function device(t: ExecutionContext, options: DeviceTestOptions = {}): Promise<DeviceUnderTest> {
  const base = await api(t);
  const { store, clock, services } = base;
  const log = createLog({
    level: 'trace',
    pretty: false,
    destination: { write: (line) => void base.logged.push(line) },
  });
  const client = { name: 'Launcher', homepage: 'https://launcher.example', scopes: ['servers:list'] };
  await store.write((tx) => insertClient(tx, { id: APP, ...client, createdAt: clock.now(), disabledAt: null }));
  const real = new Grants({ store, clock, secret: services.secret, log });
  const grants = options.wrap?.(real) ?? real;
  const router = new Router({ strict: true, sensitive: true });
  const startLimit = new StartLimit(store, clock, { limit: options.starts ?? 1_000 });
  const needs = { grants, startLimit, store, clock, config: { baseUrl: ORIGIN } };
  const clientAddress = createClientAddress(options.trusted ?? new BlockList());
  const findKey = (key: string) => authenticate(store, clock, key);
  const findApp = (token: string) => authenticateApp(store, clock, token);
  const here = {
    ...services,
    grants,
    guessLimit: new GuessLimit(clock),
    config: { ...services.config, baseUrl: ORIGIN },
  };
  const authorize = createAuthorize(findKey, findApp, () => {});
  const streams = { ...services, authorizeAgain: authorize };
  mount(router, [...deviceGrantOperations(needs), ...oauthOperations(needs)], openCallers(clientAddress), streams);
  mount(
    router,
    deviceOperations(here),
    browserCallers(() => {}, here),
    streams,
  );
  mount(router, clientOperations(services), keyCallers(authorize), streams);
  const app = new Koa();
  app.use(renderErrors(log)).use(plainColons).use(router.routes()).use(router.allowedMethods());
  app.silent = true;
  const server = createHttpServer(app).listen(0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;

  async function send(path: string, init: RequestInit): Promise<Answer> {
    const response = await fetch(origin + path, { method: 'POST', ...init });
    const text = await response.text();
    const json = (text === '' ? {} : JSON.parse(text)) as Answer['json'];
    const [info] = (json['details'] ?? []) as { reason?: string }[];
    if (path !== '/.well-known/oauth-authorization-server') {
      t.is(
        response.headers.get('cache-control'),
        /^\/v1\/(?:operator|session)/.test(path) ? null : 'no-store',
        'caching',
      );
    }
    return { status: response.status, headers: response.headers, text, json, reason: info?.reason ?? '' };
  }

  return {
    ...base,
    grants,
    origin,
    port,
    send,
    post: (path, body, headers = {}) => send(path, { body: JSON.stringify(body), headers }),
    form: (path, fields) =>
      send(path, {
        body: new URLSearchParams(fields).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
    async begin(body = { client_id: APP }) {
      const started = await send(START, { body: JSON.stringify(body) });
      t.is(started.status, 200, started.text);
      const { device_code: code, user_code: userCode } = started.json as Record<string, string>;
      const found = await grants.find(userCode ?? '');
      return { id: found?.id ?? '', code: code ?? '', userCode: userCode ?? '' };
    },
  };
}

/** Returns the status and error of an answer, and checks that its body has no other field. */
export function errorOf(t: ExecutionContext, { status, json, headers }: Answer): string {
  t.deepEqual(Object.keys(json), ['error']);
  t.is(headers.get('content-type'), 'application/json; charset=utf-8');
  t.is(headers.get('pragma'), 'no-cache');
  return `${status} ${String(json['error'])}`;
}

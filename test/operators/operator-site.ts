import { once } from 'node:events';
import { type RequestListener, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { createServiceApi } from '../../src/compose/api.ts';
import { createPages } from '../../src/compose/pages.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';

/** The API and the pages at one address, as the service has them. */
export interface OperatorSite extends ApiUnderTest {
  /** Where both are. */
  base: string;
  /** The cookies of a browser in which the user is signed in. */
  cookies: (userId?: string) => Promise<{ name: string; value: string; url: string }[]>;
}

/** `usr_test` is an operator here. */
export async function openOperatorSite(t: ExecutionContext): Promise<OperatorSite> {
  const behind = await api(t);
  const { store, services } = behind;
  await store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  // What is served depends on where it is.
  let serve: RequestListener | undefined;
  const server = createServer((request, response) => serve?.(request, response)).listen(0, '127.0.0.1');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const here = { ...services, config: { ...services.config, baseUrl: base } };
  const app = createServiceApi({ log: services.log, services: here });
  app.use(createPages(here));
  const callback = app.callback();
  serve = (request, response) => void callback(request, response);
  return {
    ...behind,
    base,
    async cookies(userId = 'usr_test') {
      const { cookie } = await behind.browser(userId);
      const [name = '', value = ''] = cookie.split('=');
      return [{ name, value, url: base }];
    },
  };
}

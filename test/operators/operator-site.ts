import type { ExecutionContext } from 'ava';
import { type ApiUnderTest, api } from '../support/api-harness.ts';

/** The API and the pages at one address, as in the service. */
export interface OperatorSite extends ApiUnderTest {
  /** The cookies of a browser in which the user is signed in. */
  cookies: (userId?: string) => Promise<{ name: string; value: string; url: string }[]>;
}

/** Opens the site with `usr_test` as an operator. */
export async function openOperatorSite(t: ExecutionContext): Promise<OperatorSite> {
  const behind = await api(t, { site: '127.0.0.1' });
  await behind.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [1, 'usr_test']));
  return {
    ...behind,
    async cookies(userId = 'usr_test') {
      const { cookie } = await behind.browser(userId);
      const [name = '', value = ''] = cookie.split('=');
      return [{ name, value, url: behind.origin }];
    },
  };
}

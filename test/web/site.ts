import type { ExecutionContext } from 'ava';
import { insertClient } from '../../src/grants/app-rows.ts';
import type { SignUp } from '../../src/accounts/accounts.ts';
import { api } from '../support/api-harness.ts';
import type { WorldOptions } from '../support/world.ts';

/** The response to the start of a device grant. */
export interface Started {
  device_code: string;
  user_code: string;
  verification_uri: string;
  verification_uri_complete: string;
}

/** The pages and the API with its device endpoints over HTTP, on a store of the test's own. */
export type Site = Awaited<ReturnType<typeof openSite>>;

export async function openSite(
  t: ExecutionContext,
  { signup = 'open', host = '127.0.0.1', world }: { signup?: SignUp; host?: string; world?: WorldOptions } = {},
) {
  const behind = await api(t, { site: host, config: { signup }, ...(world && { world }) });
  const { origin, store } = behind;

  return {
    ...behind.services,
    ...behind,
    registerApp,
    startDevice: (clientId?: string) => post<Started>('/v1/public/device/start', clientId && { client_id: clientId }),
    /** Polls as the device and returns the response. */
    poll: ({ device_code }: Started) => post<Record<string, string>>('/v1/public/device/poll', { device_code }),
  };

  /** Registers an app as an operator would. Returns its id. */
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

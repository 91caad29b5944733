import { generateKeyPairSync } from 'node:crypto';
import { type RequestListener, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { Settings } from '../../../src/rooms.ts';
import { type PanelUnderTest, openPanel } from '../../support/panel.ts';

const CLIENT = { id: 'dormouse', secret: 'provider-secret-0123456789' };

/** A user of a provider. */
interface There {
  email: string;
  email_verified: boolean;
  groups?: string[];
}

/** The panel beside a provider. */
export interface ProviderSite extends PanelUnderTest {
  /** The provider's users by id. */
  people: Record<string, There>;
  /**
   * The id of the user who signs in at the provider; '' for one who cancels. `askedAt`: epoch seconds at which they
   * enter their password, by default now by the panel's clock.
   */
  present: { id: string; amr?: string[]; askedAt?: number };
  /** The requests that the provider got, in order. */
  asked: string[];
  /** Ends the provider. */
  goDown: () => void;
}

/** Starts a server whose handler may be set later. */
export async function listen(t: ExecutionContext) {
  const handler: { run: RequestListener } = { run: (_, response) => void response.writeHead(503).end() };
  const server = createServer((request, response) => handler.run(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  t.teardown(close);
  return { handler, close, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Opens the panel with a real provider, `oidc-provider`, at which each user signs in without a form. `host`: its name in
 * the settings. */
export async function openProviderSite(
  t: ExecutionContext,
  config: Partial<Settings> = {},
  host = '127.0.0.1',
): Promise<ProviderSite> {
  const { handler, url, close } = await listen(t);
  const { default: Provider } = await import('oidc-provider');
  const { default: Memory } = await import('oidc-provider/lib/adapters/memory_adapter.js');
  const settings = {
    oidcIssuer: url.replace('127.0.0.1', host),
    oidcClientId: CLIENT.id,
    oidcClientSecret: CLIENT.secret,
    oidcName: 'Club',
  };
  const panel = await openPanel(t, { config: { ...settings, ...config } });
  const people: ProviderSite['people'] = {};
  const present: ProviderSite['present'] = { id: '' };
  const asked: string[] = [];
  const key = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({ format: 'jwk' });
  const provider = new Provider(url, {
    clients: [
      { client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [`${panel.origin}/sign-in/callback`] },
    ],
    claims: { openid: ['sub', 'amr'], email: ['email', 'email_verified'], groups: ['groups'] },
    cookies: { keys: ['a key of the tests'] },
    jwks: { keys: [{ ...key, use: 'sig', alg: 'RS256', kid: 'one' }] },
    adapter: class extends Memory {},
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
    async loadExistingGrant({ oidc }: { oidc: { client: { clientId: string }; session: { accountId: string } } }) {
      const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope('openid email groups');
      await grant.save();
      return grant;
    },
  });
  const serve = provider.callback();
  handler.run = (request, response) => {
    asked.push(`${request.method} ${request.url?.split('?')[0]}`);
    if (!request.url?.startsWith('/interaction/')) return serve(request, response);
    const { id: accountId, amr, askedAt: ts = Math.floor(panel.clock.now() / 1_000) } = present;
    const result = accountId === '' ? { error: 'access_denied' } : { login: { accountId, amr, ts, remember: false } };
    return void provider.interactionFinished(request, response, result);
  };
  return { ...panel, people, present, asked, goDown: close };
}

/** A browser without scripts. Keeps the cookies of each site and follows redirects. */
export function reader(site: Pick<PanelUnderTest, 'origin'>) {
  const jars = new Map<string, Map<string, string>>();
  let url = site.origin;
  let text = '';

  async function ask(to: string, follow: boolean, init: RequestInit = {}): Promise<number> {
    const at = new URL(to, url);
    const jar = jars.get(at.origin) ?? new Map<string, string>();
    jars.set(at.origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { accept: 'text/html', origin: at.origin, cookie };
    const reply = await fetch(at, { ...init, headers, redirect: 'manual' });
    for (const set of reply.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    url = at.href;
    text = await reply.text();
    const on = reply.headers.get('location');
    if (on === null) return reply.status;
    const next = new URL(on, url);
    if (follow) return ask(next.href, follow);
    url = next.href;
    return reply.status;
  }

  return {
    cookies: () => jars.get(site.origin)!,
    /** The page, as a path if it is one of ours. */
    path: () => (url.startsWith(site.origin) ? url.slice(site.origin.length) : url),
    text: () => text,
    open: (to: string) => ask(new URL(to, site.origin).href, true),
    /** Stops at the first redirect. Returns the address it leads to. */
    async step(to: string): Promise<string> {
      await ask(new URL(to, site.origin).href, false);
      return url;
    },
    submit(action: string, fields: Record<string, string> = {}) {
      const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec(text) ?? [];
      const [, next = ''] = /name="next" value="([^"]+)"/.exec(text) ?? [];
      const body = new URLSearchParams({ csrf, next, ...fields });
      return ask(new URL(action, site.origin).href, true, { method: 'POST', body });
    },
    /** Follows redirects up to the callback, and returns it without opening it. */
    async toCallback(from: string): Promise<string> {
      let next = await this.step(from);
      while (!next.startsWith(`${site.origin}/sign-in/callback`)) next = await this.step(next);
      return next;
    },
  };
}

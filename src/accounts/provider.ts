/**
 * The sign-in provider of an installation: any that speaks OpenID Connect, or Discord. Users are sent there with a
 * state, a nonce and a PKCE challenge, and return with a code that is exchanged for their identity. Tokens are used for
 * that exchange alone: they are neither stored nor logged.
 */
import type * as OpenidClient from 'openid-client';
import { createCache } from '../kernel/cache.ts';
import type { Clock } from '../kernel/clock.ts';
import { type RateLimiter, createRateLimiter } from '../kernel/limits/rate-limiter.ts';
import type { Log } from '../kernel/log.ts';
import { bytesWithin } from '../kernel/registry/http.ts';
import { StatusError } from '../kernel/status.ts';
import { HOUR_MS, MIB, MINUTE_MS, SECOND_MS } from '../kernel/units.ts';
import { normalizeEmail } from '../mail/mail.ts';

/** The path at which users return from the provider. */
export const CALLBACK = '/sign-in/callback';

/** How long a user may take at the provider. */
export const FLOW_MS = 10 * MINUTE_MS;
/** How long the provider's addresses are cached. */
const DISCOVERY_MS = HOUR_MS;
const ANSWER_SECONDS = 10;
/**
 * Sent as `max_age`, which makes `auth_time` a required claim (OpenID Connect Core §2, §3.1.2.1). Nearly every provider
 * understands it, unlike the `claims` parameter. A year, so that users with a session there are not asked anew. Not
 * more, because Keycloak before 26.8 adds it to a time in seconds, in 32 bits.
 */
const MAX_AGE_SECONDS = 31_536_000;
/** How far the provider's clock may be ahead. */
const CLOCK_SKEW_MS = MINUTE_MS;
const MOST_BYTES = MIB;

/** The provider and this installation's client there, as the settings of the same names describe them. */
export interface ProviderClient {
  baseUrl: string;
  oidcIssuer: string | null;
  oidcClientId: string;
  oidcClientSecret: string;
  oidcName: string;
  oidcOperatorGroup: string;
  oidcGroupsClaim: string;
  discordUrl: string;
}

/** The values that bind a code to one browser and one attempt. */
export interface ProviderFlow {
  state: string;
  nonce: string;
  /** The code verifier of PKCE (RFC 7636). */
  verifier: string;
  /** Whether the provider should ask a user for their password who has a session there. */
  again: boolean;
}

/** A user of the provider. */
export interface Identity {
  subject: string;
  /** The address if the provider has confirmed it, normalized by `normalizeEmail`. */
  email: string | undefined;
  groups: readonly string[];
  /** Whether the provider has asked for a second factor during this sign-in. */
  multiFactor: boolean;
  /**
   * Epoch ms at which the provider last asked the user to prove who they are, at most now. 0 if it states that for
   * others, but not in this answer. Undefined if it states none.
   */
  askedAt?: number | undefined;
}

export interface Provider {
  /** Its name on buttons. */
  name: string;
  issuer: string;
  /** Members of this group are operators; '' if none. */
  operatorGroup: string;
  /** Counts the uses of each flow's state: one while the flow lasts. */
  uses: RateLimiter;
  /** Returns the address at which the user signs in. UNAVAILABLE PROVIDER_UNAVAILABLE. */
  begin(flow: ProviderFlow): Promise<string>;
  /**
   * Exchanges the code in the query of the address at which the user has returned. UNAUTHENTICATED SIGN_IN_CANCELLED or
   * PROVIDER_REFUSED; UNAVAILABLE PROVIDER_UNAVAILABLE.
   */
  finish(flow: ProviderFlow, query: string): Promise<Identity>;
}

type Client = typeof OpenidClient;

/** The claims read from ID tokens and user info, and from Discord's user. Any of them may be absent. */
type Claims = Record<string, unknown>;

/** Returns the provider of the settings; undefined without one. Sends no request until a user signs in. */
export function createProvider(config: ProviderClient, clock: Clock, log: Log): Provider | undefined {
  const { oidcIssuer, oidcClientId, oidcClientSecret, oidcOperatorGroup, oidcGroupsClaim, discordUrl } = config;
  if (oidcIssuer === null) return undefined;
  const isDiscord = oidcIssuer === 'discord';
  const issuer = isDiscord ? discordUrl : oidcIssuer;
  const name = config.oidcName || (isDiscord ? 'Discord' : new URL(issuer).hostname);
  const redirectUri = new URL(CALLBACK, config.baseUrl).href;
  // Users can remove `max_age` from the request, so that some providers leave the claim out.
  let statesTime = false;
  const found = createCache<OpenidClient.Configuration>({ most: 1, ttlMs: () => DISCOVERY_MS });

  async function discover(client: Client): Promise<OpenidClient.Configuration> {
    const insecure = issuer.startsWith('http:') ? [client.allowInsecureRequests] : [];
    // RFC 6749 §2.3.1: every provider should accept Basic, but not every client may use the other method.
    const authenticate: OpenidClient.ClientAuth = (server, ...request) => {
      const isBasic = server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true;
      const method = isBasic ? client.ClientSecretBasic : client.ClientSecretPost;
      method(oidcClientSecret)(server, ...request);
    };
    const options = { [client.customFetch]: boundedFetch, timeout: ANSWER_SECONDS };
    if (!isDiscord) {
      return client.discovery(new URL(issuer), oidcClientId, {}, authenticate, { ...options, execute: insecure });
    }
    // https://discord.com/developers/docs/topics/oauth2
    const metadata = {
      issuer,
      authorization_endpoint: `${issuer}/oauth2/authorize`,
      token_endpoint: `${issuer}/api/oauth2/token`,
    };
    const discord = new client.Configuration(metadata, oidcClientId, {}, authenticate);
    for (const execute of insecure) execute(discord);
    return Object.assign(discord, options);
  }

  /** Runs a step of the flow. Logs why it failed, without the provider's answer, which may contain tokens. */
  async function asking<T>(
    step: (client: Client, configuration: OpenidClient.Configuration) => Promise<T>,
  ): Promise<T> {
    const client = await import('openid-client');
    try {
      return await step(client, await found.get('', clock.now(), () => discover(client)));
    } catch (error) {
      const { code, error: refusal, status } = error as { code?: string; error?: string; status?: number };
      if (refusal === 'access_denied') {
        throw new StatusError(
          'UNAUTHENTICATED',
          'SIGN_IN_CANCELLED',
          `You have not signed in with ${name}. Try again.`,
        );
      }
      const why = error instanceof TypeError ? error.message : undefined;
      log.warn({ provider: issuer, code, refusal, status, why }, 'the sign-in provider did not confirm a user');
      const isDown = code === undefined || DOWN.has(code);
      throw isDown || (status ?? 0) >= 500 ? unavailable(name) : refused(name);
    }
  }

  function askedAt(authTime: number | undefined): number | undefined {
    if (authTime === undefined) return statesTime ? 0 : undefined;
    statesTime = true;
    const [at, now] = [Math.floor(authTime * SECOND_MS), clock.now()];
    return at > now + CLOCK_SKEW_MS ? undefined : Math.min(at, now);
  }

  return {
    name,
    issuer,
    operatorGroup: oidcOperatorGroup,
    uses: createRateLimiter({ burst: 1, perSecond: SECOND_MS / FLOW_MS }, clock),
    begin: ({ state, nonce, verifier, again }) =>
      asking(async (client, configuration) => {
        const known = configuration.serverMetadata().scopes_supported ?? [];
        const scopes = isDiscord
          ? ['identify', 'email', oidcOperatorGroup && 'guilds.members.read']
          : ['openid', 'email', ...['profile', 'groups'].filter((each) => oidcOperatorGroup && known.includes(each))];
        const { href } = client.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: scopes.filter(Boolean).join(' '),
          state,
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          ...(!isDiscord && { nonce, max_age: String(MAX_AGE_SECONDS), ...(again && { prompt: 'login' }) }),
        });
        return href;
      }),
    finish: ({ state, nonce, verifier }, query) =>
      asking(async (client, configuration) => {
        const expected = { expectedState: state, pkceCodeVerifier: verifier };
        const checks = isDiscord ? expected : { ...expected, expectedNonce: nonce, idTokenExpected: true };
        const url = new URL(`${redirectUri}?${query}`);
        const tokens = await client.authorizationCodeGrant(configuration, url, checks);
        const token = tokens.access_token;
        if (isDiscord) {
          const read = async (path: string) => {
            const address = new URL(`${issuer}/api/v10/users/@me${path}`);
            return client.fetchProtectedResource(configuration, token, address, 'GET');
          };
          return discordIdentity(read, oidcOperatorGroup);
        }
        const claims = tokens.claims();
        if (claims === undefined) throw refused(name);
        const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
        const more: Claims = hasMore ? await client.fetchUserInfo(configuration, token, claims.sub) : {};
        // An address and its confirmation belong together.
        const { email, email_verified } = more['email'] === undefined ? (claims as Claims) : more;
        const all = { ...claims, ...more, email, email_verified, amr: claims['amr'] };
        return { ...identityOf(all, oidcGroupsClaim), askedAt: askedAt(claims.auth_time) };
      }),
  };
}

/** The library's codes for a provider that does not respond, or not as this issuer. */
const DOWN = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
]);

/** OpenID Connect Core §5.1; `amr` as of RFC 8176. Groups are a list of texts, or one text. */
function identityOf(claims: Claims, groupsClaim: string): Identity {
  const { sub, email, email_verified: verified, amr } = claims;
  return {
    subject: String(sub),
    // Some providers send the flag as text.
    email: verified === true || verified === 'true' ? normalizeEmail(String(email)) : undefined,
    groups: [claims[groupsClaim] ?? []].flat().map(String),
    multiFactor: Array.isArray(amr) && amr.includes('mfa'),
  };
}

/**
 * Reads the user, and their roles if an operator's role is set: `<server id>/<role id>`. People outside that server have
 * no roles.
 */
async function discordIdentity(read: (path: string) => Promise<Response>, operatorRole: string): Promise<Identity> {
  const { id: sub, email, verified } = await jsonOf(await read(''));
  const [guild = ''] = operatorRole.split('/', 1);
  const member = guild === '' ? undefined : await read(`/guilds/${guild}/member`);
  const roles = member === undefined || member.status === 404 ? [] : ((await jsonOf(member))['roles'] as string[]);
  const groups = roles.map((role) => `${guild}/${role}`);
  if (typeof sub !== 'string') throw new TypeError('Discord has sent no user.');
  return identityOf({ sub, email, email_verified: verified, groups }, 'groups');
}

async function jsonOf(response: Response): Promise<Claims> {
  if (!response.ok) throw new TypeError(`Discord answers with status ${response.status}.`);
  return (await response.json()) as Claims;
}

/** Reads the whole answer, within the limit. Its time limit is in `init`. */
const boundedFetch: OpenidClient.CustomFetch = async (url, init) => {
  const { body, status, statusText, headers } = await fetch(url, init);
  const bytes = body && (await bytesWithin(MOST_BYTES, body));
  return new Response(bytes?.length ? new Uint8Array(bytes) : null, { status, statusText, headers });
};

function unavailable(name: string): StatusError {
  const message = `${name} does not respond as expected. Try again later.`;
  return new StatusError('UNAVAILABLE', 'PROVIDER_UNAVAILABLE', message, { retryAfterSeconds: 30 });
}

function refused(name: string): StatusError {
  const message = `${name} has not confirmed who you are. Try again. If it happens again, ask your administrator.`;
  return new StatusError('UNAUTHENTICATED', 'PROVIDER_REFUSED', message);
}

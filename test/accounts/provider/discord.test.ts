import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { PASSWORD_FRESH_MS } from '../../../src/accounts/passwords.ts';
import { getUserByEmail } from '../../../src/accounts/rows.ts';
import type { Settings } from '../../../src/rooms.ts';
import { openPanel } from '../../support/panel.ts';
import { listen, reader } from './site.ts';

const [GUILD, ROLE] = ['41771983423143937', '41771983429993937'];

/**
 * A stand-in of Discord: its token endpoint, `/users/@me` and `/users/@me/guilds/{guild.id}/member`, with the fields of
 * https://discord.com/developers/docs/topics/oauth2 and …/resources/user. Codes are `<code challenge>`.
 */
async function discord(t: ExecutionContext, config: Partial<Settings> = {}) {
  const { handler, url } = await listen(t);
  const user: Record<string, unknown> = {
    id: '80351110224678912',
    username: 'steve',
    discriminator: '0',
    global_name: 'Steve',
    avatar: null,
    mfa_enabled: true,
    locale: 'en-US',
    verified: true,
    email: 'steve@example.org',
    flags: 64,
  };
  const member: { roles: string[] | undefined } = { roles: undefined };
  const scopes: string[] = [];
  const codes = new Set<string>();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '', url);
    const send = (status: number, body: object) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (pathname === '/oauth2/authorize') {
      scopes.push(searchParams.get('scope') ?? '');
      const code = searchParams.get('code_challenge') ?? '';
      codes.add(code);
      const back = new URL(searchParams.get('redirect_uri') ?? '');
      back.search = new URLSearchParams({ code, state: searchParams.get('state') ?? '' }).toString();
      return response.writeHead(302, { location: back.href }).end();
    }
    if (pathname === '/api/oauth2/token') {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const form = new URLSearchParams(body);
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      const basic = `Basic ${Buffer.from('1234:shh').toString('base64')}`;
      if (request.headers.authorization !== basic) return send(401, { error: 'invalid_client' });
      if (form.get('code') !== challenge || !codes.delete(challenge)) return send(400, { error: 'invalid_grant' });
      return send(200, {
        access_token: 'ACCESS',
        token_type: 'Bearer',
        expires_in: 604_800,
        refresh_token: 'REFRESH',
        scope: scopes.at(-1),
      });
    }
    if (request.headers.authorization !== 'Bearer ACCESS') return send(401, { message: '401: Unauthorized', code: 0 });
    if (pathname === '/api/v10/users/@me') return send(200, user);
    if (pathname !== `/api/v10/users/@me/guilds/${GUILD}/member`)
      return send(404, { message: '404: Not Found', code: 0 });
    if (!member.roles) return send(404, { message: 'Unknown Guild', code: 10_004 });
    return send(200, {
      user,
      nick: null,
      roles: member.roles,
      joined_at: '2015-04-26T06:26:56.936000+00:00',
      deaf: false,
      mute: false,
    });
  };
  handler.run = (request, response) => void answer(request, response);
  const settings = { oidcIssuer: 'discord', oidcClientId: '1234', oidcClientSecret: 'shh', discordUrl: url };
  return { ...(await openPanel(t, { config: { ...settings, ...config } })), user, member, scopes };
}

test('people sign in with Discord if it has verified their address', async (t) => {
  const it = await discord(t);
  it.user['verified'] = false;
  const browser = reader(it);
  await browser.open('/sign-in');
  t.regex(browser.text(), />Sign in with Discord</);
  t.is(await browser.open('/sign-in/provider'), 400);
  t.regex(browser.text(), /Discord has not confirmed your e-mail address/);
  it.user['verified'] = true;
  t.is(await browser.open('/sign-in/provider'), 200);
  t.is(browser.path(), '/servers');
  t.true((await getUserByEmail(it.store, 'steve@example.org'))?.emailVerified);
  t.deepEqual(it.scopes, ['identify email', 'identify email']);
  t.notRegex(it.logged.join('\n'), /ACCESS|REFRESH|shh/);
});

test('people confirm with Discord, which does not state when it asked', async (t) => {
  const it = await discord(t);
  const browser = reader(it);
  await browser.open('/sign-in/provider');
  await it.clock.jump(it.clock.now() + PASSWORD_FRESH_MS);
  await browser.open('/profile/ssh');
  t.notRegex(browser.text(), /name="password"/);
  t.regex(browser.text(), /Confirm with Discord/);
  const there = new URL(await browser.step('/sign-in/provider?again=1&next=%2Fprofile%2Fssh'));
  t.false(there.searchParams.has('prompt') || there.searchParams.has('max_age'));
  t.is(await browser.open(there.href), 200);
  t.is(browser.path(), '/profile/ssh');
  t.notRegex(browser.text(), /Confirm with Discord/);
});

test('a role of a Discord server makes operators, and people outside the server have none', async (t) => {
  const it = await discord(t, { oidcOperatorGroup: `${GUILD}/${ROLE}` });
  await it.store.write((tx) => tx.run(`UPDATE "users" SET "operator" = TRUE WHERE "id" = 'usr_test'`, []));
  const sets = async (roles: string[] | undefined) => {
    it.member.roles = roles;
    t.is(await reader(it).open('/sign-in/provider'), 200);
    return (await getUserByEmail(it.store, 'steve@example.org'))?.operator;
  };
  t.false(await sets(undefined));
  t.true(await sets(['1', ROLE]));
  t.false(await sets(['1']));
  t.is(it.scopes[0], 'identify email guilds.members.read');
});

test('if Discord rejects the installation’s secret, people are sent to their administrator', async (t) => {
  const it = await discord(t, { oidcClientSecret: 'wrong' });
  const browser = reader(it);
  t.is(await browser.open('/sign-in/provider'), 403);
  t.regex(browser.text(), /ask your administrator/);
  t.true(it.logged.some((line) => line.includes('invalid_client')));
});

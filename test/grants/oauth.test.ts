import test from 'ava';
import * as oauth from 'oauth4webapi';
import { mintToken } from '../../src/kernel/ids.ts';
import { insertClient } from '../../src/grants/app-rows.ts';
import { POLL, USER, APP, ORIGIN, device, errorOf } from './device.ts';

test('an app can revoke only its own tokens (RFC 7009)', async (t) => {
  const it = await device(t);
  await it.store.write((tx) =>
    insertClient(tx, { id: 'app_other', name: '', homepage: '', scopes: [], createdAt: 0, disabledAt: null }),
  );
  const connectApp = async () => {
    const { id, code } = await it.begin();
    await it.grants.approve(id, USER);
    return String((await it.post(POLL, { device_code: code })).json['access_token']);
  };
  const works = async (token: string) =>
    (await it.call('GET', '/v1/whoami', { key: null, headers: { authorization: `Bearer ${token}` } })).status === 200;
  const [token, other] = [await connectApp(), await connectApp()];
  t.true(await works(token));
  const revoke = (fields: Record<string, string>) => it.form('/oauth/revoke', fields);
  t.is((await revoke({ token, client_id: 'app_other' })).status, 200, 'the response reveals nothing');
  t.true(await works(token), 'another app cannot revoke the token');
  t.is(errorOf(t, await revoke({ token })), '400 invalid_request');
  t.is(errorOf(t, await revoke({ client_id: APP })), '400 invalid_request');
  t.is(errorOf(t, await revoke({ token, client_id: 'nobody' })), '400 invalid_client');
  t.is(errorOf(t, await revoke({ token: it.key, client_id: APP })), '400 unsupported_token_type');
  const done = await revoke({ token, client_id: APP, token_type_hint: 'refresh_token' });
  t.deepEqual([done.status, done.json], [200, {}]);
  t.deepEqual([await works(token), await works(other)], [false, true]);
  for (const again of [token, mintToken('app'), 'garbage']) {
    t.is((await revoke({ token: again, client_id: APP })).status, 200);
  }
  const { entries } = (await it.call('GET', '/v1/accounts/acc_test/audit')).json as { entries: { action: string }[] };
  t.is(entries.filter(({ action }) => action === 'app.revoke').length, 1);
  t.is((await it.call('GET', '/v1/servers')).status, 200, 'the API key still works');
});

test('the OAuth endpoints accept RFC 8628 forms and return RFC 6749 error codes', async (t) => {
  const it = await device(t);
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', client_id: APP };
  const started = await it.form('/oauth/device_authorization', { client_id: APP, scope: 'servers:list' });
  t.is(started.status, 200);
  const { device_code: code = '', user_code: userCode = '' } = started.json as Record<string, string>;
  const token = (fields: Record<string, string>) => it.form('/oauth/token', { ...grant, device_code: code, ...fields });
  t.is(errorOf(t, await token({})), '400 authorization_pending');
  t.is(errorOf(t, await token({})), '400 slow_down');
  await it.grants.approve((await it.grants.find(userCode))!.id, USER);
  await it.store.write((tx) =>
    insertClient(tx, { id: 'app_other', name: '', homepage: '', scopes: [], createdAt: 0, disabledAt: null }),
  );
  t.is(errorOf(t, await token({ client_id: 'app_other' })), '400 invalid_grant');
  t.is(errorOf(t, await token({ client_id: 'app_unknown' })), '400 invalid_client');
  t.is(errorOf(t, await token({ client_id: '' })), '400 invalid_request');
  t.is(errorOf(t, await token({ grant_type: 'password' })), '400 unsupported_grant_type');
  t.is(errorOf(t, await token({ grant_type: '' })), '400 invalid_request');
  t.is(errorOf(t, await token({ device_code: '' })), '400 invalid_request');
  t.is(errorOf(t, await token({ device_code: mintToken('device') })), '400 invalid_grant');
  t.is(errorOf(t, await it.form('/oauth/token', `client_id=${APP}&client_id=${APP}`)), '400 invalid_request');
  t.is(errorOf(t, await it.post('/oauth/token', { ...grant, device_code: code })), '400 invalid_request');
  t.is(errorOf(t, await it.form('/oauth/token', `pad=${'x'.repeat(4_096)}`)), '400 invalid_request');
  const granted = await token({});
  t.is(granted.status, 200);
  t.is(granted.json['token_type'], 'Bearer');
  t.is(errorOf(t, await token({})), '400 expired_token');

  t.is(errorOf(t, await it.form('/oauth/device_authorization', {})), '400 invalid_request', 'a client_id is required');
  t.is(errorOf(t, await it.form('/oauth/device_authorization', { client_id: '' })), '400 invalid_request');
  t.is(errorOf(t, await it.form('/oauth/device_authorization', { client_id: 'nobody' })), '400 invalid_client');
  const tooMuch = { client_id: APP, scope: 'servers:write' };
  t.is(errorOf(t, await it.form('/oauth/device_authorization', tooMuch)), '400 invalid_scope');
  const cli = await it.begin({});
  await it.grants.approve(cli.id, USER);
  t.is(
    errorOf(t, await token({ device_code: cli.code })),
    '400 invalid_grant',
    'an app cannot redeem a grant of the command line',
  );

  const metadata = await it.send('/.well-known/oauth-authorization-server', { method: 'GET' });
  t.deepEqual(metadata.json, {
    issuer: ORIGIN,
    device_authorization_endpoint: `${ORIGIN}/oauth/device_authorization`,
    token_endpoint: `${ORIGIN}/oauth/token`,
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint: `${ORIGIN}/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: ['none'],
    grant_types_supported: [grant.grant_type],
    response_types_supported: [],
    scopes_supported: ['servers:list'],
  });
});

test('an OAuth library signs a user in, given only the issuer and a client ID', async (t) => {
  const it = await device(t);
  const issuer = new URL(ORIGIN);
  // The library calls the issuer's addresses: redirect these calls to the endpoints of this test.
  const options = {
    [oauth.customFetch]: (url: string, init: oauth.CustomFetchOptions<string, oauth.ProtectedResourceRequestBody>) =>
      fetch(it.origin + new URL(url).pathname, init as RequestInit),
  };
  const discovered = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' });
  const server = await oauth.processDiscoveryResponse(issuer, discovered);
  const client: oauth.Client = { client_id: APP };
  const scope = new URLSearchParams({ scope: 'servers:list' });
  const asked = await oauth.deviceAuthorizationRequest(server, client, oauth.None(), scope, options);
  const grant = await oauth.processDeviceAuthorizationResponse(server, client, asked);
  t.is(grant.verification_uri_complete, `${ORIGIN}/device?code=${grant.user_code}`);
  const poll = async () => {
    const answer = await oauth.deviceCodeGrantRequest(server, client, oauth.None(), grant.device_code, options);
    return oauth.processDeviceCodeResponse(server, client, answer);
  };
  const told = async () => (await t.throwsAsync(poll(), { instanceOf: oauth.ResponseBodyError }))?.error;
  t.is(await told(), 'authorization_pending');
  t.is(await told(), 'slow_down');
  await it.grants.approve((await it.grants.find(grant.user_code))!.id, USER);
  const { access_token: token, token_type: type, scope: granted } = await poll();
  t.deepEqual([type, granted], ['bearer', 'servers:list']);
  const headers = { authorization: `Bearer ${token}` };
  t.is((await it.call('GET', '/v1/whoami', { key: null, headers })).status, 200);
  const ended = await oauth.revocationRequest(server, client, oauth.None(), token, options);
  await oauth.processRevocationResponse(ended);
  t.is((await it.call('GET', '/v1/whoami', { key: null, headers })).status, 401);
  t.is(await told(), 'expired_token');
  const declined = await oauth.deviceAuthorizationRequest(server, { client_id: 'x' }, oauth.None(), scope, options);
  const refusal = oauth.processDeviceAuthorizationResponse(server, client, declined);
  t.is((await t.throwsAsync(refusal, { instanceOf: oauth.ResponseBodyError }))?.error, 'invalid_client');
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import test from 'ava';
import * as fc from './support/property.ts';
import { ConfigError, loadConfig, settings } from '../src/config.ts';
import { helpText } from '../src/settings-help.ts';
import { hashToken, isSlug, mintToken, newId, parseToken, randomBase62, slugify } from '../src/kernel/ids.ts';
import { createLog, redact } from '../src/kernel/log.ts';
import { StatusError } from '../src/kernel/status.ts';
import { PROPORTIONAL, growth } from './support/cpu.ts';

const none = { envFile: null };

test('the default configuration is consistent and immutable', (t) => {
  const config = loadConfig({}, none);
  t.is(config.httpPort, 8080);
  t.is(config.baseUrl, 'http://localhost:8080');
  t.is(config.databaseUrl, `sqlite:${join(process.cwd(), 'data', 'dormouse.db')}`);
  t.is(config.signupCreditMicros, 100_000_000);
  t.is(config.firstCreditMicros, 1_000_000_000);
  t.is(config.mysqlAdminUrl, null);
  t.is(config.idleTimeoutMinutes, 10);
  t.is(config.signup, 'closed', 'sign-up is closed by default');
  // The default limits each account.
  t.is(config.maxServersPerAccount, 10);
  t.throws(() => Object.assign(config, { httpPort: 1 }), { instanceOf: TypeError });
});

test('settings are parsed by type, and derived settings follow the ones they depend on', (t) => {
  const config = loadConfig(
    {
      HTTP_PORT: '0',
      BASE_URL: 'https://play.example.org/',
      DATABASE_URL: 'sqlite::memory:',
      CHECKOUT: 'off',
      TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8 192.0.2.7',
      PROXY_HOST: '',
      PROXY_PROTOCOL_FROM: '10.0.0.5,fd00::/8',
      FORWARDING_FROM: '10.0.0.6 fd01::/16',
      FLOODGATE_KEY: 'MDEyMzQ1Njc4OWFiY2RlZg==',
    },
    none,
  );
  t.is(config.httpPort, 0);
  t.is(config.baseUrl, 'https://play.example.org');
  t.is(config.databaseUrl, 'sqlite::memory:');
  t.is(config.signupCreditMicros, 0);
  t.is(config.proxyHost, '::');
  t.deepEqual(config.proxyProtocolFrom, ['10.0.0.5', 'fd00::/8']);
  t.deepEqual(loadConfig({}, none).proxyProtocolFrom, []);
  t.deepEqual(config.forwardingFrom, ['10.0.0.6', 'fd01::/16']);
  t.is(config.floodgateKey, 'MDEyMzQ1Njc4OWFiY2RlZg==');
  t.like(loadConfig({}, none), { forwardingFrom: [], floodgateKey: '' });
  t.true(config.trustedProxies.check('10.1.2.3'));
  t.true(config.trustedProxies.check('fd00::1', 'ipv6'));
  t.true(config.trustedProxies.check('192.0.2.7'));
  t.false(config.trustedProxies.check('192.0.2.8'));
  t.deepEqual(loadConfig({}, none).diskQuotaMb, [{ ramMb: Infinity, quotaMb: 0 }]);
  t.deepEqual(loadConfig({ DISK_QUOTA_MB: '4096:20480, 2048:10240' }, none).diskQuotaMb, [
    { ramMb: 2_048, quotaMb: 10_240 },
    { ramMb: 4_096, quotaMb: 20_480 },
  ]);
  t.is(loadConfig({ HTTP_PORT: '9000' }, none).baseUrl, 'http://localhost:9000');
});

const wrong = test.macro({
  exec(t, env: Record<string, string>, ...saying: string[]) {
    const error = t.throws(() => loadConfig(env, none), { instanceOf: ConfigError });
    for (const part of saying) t.true(error.message.includes(part), error.message);
    t.regex(error.message, /^[^\n]+\.$/);
  },
  title: (_, env) => `config: refuses ${JSON.stringify(env)}`,
});
test(wrong, { HTTP_PORT: '65536' }, 'HTTP_PORT', '65536', '0 to 65535');
test(wrong, { HTTP_PORT: '1e3' }, 'HTTP_PORT', '1e3');
test(wrong, { HTTP_PORT: '-1' }, 'HTTP_PORT');
test(wrong, { PROXY_DRAIN_HOURS: '597' }, 'PROXY_DRAIN_HOURS', '597', '0 to 596');
test(wrong, { ENGINE: 'nomad' }, 'ENGINE', 'nomad', 'auto, docker, swarm, process');
test(wrong, { BASE_URL: 'ftp://example.org' }, 'BASE_URL', 'https://');
test(wrong, { BASE_URL: 'https://example.org/?a=1' }, 'BASE_URL');
test(wrong, { BASE_URL: 'localhost:8080' }, 'BASE_URL');
test(wrong, { BASE_URL: 'https://example.org/dormouse' }, 'BASE_URL', 'without a path');
test(wrong, { PROXY_PROTOCOL_FROM: '10.0.0.0/33' }, 'PROXY_PROTOCOL_FROM', '10.0.0.0/33');
test(wrong, { FORWARDING_FROM: 'velocity' }, 'FORWARDING_FROM', 'velocity');
test(wrong, { FLOODGATE_KEY: 'key.pem' }, 'FLOODGATE_KEY', 'base64');
test(wrong, { TRUSTED_PROXIES: '10.0.0.0/33' }, 'TRUSTED_PROXIES', '10.0.0.0/33');
test(wrong, { TRUSTED_PROXIES: '10.0.0.0/8/8' }, 'TRUSTED_PROXIES');
test(wrong, { TRUSTED_PROXIES: 'example.org' }, 'TRUSTED_PROXIES');
test(wrong, { DISK_QUOTA_MB: '10 GB' }, 'DISK_QUOTA_MB', '2048:10240');
test(wrong, { DISK_QUOTA_MB: '10240,2048:20480' }, 'DISK_QUOTA_MB');
test(wrong, { DISK_QUOTA_MB: '-1' }, 'DISK_QUOTA_MB');
test(wrong, { DATABASE_URL: 'dormouse.db' }, 'DATABASE_URL', 'postgres://');
test(wrong, { SIGNUP_CREDIT_MICROS: '9007199254740993' }, 'SIGNUP_CREDIT_MICROS');
test(wrong, { PRICE_PER_GB_HOUR_MICROS: '500000000001' }, 'PRICE_PER_GB_HOUR_MICROS', 'millionths', '500000000000');
test(wrong, { PRICE_PER_GB_MONTH_MICROS: '500000000001' }, 'PRICE_PER_GB_MONTH_MICROS', '500000000000');
test(wrong, { LOG_LEVEL: 'loud' }, 'LOG_LEVEL', 'debug');
test(wrong, { TRUST_TENANTS: 'toString' }, 'TRUST_TENANTS', 'true or false');
test(wrong, { CHECKOUT: 'stripe', STRIPE_SECRET_KEY: 'sk' }, 'STRIPE_WEBHOOK_SECRET');

test('a configuration error never contains a secret', (t) => {
  const error = t.throws(() => loadConfig({ DATABASE_URL: 'mysql://admin:hunter2@host/db' }, none));
  t.false(error.message.includes('hunter2'));
});

test('.env fills in settings that the environment does not set', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'config-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const envFile = join(directory, '.env');
  writeFileSync(envFile, 'HTTP_PORT=1000\nREGION="eu" # home\n');
  const config = loadConfig({ HTTP_PORT: '2000' }, { envFile });
  t.is(config.httpPort, 2000);
  t.is(config.region, 'eu');
  t.is(loadConfig({}, { envFile: join(directory, 'none') }).region, 'na');
  const error = t.throws(() => loadConfig({}, { envFile: directory }), { instanceOf: ConfigError });
  t.true(error.message.includes(directory));
});

test('a secret can be read from a file of its own, but not set in two places', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'dormouse-config-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'secret');
  writeFileSync(file, 'kept apart\n');
  t.is(loadConfig({ STRIPE_SECRET_KEY_FILE: file }, none).stripeSecretKey, 'kept apart');
  const both = { STRIPE_SECRET_KEY_FILE: file, STRIPE_SECRET_KEY: 'here' };
  t.throws(() => loadConfig(both, none), { instanceOf: ConfigError, message: /both set/ });
  const nowhere = { STRIPE_SECRET_KEY_FILE: join(folder, 'none') };
  t.throws(() => loadConfig(nowhere, none), { instanceOf: ConfigError, message: /cannot be read \(ENOENT\)/ });
  writeFileSync(file, '\n');
  t.throws(() => loadConfig({ STRIPE_SECRET_KEY_FILE: file }, none), { message: /is empty/ });
  t.throws(() => loadConfig({ STRIPE_SECRET_KY_FILE: file }, none), { message: /Did you mean STRIPE_SECRET_KEY_FILE/ });
});

test('the off-site store of backups is a repository of restic, and settings of the former S3 stores are refused', (t) => {
  const given = {
    BACKUP_STORE: 'restic:s3:https://host/bucket/',
    AWS_SECRET_ACCESS_KEY: 'b',
    RESTIC_COMPRESSION: 'max',
  };
  const config = loadConfig({ ...given, STRIPE_SECRET_KEY: 'c' }, none);
  t.is(config.backupStore, 'restic:s3:https://host/bucket');
  t.deepEqual(config.resticEnvironment, { AWS_SECRET_ACCESS_KEY: 'b', RESTIC_COMPRESSION: 'max' });
  t.is(loadConfig({}, none).backupStore, null);
  for (const store of ['worlds', 'restic:', 'restic:a b', 'https://worlds'])
    t.throws(() => loadConfig({ BACKUP_STORE: store }, none), { message: /BACKUP_STORE must be restic:/ }, store);
  for (const old of [
    { BACKUP_STORE: 's3://worlds' },
    { S3_SECRET_ACCESS_KEY: 'x' },
    { BACKUP_ENCRYPTION_KEY_FILE: 'f' },
  ])
    t.throws(() => loadConfig(old, none), { message: /BACKUP_STORE=restic:s3:.*Move from s3/ }, Object.keys(old)[0]);
});

test('a sign-in provider needs its client and an encrypted address, and passwords can be off only beside one', (t) => {
  const club = { OIDC_ISSUER: 'https://id.example.org/club/', OIDC_CLIENT_ID: 'dormouse', OIDC_CLIENT_SECRET: 's' };
  // An issuer that ends in a slash is another one without it (OpenID Connect Discovery §4.3).
  t.is(loadConfig(club, none).oidcIssuer, 'https://id.example.org/club/');
  for (const issuer of ['discord', 'http://localhost:9000', 'http://127.0.0.1:9000'])
    t.is(loadConfig({ ...club, OIDC_ISSUER: issuer }, none).oidcIssuer, issuer);
  for (const issuer of ['http://id.example.org', 'id.example.org', 'Discord', 'https://id.example.org/?a=1'])
    t.throws(() => loadConfig({ ...club, OIDC_ISSUER: issuer }, none), { message: /OIDC_ISSUER/ }, issuer);
  for (const missing of ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'])
    t.throws(() => loadConfig({ ...club, [missing]: '' }, none), {
      message: `${missing} is not set, but OIDC_ISSUER needs it.`,
    });
  t.throws(() => loadConfig({ PASSWORD_SIGN_IN: 'operator' }, none), { message: /needs OIDC_ISSUER/ });
  t.is(loadConfig({ ...club, PASSWORD_SIGN_IN: 'operator' }, none).passwordSignIn, 'operator');
});

test('the settings help names every variable once, and secrets have no default', (t) => {
  const names = Object.values(settings).map(({ name }) => name);
  t.is(new Set(names).size, names.length);
  for (const name of names) t.regex(helpText(), new RegExp(`^  ${name}(=|$)`, 'm'));
  for (const setting of Object.values(settings)) if (setting.secret) t.is(setting.fallback, '');
});

test('any name becomes a valid slug or an empty string', (t) => {
  t.is(slugify('Mia’s Café, No. 7!'), 'mia-s-cafe-no-7');
  t.is(slugify('日本'), '');
  t.is(slugify('API'), 'api-server');
  t.is(slugify(`${'a'.repeat(39)}-bcd`), 'a'.repeat(39));
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (name) => {
      const slug = slugify(name);
      return slug === '' || (isSlug(slug) && slugify(slug) === slug);
    }),
  );
  for (const bad of ['', '-a', 'a-', 'A', 'a_b', 'a.b', 'www', 'a'.repeat(41), 'a\n']) t.false(isSlug(bad), bad);
  for (const good of ['a', '0', 'a-b', 'a--b', 'a'.repeat(40)]) t.true(isSlug(good), good);
});

test('a minted token is recognised, and a token with one changed character is not', (t) => {
  for (const kind of ['key', 'app', 'device'] as const) {
    const token = mintToken(kind);
    t.regex(token, { key: /^dmk_/, app: /^dma_/, device: /^dmd_/ }[kind]);
    t.is(token.length, 42);
    t.is(parseToken(token), kind);
    fc.assert(
      fc.property(fc.nat(41), fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }), (at, character) => {
        const changed = token.slice(0, at) + character + token.slice(at + 1);
        return changed === token || parseToken(changed) === undefined;
      }),
    );
  }
  const token = mintToken('key');
  for (const bad of ['', `${token} `, `${token}, ${token}`, token.slice(1), `${token}\n`])
    t.is(parseToken(bad), undefined);
  fc.assert(fc.property(fc.string(), (text) => parseToken(text) === undefined));
  t.is(hashToken('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('random characters are drawn evenly from the whole alphabet, and ids do not repeat', (t) => {
  const counts = new Map<string, number>();
  for (const character of randomBase62(62_000)) counts.set(character, (counts.get(character) ?? 0) + 1);
  t.is(counts.size, 62);
  // 1000 of each are expected, with a standard deviation of 31: allow eight deviations either way.
  for (const count of counts.values()) t.true(count > 750 && count < 1_250, String(count));
  t.regex(newId('acc'), /^acc_[0-9A-Za-z]{16}$/);
  t.is(new Set(Array.from({ length: 1_000 }, () => newId('key'))).size, 1_000);
});

test('the log redacts secrets at any depth and keeps everything else', (t) => {
  const lines: string[] = [];
  const log = createLog({ level: 'debug', destination: { write: (line) => lines.push(line) } });
  const apiKey = mintToken('key');
  const secrets = {
    password: 'hunter2"\\',
    deep: { a: { b: [{ rconPassword: 'hunter2', dbPassword: 'hunter2' }] } },
    headers: {
      authorization: 'Bearer hunter2',
      'X-API-Key': 'hunter2',
      cookie: 'sid=hunter2',
      'set-cookie': ['hunter2'],
    },
    token: 'hunter2',
    access_token: 'hunter2',
    device_code: 'hunter2',
    stripeWebhookSecret: 'hunter2',
    'x-csrf-token': 'hunter2',
    alertWebhookUrl: 'https://hooks.example/hunter2',
    ip: '198.51.100.7',
    'x-forwarded-for': '198.51.100.7, 10.0.0.1',
    clientAddress: '198.51.100.7',
    url: `/v1?x=${apiKey}`,
    kept: 'yes "password":"in a sentence"',
  };
  log.child({ server: 'amber' }).info(secrets, `used ${apiKey}`);
  log.error({ err: new Error(`bad key ${apiKey}`) }, 'failed');
  log.trace({}, 'not at this level');
  t.is(lines.length, 2);
  const text = lines.join('');
  t.false(text.includes('hunter2'));
  t.false(text.includes('198.51'));
  t.false(text.includes(apiKey.slice(4)));
  const entry = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
  t.is(entry.server, 'amber');
  t.is(entry.level, 'info');
  t.is(entry.kept, secrets.kept);
  t.is(entry.msg, 'used dmk_[redacted]');
  t.deepEqual(entry.deep, { a: { b: [{ rconPassword: '[redacted]', dbPassword: '[redacted]' }] } });
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      log.info({ value }, 'x');
      return JSON.parse(lines.at(-1) ?? '') !== undefined;
    }),
  );
});

test('the log redacts secrets in URLs and sentences', (t) => {
  const said = (msg: string) => (JSON.parse(redact(JSON.stringify({ msg }))) as { msg: string }).msg;
  t.is(
    said('POST https://discord.com/api/webhooks/123/a-B_c failed'),
    'POST https://discord.com/api/webhooks/[redacted] failed',
  );
  t.is(
    said('https://ptb.discordapp.com/api/v10/webhooks/1/x'),
    'https://ptb.discordapp.com/api/v10/webhooks/[redacted]',
  );
  t.is(said('"https://hooks.slack.com/services/T0/B0/x"'), '"https://hooks.slack.com/services/[redacted]"');
  t.is(said('postgres://me:pa%2Fss@db:5432/x is away'), 'postgres://[redacted]@db:5432/x is away');
  t.is(said('with sk_live_0123456789abcdef, whsec_abcdefgh12'), 'with sk_live_[redacted], whsec_[redacted]');
  for (const harmless of [
    'https://example.com/a@b',
    'mail a@b.example',
    'see https://discord.com/channels/1',
    'task_test_1',
  ])
    t.is(said(harmless), harmless);
  for (const bit of ['://', '"token', 'https://discord.com/api/webhooks/', 'a://b', 'sk_live_', '"aaaaaaaaa-'])
    t.true(growth((times) => void redact(bit.repeat(times)), 12_500) < PROPORTIONAL, bit);
});

test('the pretty log formats entries for a terminal and escapes control characters', (t) => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', pretty: true, destination: { write: (line) => lines.push(line) } });
  log
    .child({ server: 'amber', requestId: 'r1' })
    .warn({ port: 25565, name: 'a b', password: 'hunter2' }, 'bad \x1b[2J name\n');
  log.error({ err: new Error('broken', { cause: new Error('pipe') }) }, 'failed');
  const plain = lines.map(stripVTControlCharacters);
  t.regex(
    plain[0] ?? '',
    /^\d\d:\d\d:\d\d\.\d{3} warn {2}\[server=amber requestId=r1\] bad \\x1b\[2J name\\x0a port=25565 name="a b" password=\[redacted\]\n$/,
  );
  t.regex(plain[1] ?? '', /error failed\n {4}Error: broken\n[^]*caused by: Error: pipe\n/);
  lines.length = 0;
  const read = () => stripVTControlCharacters(lines.splice(0).join('')).slice('12:34:56.789 '.length);
  log.warn({ to: 'a@b.example', letter: 'Hello,\n\nopen\x1b http://localhost/x\n' }, 'this letter is not sent');
  t.is(read(), 'warn  this letter is not sent to=a@b.example\n    Hello,\n    \n    open\\x1b http://localhost/x\n');
  const cause = { kind: 'player', id: 'Steve', note: '' };
  log.info({ server: 'lobby', from: 'a', to: 'b', event: 'JOIN', cause }, 'lobby wakes up: Steve joined');
  t.is(read(), 'info  lobby wakes up: Steve joined\n', 'the message already contains the fields');
  log.info({ server: 'lobby', err: new StatusError('NOT_FOUND', 'GONE', 'It is gone.') }, 'refused');
  t.is(read(), 'info  [server=lobby] refused\n    It is gone.\n', 'a refusal has no stack');
  log.info({ room: 'proxy' }, 'players can connect');
  t.deepEqual(lines, [], 'the ready line replaces it');
  log.info({ http: 8080, players: 25565, sftp: 2022, sftpKey: 'SHA256:x', engine: 'process' }, 'ready');
  t.is(read(), 'info  ready http=8080 players=25565 sftp=2022\n');
  log.info({ room: 'proxy' }, 'players can connect');
  t.is(read(), 'info  players can connect room=proxy\n');
});

test('a setting with two swapped letters is refused with the right name', (t) => {
  for (const [given, meant] of [
    ['HTTP_PROT', 'HTTP_PORT'],
    ['PUBLIC_HOTS', 'PUBLIC_HOST'],
    ['ABSE_URL', 'BASE_URL'],
    ['STRIPE_SECRET_KYE_FILE', 'STRIPE_SECRET_KEY_FILE'],
  ] as const)
    t.throws(() => loadConfig({ [given]: '1' }, none), {
      message: `${given} is not a setting. Did you mean ${meant}?`,
    });
  t.notThrows(() => loadConfig({ HTTP_TROP: '1' }, none));
});

test('.env.example copied unchanged uses the default data folder', (t) => {
  const config = loadConfig({}, { envFile: join(import.meta.dirname, '../.env.example') });
  t.is(config.dataDir, loadConfig({}, none).dataDir);
});

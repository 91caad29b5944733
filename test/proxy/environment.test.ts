import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { HELP, SettingError, readEnvironment } from '../../proxy/environment.ts';

const REMOTE = { CONTROL_URL: 'wss://dormouse.example.org', PROXY_TOKEN: 'secret-token' };

test('a remote proxy needs only an address and a token, and other settings have defaults', (t) => {
  t.deepEqual(readEnvironment(REMOTE), {
    host: '::',
    port: 25_565,
    services: [{ url: 'wss://dormouse.example.org/v1/proxy-link', token: 'secret-token' }],
    isChild: false,
    takesOver: true,
    name: hostname(),
    settings: '',
    sessionServerUrl: undefined,
    proxyProtocolFrom: [],
    forwardingFrom: [],
    floodgateKey: '',
    networkHost: '127.0.0.1',
    drainMs: 12 * 3_600_000,
    lonelyMs: 60_000,
    logLevel: 'info',
  });
  t.like(readEnvironment({ ...REMOTE, PROXY_PROTOCOL_FROM: ' 10.0.0.0/8, 192.0.2.1\n', PROXY_DRAIN_HOURS: '0' }), {
    proxyProtocolFrom: ['10.0.0.0/8', '192.0.2.1'],
    drainMs: 0,
  });
});

test('trusted proxies in front, Floodgate’s key and the address of private backends are settings of a remote proxy', (t) => {
  const FLOODGATE_KEY = 'MDEyMzQ1Njc4OWFiY2RlZg==';
  t.like(
    readEnvironment({ ...REMOTE, FORWARDING_FROM: '10.0.0.6, fd00::/8', FLOODGATE_KEY, NETWORK_HOST: '10.0.0.5' }),
    {
      forwardingFrom: ['10.0.0.6', 'fd00::/8'],
      floodgateKey: FLOODGATE_KEY,
      networkHost: '10.0.0.5',
    },
  );
  const error = t.throws(() => readEnvironment({ ...REMOTE, FLOODGATE_KEY: 'secret' }), { instanceOf: SettingError });
  t.regex(error.message, /FLOODGATE_KEY must be the output of/);
  t.false(error.message.includes('secret'));
});

test('a proxy name over 128 characters and a drain over 596 hours are refused', (t) => {
  t.is(readEnvironment({ ...REMOTE, PROXY_NAME: 'x'.repeat(128) }).name.length, 128);
  t.throws(() => readEnvironment({ ...REMOTE, PROXY_NAME: 'x'.repeat(129) }), { message: /PROXY_NAME.*129.*128/ });
  // Node's timers allow no longer span.
  const longest = 2 ** 31 - 1;
  t.true(readEnvironment({ ...REMOTE, PROXY_DRAIN_HOURS: '596' }).drainMs <= longest);
  t.throws(() => readEnvironment({ ...REMOTE, PROXY_DRAIN_HOURS: '597' }), { message: /PROXY_DRAIN_HOURS.*596/ });
});

test('every variable in the proxy’s help text is read', (t) => {
  const read = new Set<string>();
  const env: NodeJS.Dict<string> = { ...REMOTE, PROXY_TOKEN: '', PROXY_TOKEN_FILE: '/nowhere' };
  const watched = new Proxy(env, { get: (target, name) => (read.add(String(name)), target[String(name)]) });
  t.throws(() => readEnvironment(watched), { instanceOf: SettingError });
  readEnvironment(Object.assign(watched, REMOTE));
  const named = [...HELP.matchAll(/^ {2}([A-Z_]+)/gm)].map(([, name]) => name ?? '');
  t.deepEqual(
    named.filter((name) => !read.has(name)),
    [],
  );
  t.true(named.length > 5);
});

test('a child proxy uses its link socket, and takes over the port only if PROXY_TAKES_OVER is set', (t) => {
  const child = readEnvironment({ PROXY_LINK: '/data/proxy/link.sock', CONTROL_URL: 'nonsense' });
  t.like(child, { services: [{ path: '/data/proxy/link.sock' }], isChild: true, takesOver: false });
  t.true(readEnvironment({ PROXY_LINK: '/data/proxy/link.sock', PROXY_TAKES_OVER: 'true' }).takesOver);
});

test('an unencrypted service address is accepted only on this machine or with CONTROL_PLAIN', (t) => {
  for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '[::1]', 'localhost:8080'])
    t.notThrows(() => readEnvironment({ ...REMOTE, CONTROL_URL: `ws://${host}` }), host);
  for (const host of ['dormouse.example.org', '10.0.0.1', 'localhost.example.org', '127.0.0.1.example.org', '[::2]'])
    t.throws(() => readEnvironment({ ...REMOTE, CONTROL_URL: `ws://${host}` }), { message: /wss:\/\// }, host);
  const overlay = { ...REMOTE, CONTROL_URL: 'ws://one:8080', CONTROL_PLAIN: 'true' };
  t.like(readEnvironment(overlay), { services: [{ url: 'ws://one:8080/v1/proxy-link' }] });
  t.throws(() => readEnvironment({ ...overlay, CONTROL_PLAIN: 'false' }), { message: /wss:\/\// });
  const { services } = readEnvironment({ ...REMOTE, CONTROL_URL: 'wss://example.org/behind/a/path' });
  t.like(services, [{ url: 'wss://example.org/behind/a/path' }]);
});

test('several service addresses can be listed for a standby, and each is validated like a single one', (t) => {
  const { services } = readEnvironment({ ...REMOTE, CONTROL_URL: 'wss://one.example.org, ws://localhost:8081/path' });
  t.deepEqual(services, [
    { url: 'wss://one.example.org/v1/proxy-link', token: 'secret-token' },
    { url: 'ws://localhost:8081/path', token: 'secret-token' },
  ]);
  const and = (other: string) => () => readEnvironment({ ...REMOTE, CONTROL_URL: `${REMOTE.CONTROL_URL},${other}` });
  t.throws(and('ws://10.0.0.1'), { message: /wss:\/\// });
  t.throws(and('https://example.org'), { message: /CONTROL_URL must be the address/ });
  t.throws(and('wss://example.org '.repeat(8)), { message: /CONTROL_URL must be the address/ });
});

const WRONG: [what: string, change: NodeJS.Dict<string>, message: RegExp][] = [
  ['no address', { CONTROL_URL: undefined }, /CONTROL_URL must be the address of the service/],
  ['no URL', { CONTROL_URL: 'example' }, /CONTROL_URL must be the address of the service/],
  ['a web page', { CONTROL_URL: 'https://example.org' }, /CONTROL_URL must be the address of the service/],
  ['no token', { PROXY_TOKEN: '' }, /Set PROXY_TOKEN or PROXY_TOKEN_FILE/],
  ['no file', { PROXY_TOKEN: '', PROXY_TOKEN_FILE: '/nowhere' }, /PROXY_TOKEN_FILE cannot be read \(ENOENT\)/],
  [
    'a port that is too high',
    { PROXY_PORT: '65536' },
    /PROXY_PORT is "65536", but must be a whole number from 0 to 65535/,
  ],
  ['a fractional port', { PROXY_PORT: '25565.5' }, /PROXY_PORT is/],
  ['a negative port', { PROXY_PORT: '-1' }, /PROXY_PORT is/],
  ['not a number', { PROXY_DRAIN_HOURS: 'long' }, /PROXY_DRAIN_HOURS is "long"/],
  ['a drain time that is too long', { PROXY_DRAIN_HOURS: '1e9' }, /PROXY_DRAIN_HOURS is/],
];
for (const [what, change, message] of WRONG) {
  test(`${what}: the error names the setting and omits the token`, (t) => {
    const error = t.throws(() => readEnvironment({ ...REMOTE, ...change }), { instanceOf: SettingError, message });
    t.false(error.message.includes('secret-token'));
  });
}

test('a token file is read without its trailing newline', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-token-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'proxy.token');
  await writeFile(file, 'from-a-file\n');
  const from = (PROXY_TOKEN?: string) => {
    const [service] = readEnvironment({ ...REMOTE, PROXY_TOKEN, PROXY_TOKEN_FILE: file }).services;
    return service !== undefined && 'token' in service && service.token;
  };
  t.is(from(), 'from-a-file');
  t.is(from('given'), 'given');
});

import { chmod, mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { mintToken } from '../../src/kernel/ids.ts';
import { startService } from '../support/service.ts';
import { decide } from './pages.ts';
import { type Asked, type StandIn, newProgram, startStandIn } from './program.ts';

const DEVICE_CODE = mintToken('device');
const START = '/v1/public/device/start';
const POLL = '/v1/public/device/poll';
const ME = { accountId: 'acc_1', email: 'steve@example.org', emailVerified: true };

type Reply = [status: number, body: object | string, headers?: object];

/** Serves the device endpoints of the reference. `polls` are the answers in order; the last one is repeated. */
function deviceService(t: ExecutionContext, key: string, polls: Reply[], start: object = {}): Promise<StandIn> {
  let turn = 0;
  return startStandIn(t, ({ path, key: given }) => {
    if (path === START) {
      const link = 'http://play.example.org/device';
      return [
        200,
        {
          device_code: DEVICE_CODE,
          user_code: 'WDJB-MJHT',
          verify_url: 'http://legacy.example.org',
          verification_uri: link,
          verification_uri_complete: `${link}?code=WDJB-MJHT`,
          expires_in: 600,
          interval: 1,
          ...start,
        },
      ];
    }
    if (path === POLL) return polls[Math.min(turn++, polls.length - 1)];
    if (path === '/v1/whoami' && given === key) return [200, ME];
    return [401, { code: 16, message: 'no', details: [] }];
  });
}

const PENDING: Reply = [400, { error: 'authorization_pending' }];
const granted = (key: string): Reply => [
  200,
  { access_token: key, api_key: key, token_type: 'ApiKey', scope: 'servers:read' },
];

function pollsOf({ asked }: StandIn): Asked[] {
  return asked.filter(({ path }) => path === POLL);
}

test('login by device grant polls through errors, slows down on request, stores the key and never prints it', async (t) => {
  const key = mintToken('key');
  const polls: Reply[] = [
    PENDING,
    [500, { error: 'server_error' }],
    [503, '<h1>busy</h1>'],
    [400, { error: 'slow_down' }],
    granted(key),
  ];
  const service = await deviceService(t, key, polls);
  const program = await newProgram(t);
  const { code, out, err } = await program.run(['login', '--url', `${service.url}/`]);
  t.is(code, 0, err);
  t.is(out, `Signed in at ${service.url} as steve@example.org.\n`);
  t.regex(err, /http:\/\/play\.example\.org\/device\?code=WDJB-MJHT\n[^]*\n {2}WDJB-MJHT\n[^]*Waiting/);
  for (const secret of [key, DEVICE_CODE]) t.false((out + err).includes(secret));
  t.notRegex(err, /legacy/);

  t.deepEqual(service.asked[0]?.body, {}, 'the command line sends no client_id');
  const polled = pollsOf(service);
  t.true(polled.every(({ body }) => (body as { device_code: string }).device_code === DEVICE_CODE));
  t.is(polled.length, 5);
  const gaps = polled.map(({ at }, index) => at - (polled[index - 1]?.at ?? service.asked[0]?.at ?? 0));
  t.true(
    gaps.every((gap) => gap >= 990),
    gaps.join(' '),
  );
  t.true((gaps[4] ?? 0) >= 5990, `slow_down adds five seconds: ${gaps.join(' ')}`);

  t.deepEqual(JSON.parse(await readFile(program.credentials, 'utf8')), {
    current: service.url,
    keys: { [service.url]: key },
  });
  t.is((await stat(program.credentials)).mode & 0o777, 0o600);
  t.is((await stat(dirname(program.credentials))).mode & 0o777, 0o700);
  t.deepEqual(await readdir(dirname(program.credentials)), ['credentials.json']);

  // The URL is stored with the key, and the key is sent to no other service.
  t.regex((await program.run(['whoami'])).out, /steve@example\.org/);
  const other = await startStandIn(t, () => [200, ME]);
  t.like(await program.run(['whoami', '--url', other.url]), { code: 3, out: '' });
  t.deepEqual(other.asked, []);
});

test('login --json writes the code to standard error and the account to standard output', async (t) => {
  const key = mintToken('key');
  const service = await deviceService(t, key, [granted(key)]);
  const program = await newProgram(t, service.url);
  const { code, out, err } = await program.run(['login', '--json']);
  t.is(code, 0, err);
  t.deepEqual(JSON.parse(out), ME);
  t.like(JSON.parse(err), { user_code: 'WDJB-MJHT', verification_uri: 'http://play.example.org/device', interval: 1 });
  for (const secret of [key, DEVICE_CODE]) t.false((out + err).includes(secret));
});

const refusedSignIn = test.macro({
  async exec(t, polls: Reply[], start: object, pattern: RegExp) {
    const service = await deviceService(t, '', polls, start);
    const program = await newProgram(t, service.url);
    const { code, err } = await program.run(['login']);
    t.is(code, 1, err);
    t.regex(err, pattern);
    t.deepEqual(JSON.parse(await readFile(program.credentials, 'utf8')), { current: '', keys: {} });
  },
  title: (what) => `sign-in ends: ${what}`,
});
test('declined', refusedSignIn, [PENDING, [400, { error: 'access_denied' }]], {}, /declined/);
test('expired', refusedSignIn, [[400, { error: 'expired_token' }]], {}, /not confirmed in time.*dormouse login/);
test('no confirmation before the code expires', refusedSignIn, [PENDING], { expires_in: 2 }, /not confirmed in time/);
test('an unknown error', refusedSignIn, [[400, { error: 'invalid_request' }]], {}, /invalid_request/);

test('login reports a rate limit, and suggests login --key if the service offers no device grant', async (t) => {
  const many = await startStandIn(t, () => [429, { error: 'rate_limited' }, { 'retry-after': '1800' }]);
  const none = await startStandIn(t, () => [404, { code: 5, message: 'nothing here', details: [] }]);
  const program = await newProgram(t);
  const tooMany = await program.run(['login', '--url', many.url]);
  t.is(tooMany.code, 1);
  t.regex(tooMany.err, /Try again in 30 min/);
  const unknown = await program.run(['login', '--url', none.url]);
  t.is(unknown.code, 1);
  t.regex(unknown.err, /login --key/);
});

test('Ctrl-C ends the wait for a confirmation', async (t) => {
  const service = await deviceService(t, '', [PENDING]);
  const program = await newProgram(t, service.url);
  const login = program.start(['login']);
  await login.says('Waiting');
  login.child.kill('SIGINT');
  t.like(await login.ended, { code: 130 });
});

test('login --key checks a key before storing it, and keeps keys of several services side by side', async (t) => {
  const [mine, yours] = [mintToken('key'), mintToken('key')];
  const [here, there] = [await deviceService(t, mine, []), await deviceService(t, yours, [])];
  const program = await newProgram(t);
  const login = (url: string, input: string) => program.run(['login', '--key', '--url', url], { input });
  const keys = async () => JSON.parse(await readFile(program.credentials, 'utf8')) as { current: string; keys: object };

  for (const nonsense of ['', 'nonsense\n', `${DEVICE_CODE}\n`, `${mine.slice(0, -1)}\n`]) {
    const { code, out, err } = await login(here.url, nonsense);
    t.is(code, 2);
    t.regex(err, /not an API key/);
    t.false(nonsense.trim() !== '' && (out + err).includes(nonsense.trim()));
  }
  t.deepEqual(here.asked, []);
  const wrong = await login(here.url, `${yours}\n`);
  t.is(wrong.code, 3);
  t.false(wrong.err.includes(yours));
  await t.throwsAsync(stat(program.credentials), { code: 'ENOENT' });

  t.is((await login(here.url, `  ${mine}\r\nmore`)).code, 0);
  // The login ends after the first line, even if standard input stays open.
  const waiting = program.start(['login', '--key', '--url', here.url]);
  waiting.child.stdin.write(`${mine}\n`);
  t.is((await waiting.ended).code, 0);
  // The login restricts a folder that other users can read.
  await chmod(dirname(program.credentials), 0o755);
  t.is((await login(there.url, yours)).code, 0);
  t.is((await stat(dirname(program.credentials))).mode & 0o777, 0o700);
  t.deepEqual(await keys(), { current: there.url, keys: { [here.url]: mine, [there.url]: yours } });

  t.is((await program.run(['logout', '--url', here.url])).code, 0);
  t.deepEqual((await keys()).keys, { [there.url]: yours });
  t.regex((await program.run(['logout', '--url', here.url])).out, /were not signed in/);
  t.like(await program.run(['whoami', '--url', here.url]), { code: 3 });
  t.like(await program.run(['whoami', '--url', here.url], { env: { DORMOUSE_KEY: mine } }), { code: 0 });
  // A key given as an argument by mistake is not printed.
  const shown = await program.run(['login', '--key', mine, '--url', here.url]);
  t.is(shown.code, 2);
  t.false(shown.err.includes(mine));
});

test('a damaged credentials file counts as empty and is replaced by the next login', async (t) => {
  const key = mintToken('key');
  const service = await deviceService(t, key, []);
  const program = await newProgram(t, service.url);
  await mkdir(dirname(program.credentials), { recursive: true });
  for (const damaged of ['', '{', 'null', '[]', '{"keys":7,"current":{}}']) {
    await writeFile(program.credentials, damaged);
    const { code, err } = await program.run(['servers']);
    t.is(code, 3, damaged);
    t.regex(err, /dormouse login/);
  }
  t.is((await program.run(['login', '--key'], { input: key })).code, 0);
  t.is((await program.run(['whoami'])).code, 0);
});

test('a login can be approved and declined on the pages of the service', async (t) => {
  t.timeout(300_000);
  const service = await startService(t);
  const program = await newProgram(t, service.baseUrl);
  const login = program.start(['login', '--json']);
  const answers = await decide(service, await login.says(/http:[^"\s]+\?code=[A-Z-]+/), 'approve');
  const left = JSON.parse(await readFile(join(service.dataDir, 'first-run.json'), 'utf8')) as Record<string, unknown>;
  t.deepEqual([left.password, typeof left.apiKey], [undefined, 'string'], 'the first sign-in removes the password');
  t.regex(answers.question, /full access to your account/);
  t.regex(answers.question, /dormouse-cli/);
  t.is(answers.to, '/device/approved');
  const { code, out, err } = await login.ended;
  t.is(code, 0, err);
  t.like(JSON.parse(out), { email: 'operator@localhost' });
  t.like(await program.json('servers'), { servers: [] });
  t.is((await program.run(['create', 'Lobby', '--ram=256'])).code, 0, 'the key has every scope');
  const { keys } = JSON.parse(await readFile(program.credentials, 'utf8')) as { keys: Record<string, string> };
  t.false((out + err).includes(keys[service.baseUrl] ?? '?'));

  const declined = program.start(['login']);
  await decide(service, await declined.says(/http:[^"\s]+\?code=[A-Z-]+/), 'deny');
  const { code: refused, err: why } = await declined.ended;
  t.is(refused, 1);
  t.regex(why, /declined/);
});

test('login requests no key if it cannot store one', async (t) => {
  const service = await deviceService(t, '', [PENDING]);
  const program = await newProgram(t, service.url);
  // A file in place of the config folder stops even root.
  await writeFile(`${program.home}/config`, '');
  const { code, err } = await program.run(['login']);
  t.is(code, 3);
  t.regex(err, /config\/dormouse\/credentials\.json cannot be used to store keys \(E/);
  t.deepEqual(service.asked, []);
});

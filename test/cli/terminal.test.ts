import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { mintToken } from '../../src/kernel/ids.ts';
import { onTerminal, visible } from './on-terminal.ts';
import { runHere } from './in-process.ts';
import { newProgram, startStandIn } from './program.ts';

test('a key typed at a terminal is not shown', async (t) => {
  const key = mintToken('key');
  const service = await startStandIn(t, () => [200, { email: 'steve@example.org' }]);
  const { home, credentials } = await newProgram(t);
  const login = await onTerminal(
    t,
    { HOME: home, XDG_CONFIG_HOME: join(home, 'config') },
    'login',
    '--key',
    '--url',
    service.url,
  );
  if (!login) return;
  await login.says('(not shown): ');
  login.child.stdin.write(`${key.slice(0, -1)}?\u007f${key.slice(-1)}\r`);
  const { code, out } = await login.ended;
  t.is(code, 0, out);
  t.regex(visible(out), /steve@example\.org/);
  t.false(out.includes(key.slice(0, 12)));
  t.is(service.asked[0]?.key, key);
  t.true((await readFile(credentials, 'utf8')).includes(key));
});

test('creating a server with Mojang software asks for EULA consent at a terminal', async (t) => {
  const replies: Record<string, object> = {
    '/v1/whoami': { accountId: 'acc_1' },
    '/v1/servers': { id: 'castle', accountId: 'acc_1', state: 'hibernated', type: 'paper', version: '1.21.8' },
    '/v1/templates/usual:createServer': { id: 'tower', accountId: 'acc_1', type: 'paper' },
    '/v1/templates/theirs:createServer': { id: 'barn', accountId: 'acc_2', type: 'paper' },
    '/v1/templates/sandbox:createServer': { id: 'hut', accountId: 'acc_1', type: 'sandbox' },
    '/v1/accounts/acc_1/eula': { accepted: false, url: 'https://aka.ms/MinecraftEULA' },
  };
  const service = await startStandIn(t, ({ path }) => [200, replies[path] ?? {}]);
  const env = { DORMOUSE_URL: service.url, DORMOUSE_KEY: 'dmk_x', HOME: '/nonexistent' };
  const consents = () => service.asked.filter(({ method, path }) => method === 'POST' && path.endsWith('/eula')).length;
  for (const [answer, given] of [
    ['n', 0],
    ['y', 1],
  ] as const) {
    const create = await onTerminal(t, env, 'create', 'Castle', '--type', 'paper');
    if (!create) return;
    await create.says('[y/N] ');
    create.child.stdin.write(`${answer}\r`);
    const { code, out } = await create.ended;
    t.is(code, 0, out);
    t.regex(visible(out), /Read Minecraft's EULA: https:\/\/aka\.ms\/MinecraftEULA/);
    t.is(/once you agree/.test(visible(out)), given === 0, out);
    t.is(consents(), given);
  }
  // Without a terminal, the hint about the EULA is printed.
  const said = async (template: string) => (await runHere(['templates', 'use', template, 'Tower'], env)).err;
  t.regex(await said('usual'), /once you agree to Minecraft's EULA: .* eula\n/);
  t.deepEqual([await said('theirs'), await said('sandbox')], ['', '']);
});

test('Ctrl-C at the key prompt exits with 130', async (t) => {
  const { home } = await newProgram(t);
  const login = await onTerminal(t, { HOME: home }, 'login', '--key');
  if (!login) return;
  await login.says('(not shown): ');
  login.child.stdin.write('dmk_\u0003');
  const { code } = await login.ended;
  t.is(code, 130);
});

test('a terminal gets colours and one redrawn progress line, and NO_COLOR disables colours', async (t) => {
  let turn = 0;
  const states = [10, 40, 70].map((startupPercent) => ({
    state: 'starting',
    startupPhase: 'generating_world',
    startupPercent,
  }));
  const service = await startStandIn(t, ({ path }) => {
    const server = { id: 'lobby', addr: 'lobby.example.org', ...(states[turn++ % 4] ?? { state: 'running' }) };
    return [200, path === '/v1/servers' ? { servers: [server] } : server];
  });
  const env = { DORMOUSE_URL: service.url, DORMOUSE_KEY: 'dmk_x', HOME: '/nonexistent' };
  const start = await onTerminal(t, env, 'start', 'lobby', '--wait');
  if (!start) return;
  const { code, out } = await start.ended;
  t.is(code, 0);
  t.regex(visible(out), /\r␛\[K.*█.*░.* 40 % {2}generating world[^\n]*\r␛\[K.* 70 %/);
  t.regex(visible(out), /\r␛\[Klobby is ␛\[32mrunning␛\[39m\. Join it at .*lobby\.example\.org/);

  const plain = await onTerminal(t, { ...env, NO_COLOR: '1' }, 'servers');
  t.notRegex(visible((await plain?.ended)?.out ?? ''), /␛/);
});

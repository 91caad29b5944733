import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import test from 'ava';
import { type FirstRun, welcomeText } from '../../src/accounts/first-run.ts';
import { nodeOnTerminal } from '../cli/on-terminal.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';

const ROOT = join(import.meta.dirname, '../..');

test('on a first start without a terminal, the output names the credentials file but no credentials', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dormouse-first-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const { PATH, HOME } = process.env;
  const ports = {
    HTTP_PORT: '0',
    PROXY: 'embedded',
    PROXY_PORT: '0',
    SFTP_PORT: '0',
    PROXY_HOST: '127.0.0.1',
    ENGINE: 'process',
  };
  const child = spawn(process.execPath, ['src/main.ts'], {
    cwd: ROOT,
    env: { PATH, HOME, ...COMPILE_CACHE, DATA_DIR: dataDir, ...ports, LOG_LEVEL: 'trace' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    said += chunk.toString();
    if (said.includes('until you have signed in')) child.kill('SIGTERM');
  }
  await ended;
  const file = join(dataDir, 'first-run.json');
  const { apiKey, email, password } = JSON.parse(await readFile(file, 'utf8')) as FirstRun;
  t.true(said.includes(`Your e-mail, password and API key are in ${file}.`), said);
  for (const secret of [apiKey, email, password]) t.false(said.includes(secret), secret);
});

test('on a first start at a terminal, at most three short lines precede the welcome', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dormouse-first-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const running = await nodeOnTerminal(
    t,
    {
      DATA_DIR: dataDir,
      HTTP_PORT: '0',
      PROXY_PORT: '0',
      SFTP_PORT: '0',
      PROXY_HOST: '127.0.0.1',
      DOCKER_HOST: `unix://${join(dataDir, 'no-engine.sock')}`,
    },
    join(ROOT, 'src/start.js'),
  );
  if (running === undefined) return;
  await running.says('until you have signed in');
  running.child.stdin.write('\x03');
  const { out } = await running.ended;
  const [before = '', after = ''] = stripVTControlCharacters(out).split('Welcome to Dormouse.');
  // Root gets a warning if the folder is closed to the games' user.
  const lines = before.split('\n').filter((line) => line.trim() !== '' && !line.includes('Games run as root here'));
  t.true(lines.length > 0 && lines.length <= 3, before);
  for (const line of lines) t.true(line.length <= 200 && !line.includes('{'), line);
  t.true(after.includes('password'), out);
});

test('the welcome at a terminal shows the credentials, commands that use them and the configured addresses', (t) => {
  const firstRun = { email: 'operator@localhost', password: 'pw', accountId: 'acc_1', apiKey: 'dmk_1', baseUrl: '' };
  const file = '/data/first-run.json';
  const inContainer = false;
  const local = {
    httpPort: 8080,
    playersPort: 25_565,
    baseUrl: 'http://localhost:8080',
    publicHost: 'localhost',
    needsName: false,
    inContainer,
  };
  const text = welcomeText({ firstRun, file, ...local, homeAddress: undefined }, true);
  t.regex(text, /e-mail {4}operator@localhost\n {4}password {2}pw\n {4}API key {3}dmk_1\n/);
  t.regex(text, /curl -H 'x-api-key: dmk_1' localhost:8080\/v1\/servers/);
  t.regex(text, /join localhost with Minecraft/);
  t.notRegex(text, /At home/);
  const set = {
    httpPort: 80,
    playersPort: 25_570,
    baseUrl: 'https://panel.example',
    publicHost: 'play.example',
    needsName: false,
    inContainer,
  };
  const elsewhere = welcomeText({ firstRun, file, ...set, homeAddress: '192.168.1.5' }, true);
  t.regex(elsewhere, /https:\/\/panel\.example\/servers, .*https:\/\/panel\.example\/operator/);
  t.regex(elsewhere, /Players {4}play\.example:25570\n {4}At home {4}192\.168\.1\.5:25570/);
  const named = welcomeText({ firstRun, file, ...set, needsName: true, homeAddress: '192.168.1.5' }, true);
  t.regex(named, /Players {4}<its id>\.play\.example:25570\n\n/);
  t.regex(named, /"name":"Lobby"[^]*then join lobby\.play\.example:25570 with Minecraft/);
});

test('in a container the welcome explains how to read the credentials file from outside', (t) => {
  const firstRun = { email: 'operator@localhost', password: 'pw', accountId: 'acc_1', apiKey: 'dmk_1', baseUrl: '' };
  const where = {
    baseUrl: 'http://localhost:8080',
    publicHost: 'localhost',
    needsName: false,
    homeAddress: undefined,
    inContainer: true,
  };
  const file = '/data/first-run.json';
  const text = welcomeText({ firstRun, file, httpPort: 8080, playersPort: 25_565, ...where }, false);
  t.regex(text, /are in \/data\/first-run\.json\.\n {2}From .*: docker exec <its name> cat \/data\/first-run\.json\n/);
  t.notRegex(text, /pw|dmk_1/);
});

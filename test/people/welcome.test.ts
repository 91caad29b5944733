import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { FirstRun } from '../../src/people/first-run.ts';
import { welcomeText } from '../../src/people/welcome.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';

const ROOT = join(import.meta.dirname, '../..');

test('a first start whose output is no terminal says where the credentials are, and none of them', async (t) => {
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
    if (said.includes('with Minecraft')) child.kill('SIGTERM');
  }
  await ended;
  const file = join(dataDir, 'first-run.json');
  const { apiKey, email, password } = JSON.parse(await readFile(file, 'utf8')) as FirstRun;
  t.true(said.includes(`Your API key, e-mail and password are in ${file}.`), said);
  for (const secret of [apiKey, email, password]) t.false(said.includes(secret), secret);
});

test('at a terminal a first start shows the credentials, ready to be used', (t) => {
  const firstRun = { email: 'operator@localhost', password: 'pw', accountId: 'acc_1', apiKey: 'dmk_1', baseUrl: '' };
  const text = welcomeText({ firstRun, file: '/data/first-run.json', httpPort: 8080, playersPort: 25_565 }, true);
  t.regex(text, /API key {3}dmk_1\n {4}e-mail {4}operator@localhost\n {4}password {2}pw\n/);
  t.regex(text, /curl -H 'x-api-key: dmk_1' localhost:8080\/v1\/servers/);
  t.regex(text, /join localhost with Minecraft/);
});

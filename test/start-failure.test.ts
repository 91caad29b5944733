import { existsSync } from 'node:fs';
import { spawn, spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { loadConfig } from '../src/config.ts';
import { startFailure } from '../src/start-failure.ts';
import { isThorough } from './support/needs.ts';
import { COMPILE_CACHE } from './support/compile-cache.ts';

const ROOT = join(import.meta.dirname, '..');

async function folder(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'dormouse-start-'));
  t.teardown(() => rm(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

/** Runs the program until it ends. Returns its exit code and output. */
async function said(t: ExecutionContext, env: Record<string, string>, ...args: string[]) {
  const { PATH, HOME } = process.env;
  const ports = { HTTP_PORT: '0', PROXY_PORT: '0', SFTP_PORT: '0', PROXY: 'embedded', ENGINE: 'process' };
  const child = spawn(process.execPath, [join(ROOT, 'src/start.js'), ...args], {
    // A folder without a user's `.env`.
    cwd: tmpdir(),
    env: { PATH, HOME, ...COMPILE_CACHE, ...ports, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  // Leave out the warnings of the watchdog on a busy machine.
  return { code, out, err: err.replaceAll(/^The event loop has been stuck .*\n/gm, '') };
}

async function taken(t: ExecutionContext): Promise<string> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  t.teardown(() => server.close());
  return String((server.address() as AddressInfo).port);
}

const sentence = (err: string) => err.endsWith('\n') && !/\n./.test(err) && !/^ +at /m.test(err);

for (const name of isThorough ? ['HTTP_PORT', 'PROXY_PORT', 'SFTP_PORT'] : ['PROXY_PORT']) {
  test(`a taken port is named in the error, with the setting that moves it: ${name}`, async (t) => {
    const port = await taken(t);
    const { code, err } = await said(t, { DATA_DIR: await folder(t), [name]: port });
    t.is(code, 1);
    t.true(sentence(err) && err.startsWith(`Port ${port} for `) && err.includes(`set ${name} to another port.`), err);
    t.is(err.includes('A proxy without players'), name === 'PROXY_PORT', err);
  });
}

test('an unusable data folder, a damaged or unreachable database, or a wrong setting ends the start with one sentence', async (t) => {
  const dir = await folder(t);
  const file = join(dir, 'file');
  await writeFile(file, '');
  const damaged = join(dir, 'damaged');
  await mkdir(damaged);
  await writeFile(join(damaged, 'dormouse.db'), Buffer.alloc(8_192, 'no database'));
  const cases: [Record<string, string>, RegExp][] = [
    [{ DATA_DIR: join(file, 'below') }, /^DATA_DIR \(.*\) is not a folder: .*file.* is a file/],
    [{ DATA_DIR: file }, /^DATA_DIR \(.*\) is not a folder/],
    [{ DATA_DIR: damaged }, /^The database .*dormouse\.db is damaged\. Move it away, with .*dormouse\.db-wal and/],
    [
      { DATA_DIR: dir, DATABASE_URL: 'postgres://a:secret@127.0.0.1:1/x' },
      /^PostgreSQL at 127\.0\.0\.1:1 does not respond/,
    ],
    [
      { DATA_DIR: dir, ENGINE: 'swarm', DOCKER_HOST: 'unix:///nowhere/docker.sock' },
      /^ENGINE=swarm cannot be used: The Docker Engine does not respond\. \(.*\) Start Docker. DOCKER_HOST must point/,
    ],
    [
      { DATA_DIR: dir, PUBLIC_HOST: '192.168.1.5' },
      /^PUBLIC_HOST is "192\.168\.1\.5", which is an IP address\. .* must be a name/,
    ],
    [
      { DATA_DIR: dir, PUBLIC_HOST: '2001:db8::1' },
      /^PUBLIC_HOST is "2001:db8::1", which is an IP address\. .* must be a name/,
    ],
    [{ DATA_DIR: dir, HTTPHOST: '::' }, /^HTTPHOST is not a setting\. Did you mean HTTP_HOST\?/],
  ];
  for (const [env, expected] of isThorough ? cases : [cases[1]!, cases[2]!, cases.at(-1)!]) {
    const { code, err } = await said(t, env);
    t.is(code, 1);
    t.true(sentence(err), err);
    t.regex(err, expected);
    t.false(err.includes('secret'));
  }
});

test('startFailure explains a read-only, full or foreign data folder, and a refusal by PostgreSQL', (t) => {
  const config = loadConfig({ DATA_DIR: '/srv/dormouse' }, { envFile: null });
  const postgres = loadConfig({ DATABASE_URL: 'postgres://u:pw@db.example/dorm' }, { envFile: null });
  const failure = (fields: object) => Object.assign(new Error('it failed'), fields);
  const of = (fields: object, given = config) => startFailure(failure(fields), given);
  t.regex(of({ code: 'EACCES', path: '/srv/dormouse' }), /^DATA_DIR \(\/srv\/dormouse\) may not be used by this user/);
  t.regex(of({ code: 'EROFS' }), /read-only/);
  // Node's error for a folder in a read-only folder.
  t.regex(of({ code: 'ENOENT', syscall: 'mkdir', path: '/srv/dormouse' }), /cannot be created: .* read-only/);
  t.regex(of({ code: 'ENOSPC' }), /full/);
  t.regex(of({ driverError: failure({ code: 'SQLITE_READONLY' }) }), /cannot be written by this user/);
  t.regex(of({ driverError: failure({ code: 'SQLITE_FULL' }) }), /the disk may be full/);
  t.regex(of({ code: 'EACCES', syscall: 'listen', port: 25_565 }), /^Port 25565 for players may not be opened/);
  t.regex(of({ code: 'EADDRNOTAVAIL', syscall: 'listen', port: 8080 }), /does not have the address\. Check HTTP_HOST/);
  t.regex(of({ code: '28P01' }, postgres), /^PostgreSQL at db\.example refuses the user or password/);
  t.regex(of({ code: '3D000' }, postgres), /has no database dorm/);
  t.regex(of({}), /it failed\n +at /, 'an unknown error keeps its stack');
});

test('--settings prints the settings in force, without secrets', async (t) => {
  const { code, out } = await said(t, { HTTP_PORT: '9000', STRIPE_SECRET_KEY: 'sk_live_1' }, '--settings');
  t.is(code, 0);
  t.regex(out, /^ {2}HTTP_PORT=9000 {3}\(set\)$/m);
  t.regex(out, /^ {2}STRIPE_SECRET_KEY=\*\*\* {3}\(set\)$/m);
  t.regex(out, /^ {2}SFTP_PORT=0 {3}\(set\)$/m);
  t.regex(out, /^ {2}IDLE_TIMEOUT_MINUTES=10$/m);
  t.regex((await said(t, {}, '--help')).out, /^Money\n {2}CHECKOUT=test$/m);
  t.regex((await said(t, {}, '--nonsense')).err, /--nonsense is not an option/);
});

test('--reset-password reports that there is no operator yet', async (t) => {
  const dataDir = await folder(t);
  t.regex((await said(t, { DATA_DIR: dataDir }, '--reset-password')).err, /There is no operator yet/);
});

test('--stop reports that there is no installation yet, and creates no data folder', async (t) => {
  const dataDir = join(await folder(t), 'none');
  const { code, out } = await said(t, { DATA_DIR: dataDir }, '--stop');
  t.is(code, 0);
  t.is(out, `Nothing is running: there is no installation in ${dataDir} yet.\n`);
  t.false(existsSync(dataDir));
});

test('npm start explains the fix if packages are missing or Node is too old', async (t) => {
  const bare = await folder(t);
  await mkdir(join(bare, 'src'));
  await writeFile(join(bare, 'package.json'), '{"type":"module"}');
  await copyFile(join(ROOT, 'src/start.js'), join(bare, 'src/start.js'));
  const start = (node: string) => spawnSync(node, ['src/start.js'], { cwd: bare, encoding: 'utf8' });
  t.like(start(process.execPath), { status: 1, stderr: 'The packages are not installed. Run npm ci first.\n' });
  const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
  for (const [name, line] of Object.entries(scripts).filter(([, each]) => / (?:src|proxy)\/\S*\.ts /.test(`${each} `)))
    t.is(name, 'pretest', `${line} cannot explain the fix`);
  await mkdir(join(bare, 'node_modules/xstate'), { recursive: true });
  // The same program with a faked older version of Node.
  const old = spawnSync(
    process.execPath,
    [
      '--import',
      'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.19.0"})',
      'src/start.js',
    ],
    { cwd: bare, encoding: 'utf8' },
  );
  t.is(old.status, 1);
  t.regex(old.stderr, /^Node 24\.12 or newer is needed, but this is 20\.19\.0\..*nodejs\.org\.\n$/);
});

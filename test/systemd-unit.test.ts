import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { systemdUnit } from '../src/systemd-unit.ts';
import { COMPILE_CACHE } from './support/compile-cache.ts';
import { isHere } from './support/needs.ts';

const run = promisify(execFile);
const HOME = join(import.meta.dirname, '..');

async function folder(t: ExecutionContext, name = 'dormouse-unit-'): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), name));
  t.teardown(() => rm(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

/** Returns the unit that the program prints on this machine. */
async function printed(dataDir: string): Promise<string> {
  const { PATH } = process.env;
  const env = { PATH, ...COMPILE_CACHE, DATA_DIR: dataDir };
  const { stdout } = await run(process.execPath, ['src/main.ts', '--systemd', 'daemon'], { cwd: HOME, env });
  return stdout;
}

const valueOf = (unit: string, name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';

const AWKWARD = { user: 'daemon', node: process.execPath, home: '/opt/a $b', dataDir: '/srv/100%/"$x"' };

test.runIf(isHere('systemd'))(
  'systemd verifies the printed unit without complaints and rates its exposure as low',
  async (t) => {
    const file = join(await folder(t), 'dormouse.service');
    for (const unit of [systemdUnit(AWKWARD), await printed(await folder(t))]) {
      await writeFile(file, unit);
      const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', file]);
      t.notRegex(stdout + stderr, /dormouse\.service/);
    }
    // Fails if the exposure is above 40 of 100; 100 is a service without restrictions.
    await t.notThrowsAsync(run('systemd-analyze', ['security', '--offline=true', '--threshold=40', file]));
  },
);

test('stopping the unit spares games and proxy, and its options do not restrict bubblewrap', (t) => {
  const unit = systemdUnit({ user: 'daemon', node: '/usr/bin/node', home: '/opt/dormouse', dataDir: '/srv/dormouse' });
  t.is(valueOf(unit, 'KillMode'), 'process');
  t.is(valueOf(unit, 'OOMPolicy'), 'continue');
  t.is(valueOf(unit, 'User'), 'daemon');
  t.notRegex(
    unit,
    /^(?:ProtectKernel|ProtectProc|ProcSubset|ProtectHostname|RestrictNamespaces|PrivateTmp|PrivateUsers|MemoryDenyWrite)/m,
  );
});

test('the unit escapes spaces, quotes, percent and dollar signs the way systemd reads them', (t) => {
  const unit = systemdUnit(AWKWARD);
  t.is(valueOf(unit, 'WorkingDirectory'), '/opt/a $b');
  t.is(valueOf(unit, 'ExecStart'), `${process.execPath} "/opt/a $$b/src/start.js"`);
  t.is(valueOf(unit, 'ReadWritePaths'), String.raw`"/srv/100%%/\"$x\""`);
});

test('the command and environment in the unit start the service', async (t) => {
  const unit = await printed(await folder(t));
  const [program = '', ...args] = valueOf(unit, 'ExecStart').split(' ');
  const [, dataDir = ''] = valueOf(unit, 'Environment').split('=');
  const ports = { HTTP_PORT: '0', PROXY: 'embedded', PROXY_PORT: '0', SFTP_PORT: '0', PROXY_HOST: '127.0.0.1' };
  const service = spawn(program, args, {
    cwd: valueOf(unit, 'WorkingDirectory'),
    env: { ...COMPILE_CACHE, DATA_DIR: dataDir, ENGINE: 'process', ...ports },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => service.kill('SIGKILL'));
  for await (const line of createInterface(service.stdout)) {
    const { msg, http } = line.startsWith('{') ? (JSON.parse(line) as { msg: string; http: number }) : {};
    if (msg !== 'ready') continue;
    t.is((await fetch(`http://127.0.0.1:${http}/healthz`)).status, 200);
    return;
  }
  t.fail('the service ended before it was ready');
});

import { execFile } from 'node:child_process';
import { chmod, link, lstat, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { openBubblewrap } from '../../src/engines/process/bubblewrap.ts';
import { mappedUid } from '../../src/engines/process/game-user.ts';
import { openConfinement } from '../../src/engines/process/confined.ts';
import { handOver } from '../../src/jail/hand-over.ts';
import { isHere } from '../support/needs.ts';
import { writeProgram } from '../support/write-program.ts';

const run = promisify(execFile);
const log = pino({ level: 'silent' });
const isRoot = process.getuid?.() === 0;
const withoutBubblewrap = () => Promise.reject(new Error('no such program'));

async function dataDirectory(t: ExecutionContext): Promise<{ above: string; dataDir: string }> {
  const above = await mkdtemp(join(tmpdir(), 'dormouse-confined-'));
  t.teardown(() => rm(above, { recursive: true }));
  const dataDir = join(above, 'data');
  await mkdir(join(dataDir, 'servers/alpha'), { recursive: true, mode: 0o750 });
  for (const name of ['secret.key', 'dormouse.db']) await writeFile(join(dataDir, name), 'secret', { mode: 0o644 });
  return { above, dataDir };
}

const around = (dataDir: string, trustTenants = false) => ({ dataDir, trustTenants, installation: 7, log });

test('without bubblewrap, root runs games as a user that can access only their own folders', async (t) => {
  if (!isRoot) {
    t.pass('only root may change users');
    return;
  }
  const { above, dataDir } = await dataDirectory(t);
  await chmod(above, 0o755);
  const { confinement, trusted } = await openConfinement(
    { ...around(dataDir), programs: ['/usr/bin/env', '/etc/passwd'] },
    withoutBubblewrap,
  );
  t.is(trusted, 'operators');
  const { user } = confinement;
  t.true(user!.uid > 65_536);
  await handOver(join(dataDir, 'servers/alpha'), user!);
  const asGame = (...command: string[]) => {
    const { uid, gid } = user!;
    return run(command[0]!, command.slice(1), { uid, gid }).then(
      () => true,
      () => false,
    );
  };
  t.true(await asGame('touch', join(dataDir, 'servers/alpha/level.dat')));
  for (const name of ['secret.key', 'dormouse.db']) t.false(await asGame('cat', join(dataDir, name)), name);
  t.false(await asGame('ls', dataDir));
  t.false(await asGame('ls', join(dataDir, 'servers')));
});

test('a folder that blocks the games’ user is named in the log and in the refusal, with a command that opens it', async (t) => {
  if (!isRoot) {
    t.pass('only root may change users');
    return;
  }
  const { above, dataDir } = await dataDirectory(t);
  await chmod(above, 0o700);
  const warnings: string[] = [];
  const heard = pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line).msg) });
  const open = (trust: boolean) =>
    openConfinement({ ...around(dataDir, trust), programs: [], log: heard }, withoutBubblewrap);
  const { confinement, trusted } = await open(false);
  t.deepEqual(confinement, {});
  const refusal = `Games run as root here, because their own user cannot enter ${above}, so only sandbox servers are offered. Install bubblewrap, or run "chmod o+x ${above}", then restart Dormouse.`;
  t.deepEqual(trusted, { refusal });
  t.deepEqual(warnings, [refusal]);
  t.deepEqual(await open(true), { confinement: {}, trusted: 'everybody' });
  await chmod(above, 0o701);
  t.is((await open(false)).trusted, 'operators');
});

test('root of a user namespace without other users runs only sandbox servers, and says why', async (t) => {
  t.is(mappedUid('         0          0 4294967295\n', 0x7000_0001), 0x7000_0001);
  t.is(mappedUid('', 0x7000_0001), 0x7000_0001);
  t.is(mappedUid('0 100000 65536\n', 0x7000_0001), 65_534);
  t.is(mappedUid('0 1000 1\n1 100000 1\n', 0x7000_0001), 1);
  t.is(mappedUid('0 1000 1\n', 0x7000_0001), undefined);
  if (!isRoot) return;
  const { dataDir } = await dataDirectory(t);
  const { confinement, trusted } = await openConfinement(
    { ...around(dataDir, false), programs: [], log },
    async () => Promise.reject(new Error('must not be used: its programs would keep the capabilities of root')),
    async () => undefined,
  );
  t.deepEqual(confinement, {});
  t.regex((trusted as { refusal: string }).refusal, /^Games run as root here, because .* maps no other user, so only /);
});

test('handing over a folder changes the owner of its contents once, and never of linked files outside', async (t) => {
  if (!isRoot) {
    t.pass('only root may give files away');
    return;
  }
  const { above, dataDir } = await dataDirectory(t);
  const root = join(dataDir, 'servers/alpha');
  await mkdir(join(root, 'world/region'), { recursive: true });
  await writeFile(join(root, 'world/region/r.0.0.mca'), 'x');
  await writeFile(join(above, 'elsewhere'), 'x');
  await symlink(join(above, 'elsewhere'), join(root, 'world/link'));
  await link(join(dataDir, 'secret.key'), join(root, 'second-name'));
  const uids = async (...names: string[]) =>
    Promise.all(names.map(async (name) => (await lstat(join(root, name))).uid));
  await handOver(root, { uid: 70_001, gid: 70_001 });
  t.deepEqual(await uids('', 'world', 'world/region/r.0.0.mca', 'world/link'), [70_001, 70_001, 70_001, 70_001]);
  t.is((await stat(join(above, 'elsewhere'))).uid, 0);
  t.is((await stat(join(dataDir, 'secret.key'))).uid, 0);
  await writeFile(join(root, 'later'), 'x');
  await handOver(root, { uid: 70_001, gid: 70_001 });
  t.deepEqual(await uids('later'), [0]);
});

test('a bubblewrap that cannot forbid user namespaces still confines games, with a warning', async (t) => {
  const { above } = await dataDirectory(t);
  const script = '#!/bin/sh\ncase "$*" in *--disable-userns*) echo "Unknown option" >&2; exit 1;; esac\n';
  writeProgram(join(above, 'bwrap'), script);
  const module = new URL('../../src/engines/process/bubblewrap.ts', import.meta.url).href;
  const program = `
    const { openBubblewrap } = await import(${JSON.stringify(module)});
    const { wrap } = await openBubblewrap(undefined, { warn: ({ err }, text) => console.log(err.code, text) });
    const { file, args } = await wrap({ file: '/bin/true', args: [] }, { home: '/usr', readable: [], writable: [] });
    console.log(file, args.includes('--unshare-pid'), args.includes('--unshare-user'));`;
  const env = { ...process.env, PATH: `${above}:${process.env['PATH']}` };
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { env });
  t.deepEqual(stdout.trimEnd().split('\n'), [
    '1 games can create user namespaces of their own: install bubblewrap 0.8 or newer to prevent it',
    'bwrap true false',
  ]);
});

test.runIf(isHere('bubblewrap'))(
  'a confined program has no capabilities and cannot create a user namespace, even if root starts it',
  async (t) => {
    const user = isRoot ? { uid: 70_000, gid: 70_000 } : undefined;
    const bubblewrap = await openBubblewrap(user, log);
    const script = 'grep -c "^Cap.*:.*[1-9a-f]" /proc/self/status; unshare --user true 2>/dev/null && echo again';
    const view = { home: '/usr', readable: [], writable: [] };
    const { file, args } = await bubblewrap.wrap({ file: '/bin/sh', args: ['-c', `${script}; true`] }, view);
    const { stdout } = await run(file, args);
    t.is(stdout, '0\n');
  },
);

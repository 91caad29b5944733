import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { isHere } from '../support/needs.ts';
import { type Cage, EVERY, cageIn, names, read, refused, write } from './cage.ts';
import { swappedUnderCalls } from './swap-race.ts';

const run = promisify(execFile);

/**
 * Mounts one folder twice: for the service, and for a node that runs the games. Uses bind mounts, because the kernels
 * that run these tests lack NFS.
 */
async function shared(t: ExecutionContext): Promise<Cage & { there: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'dormouse-shared-'));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const [storage, service, node] = ['storage', 'service', 'node'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const dir of [storage, service, node]) mkdirSync(dir);
  for (const dir of [service, node]) {
    await run('mount', ['--bind', storage, dir]);
    t.teardown(async () => void (await run('umount', ['--lazy', dir])));
  }
  return { ...(await cageIn(t, service)), there: join(node, 'root') };
}

test.runIf(isHere('swarm'))(
  'swapping a directory from a node’s mount during calls does not escape the jail',
  async (t) => {
    const it = await shared(t);
    if (it) await swappedUnderCalls(t, it, { seen: it.there, calls: 2_000 });
  },
);

test.runIf(isHere('swarm'))(
  'links created through a node’s mount are not followed, and both mounts see the same whole files',
  async (t) => {
    const it = await shared(t);
    const { jail, outside, there, put } = it;
    put('there', 'x');
    const targets = { dir: outside, up: '..', root: '/', same: there };
    for (const [name, target] of Object.entries(targets)) symlinkSync(target, join(there, name));
    const reasons = ['PATH_IS_LINK', 'NOT_A_DIRECTORY', 'PATH_EXISTS', 'PATH_NOT_FOUND', 'NOT_A_FILE'];
    for (const [name, work] of Object.entries(EVERY))
      for (const link of Object.keys(targets))
        await refused(t, () => work(jail, `${link}/secret`), reasons, `${name} ${link}/secret`);
    t.deepEqual(readdirSync(outside), ['secret']);

    mkdirSync(join(there, 'world'));
    await write(jail, 'world/level.dat', 'from here');
    t.is(readFileSync(join(there, 'world/level.dat'), 'utf8'), 'from here');
    writeFileSync(join(there, 'world/level.dat'), 'from there');
    t.is(await read(jail, 'world/level.dat'), 'from there');
    await jail.rename('world', 'old');
    t.deepEqual(await names(jail, 'old'), ['level.dat']);
    await jail.copy('old', 'new');
    await jail.remove('old');
    t.false(existsSync(join(there, 'old')));
    t.is(readFileSync(join(there, 'new/level.dat'), 'utf8'), 'from there');
  },
);

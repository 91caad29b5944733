import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { childFolder, drainChild, livingChild, noteChild } from '../../../src/joining/link/child-process.ts';
import { processOf } from '../../../src/kernel/process-identity.ts';

/** A data folder, and a function that writes its process file. */
async function folder(t: ExecutionContext) {
  const dataDir = await mkdtemp(join(tmpdir(), 'dormouse-child-'));
  t.teardown(() => rm(dataDir, { recursive: true }));
  await mkdir(childFolder(dataDir));
  const write = (text: string) => writeFile(join(childFolder(dataDir), 'proxy.json'), text);
  return { dataDir, write };
}

async function living(t: ExecutionContext) {
  const child = spawn('/bin/sleep', ['600'], { stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  return { child, identity: await processOf(child.pid!) };
}

test('the recorded proxy process is found while it runs, and draining sends it SIGTERM', async (t) => {
  const { dataDir } = await folder(t);
  t.is(await livingChild(dataDir), undefined);
  t.false(await drainChild(dataDir));
  const { child, identity } = await living(t);
  await noteChild(dataDir, identity);
  t.deepEqual(await livingChild(dataDir), identity);
  const ended = once(child, 'exit');
  t.true(await drainChild(dataDir));
  t.deepEqual(await ended, [null, 'SIGTERM']);
  t.is(await livingChild(dataDir), undefined);
  t.false(await drainChild(dataDir));
});

test('a damaged, truncated or foreign process file matches no process', async (t) => {
  const { dataDir, write } = await folder(t);
  const { child, identity } = await living(t);
  await noteChild(dataDir, identity);
  const whole = await readFile(join(childFolder(dataDir), 'proxy.json'), 'utf8');
  for (let length = 0; length < whole.trimEnd().length; length++) {
    await write(whole.slice(0, length));
    t.is(await livingChild(dataDir), undefined, whole.slice(0, length));
  }
  const damaged = [0, 1, -1, 1.5, 2 ** 60, '1', null, [], {}].map((pid) => JSON.stringify({ ...identity, pid }));
  for (const text of [...damaged, 'null', '[]', '"x"', '\0\0', JSON.stringify({ pid: identity.pid })]) {
    await write(text);
    t.is(await livingChild(dataDir), undefined, text);
    t.false(await drainChild(dataDir), text);
  }
  t.is(child.exitCode ?? child.signalCode, null, 'the process receives no signal');
});

test('a process with the same pid but another start time, boot or host does not match the recorded one', async (t) => {
  const { dataDir } = await folder(t);
  const { child, identity } = await living(t);
  for (const other of [{ startedAt: '1' }, { scope: 'another boot or container' }, { hostname: 'another machine' }]) {
    await noteChild(dataDir, { ...identity, ...other });
    t.is(await livingChild(dataDir), undefined);
    t.false(await drainChild(dataDir));
  }
  t.is(child.signalCode, null);
});

const ofRoot = test.runIf(process.getuid?.() === 0);

ofRoot('a process of another user is never signalled', async (t) => {
  const { dataDir, write } = await folder(t);
  const { identity } = await living(t);
  await write(JSON.stringify(identity));
  await chmod(dataDir, 0o755);
  t.deepEqual(await livingChild(dataDir), identity, 'root finds the process');
  const source = join(import.meta.dirname, '../../../src/joining/link/child-process.ts');
  const script = `
    import { drainChild, livingChild } from ${JSON.stringify(source)};
    process.setuid(65534);
    console.log(await livingChild(${JSON.stringify(dataDir)}), await drainChild(${JSON.stringify(dataDir)}));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  t.deepEqual(await once(child, 'close'), [0, null]);
  t.is(said.trim(), 'undefined false');
});

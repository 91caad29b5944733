import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { listDiagnostics } from '../../../src/servers/diagnostics.ts';
import { type World, world } from '../../support/world.ts';

const EULA = '[10:00:01] [ServerMain/INFO]: You need to agree to the EULA in order to run the server. Go to eula.txt.';
const DONE = '[10:00:09] [Server thread/INFO]: Done (1.234s)! For help, type "help"';
const HUNG = '[10:28:29] [Server Watchdog/FATAL]: Considering it to be crashed, server will forcibly shutdown.';
const FULL = 'java.io.IOException: No space left on device';

async function newest(w: World) {
  const [first] = await listDiagnostics(w.store, 'lobby');
  return first;
}

async function running(w: World): Promise<void> {
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
}

/** Starts a server that fails because of its EULA and comes to rest. */
async function failedOnce(w: World): Promise<void> {
  await w.create('lobby');
  w.games.silent.add('lobby');
  w.engine.script('lobby', { print: [EULA], exitCode: 1 });
  await w.command('lobby', 'START');
  const now = await w.reach('lobby', 'start_failed');
  if (now?.context.startFailure?.code !== 'eula_not_accepted') throw new Error('another failure than was meant');
  w.games.silent.delete('lobby');
}

test('a crash is explained by the output of its own run, not of an earlier one', async (t) => {
  const w = await world(t);
  await failedOnce(w);
  w.engine.script('lobby', { print: ['starting'] });
  await running(w);
  await w.clock.advance(61_000);
  w.engine.print('lobby', HUNG);
  await w.restarts('lobby', () => w.engine.crash('lobby'));
  t.like(await newest(w), { kind: 'crash', code: 'watchdog' });
  await w.killAndRestart();
  w.engine.crash('lobby');
  await w.reach('lobby', 'start_failed');
  t.like(await newest(w), { kind: 'crash', code: 'unknown' }, 'also after a restart of the service');
});

test('a crash is not explained by output from before the game was ready', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.engine.script('lobby', { print: [FULL, DONE] });
  await running(w);
  w.engine.crash('lobby');
  const now = await w.reach('lobby', 'start_failed');
  t.is(now?.context.startFailure?.code, 'unknown');
});

test('a stop typed in an earlier run does not turn the end of a later run into a stop', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  await running(w);
  w.engine.print('lobby', '[12:00:00] [Server thread/INFO]: [Steve: Stopping the server]');
  w.engine.crash('lobby', { code: 0 });
  await w.reach('lobby', 'hibernated');
  await running(w);
  const again = await w.restarts('lobby', () => w.engine.crash('lobby', { code: 0 }));
  t.is(again?.context.cause.id, 'lost');
});

test('a failed install is explained by the output of its own installer', async (t) => {
  const w = await world(t);
  w.engine.script('lobby', { print: [FULL], exitCode: 1 });
  await w.create('lobby', { modpackPlatform: 'modrinth', modpackRef: 'x', modpackVersion: 'y', type: 'fabric' });
  t.is((await w.reach('lobby', 'install_failed'))?.context.installFailure?.code, 'disk_full');
  w.engine.script('lobby', { print: ['[init] [ERROR] Failed to installModrinth modpack'], exitCode: 1 });
  await w.until(async () => (await w.servers.get('lobby'))?.context.wokenAt === null);
  await w.command('lobby', 'RETRY_INSTALL');
  t.is((await w.reach('lobby', 'install_failed'))?.context.installFailure?.code, 'download_failed');
});

test('a start that times out shows its log, and a cause if the log contains one', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.engine.script('lobby', { print: [FULL] });
  await running(w);
  await w.command('lobby', 'STOP');
  await w.reach('lobby', 'hibernated');
  w.games.silent.add('lobby');
  w.engine.script('lobby', { print: ['this is the last line'] });
  await w.command('lobby', 'START');
  const hung = (await w.reach('lobby', 'start_failed', 700_000))?.context.startFailure;
  t.like(hung, { code: 'start_timeout', raw: 'this is the last line' });
  t.like(await newest(w), { kind: 'start', code: 'start_timeout', evidence: 'this is the last line' });
  w.engine.script('lobby', { print: [HUNG] });
  await w.command('lobby', 'START');
  await w.reach('lobby', 'starting');
  const shown = (await w.reach('lobby', 'start_failed', 700_000))?.context.startFailure;
  t.like(shown, { code: 'start_timeout', raw: HUNG });
  t.regex(shown?.summary ?? '', /^Start timed out: .* Its log shows: The game hung: /);
});

test('a hung start times out even if its log cannot be read, and an install timeout shows its log', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.games.silent.add('lobby');
  await w.command('lobby', 'START');
  await w.until(() => w.engine.boots.length === 1);
  const logs = w.engine.logs.bind(w.engine);
  w.engine.logs = () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) });
  const hung = (await w.reach('lobby', 'start_failed', 610_000))?.context.startFailure;
  t.like(hung, { code: 'start_timeout', raw: '' });
  w.engine.logs = logs;

  // With an empty script the installer runs until it is ended.
  w.engine.script('pack', { print: ['[init] Resolving'] });
  await w.create('pack', { modpackPlatform: 'modrinth', modpackRef: 'x', modpackVersion: 'y', type: 'fabric' });
  const stuck = (await w.reach('pack', 'install_failed', 2_000_000))?.context.installFailure;
  t.like(stuck, { code: 'install_timeout', raw: '[init] Resolving' });
});

test('a crash report of the current run is read; one of an earlier run, or a symlink, is not', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  await running(w);
  const folder = join(w.dataDir, 'servers/lobby/crash-reports');
  await mkdir(folder);
  const write = async (name: string, seconds: number, ...lines: string[]) => {
    await writeFile(join(folder, name), lines.join('\n'));
    const at = w.clock.now() / 1_000 + seconds;
    await utimes(join(folder, name), at, at);
  };
  await write('crash-old.txt', -3_600, 'java.lang.OutOfMemoryError: Java heap space');
  await writeFile(join(w.dataDir, 'elsewhere'), FULL);
  await symlink(join(w.dataDir, 'elsewhere'), join(folder, 'link.txt'));
  w.engine.crash('lobby');
  t.is((await w.reach('lobby', 'start_failed'))?.context.startFailure?.code, 'unknown');
  await running(w);
  const details = ['-- System Details --', 'java.lang.OutOfMemoryError: Java heap space'];
  await write('crash-new.txt', 1, '---- Minecraft Crash Report ----', 'Description: Watching Server', ...details);
  w.engine.crash('lobby');
  const failure = (await w.reach('lobby', 'start_failed'))?.context.startFailure;
  t.is(failure?.code, 'watchdog');
  t.regex(failure?.raw ?? '', /Description: Watching Server/);
  t.regex(await newest(w).then((row) => row?.evidence ?? ''), /Watching Server/);
});

test('a failed start is explained by the crash report of the game', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.games.silent.add('lobby');
  w.engine.script('lobby', { print: ['starting'] });
  await w.command('lobby', 'START');
  await w.until(() => w.engine.boots.length === 1);
  const folder = join(w.dataDir, 'servers/lobby/crash-reports');
  await mkdir(folder);
  await writeFile(join(folder, 'crash.txt'), FULL);
  w.engine.crash('lobby');
  t.is((await w.reach('lobby', 'start_failed'))?.context.startFailure?.code, 'disk_full');
});

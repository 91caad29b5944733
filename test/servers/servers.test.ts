import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { stopText } from '../../src/servers/stopping.ts';
import type { Cause } from '../../machines/server-types.ts';
import { KEY, STEVE, world } from '../support/world.ts';
import { codeOf, running } from './servers-parts.ts';

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

test('a start prepares the data root, boots once, and records its cause', async (t) => {
  const w = await world(t);
  await w.create('lobby', { motd: 'hello' });
  t.is((await w.command('lobby', 'START')).state, 'starting');
  const now = await w.reach('lobby', 'running');
  t.deepEqual(w.engine.boots, ['lobby']);
  t.deepEqual(now?.context.address, { host: 'lobby.game', port: 25_565 });
  t.deepEqual(now?.context.cause, KEY);
  await w.until(async () => (await w.servers.get('lobby'))?.row.coldStartsMs.length === 1);
  t.regex(await readFile(join(w.dataDir, 'servers/lobby/server.properties'), 'utf8'), /^motd=hello$/m);
  const view = await w.servers.inspect('lobby');
  t.deepEqual(
    view?.transitions.map(({ from, to, event }) => [from, to, event]),
    [
      ['starting', 'running', 'xstate.done.actor.boot'],
      ['hibernated', 'starting', 'START'],
    ],
  );
  t.deepEqual(JSON.parse(view?.transitions[1]?.cause ?? ''), KEY);
  t.deepEqual(view?.allowedEvents, ['START', 'STOP', 'RESTART', 'KILL', 'JOIN', 'KEEP_AWAKE', 'DELETE']);
});

test('a server remembers the durations of its last ten cold starts', async (t) => {
  const w = await world(t);
  await w.create('lobby', { coldStartsMs: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] });
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  const remembered = async () => (await w.servers.get('lobby'))?.row.coldStartsMs ?? [];
  await w.until(async () => (await remembered())[0] === 2);
  t.deepEqual((await remembered()).slice(0, 9), [2, 3, 4, 5, 6, 7, 8, 9, 10]);
  t.is((await remembered()).length, 10);
});

test('a start that downloads software does not count as a cold start', async (t) => {
  const w = await world(t);
  await w.create('lobby', { coldStartsMs: [1_000] });
  const { boot } = w.engine;
  w.engine.boot = (spec, signal, progress) => {
    progress?.({ phase: 'downloading', percent: 40, javaMajor: 25 });
    return boot(spec, signal);
  };
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  w.engine.boot = boot;
  for (const [command, state] of [
    ['STOP', 'hibernated'],
    ['START', 'running'],
  ] as const) {
    await w.command('lobby', command);
    await w.reach('lobby', state);
  }
  const remembered = async () => (await w.servers.get('lobby'))?.row.coldStartsMs ?? [];
  await w.until(async () => (await remembered()).length > 1);
  t.is((await remembered()).length, 2, 'one before, and the second start');
});

test('fifty joins of a sleeping server trigger one start', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  const joins = await Promise.all(Array.from({ length: 50 }, () => w.command('lobby', 'JOIN', STEVE)));
  t.true(joins.every(({ state }) => state === 'starting'));
  await w.reach('lobby', 'running');
  t.deepEqual(w.engine.boots, ['lobby']);
});

test('a command that the current state does not allow is refused with the reason', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  t.is(codeOf(await t.throwsAsync(w.command('lobby', 'RESTART'))), 'FAILED_PRECONDITION SERVER_HIBERNATED');
  t.is(codeOf(await t.throwsAsync(w.command('nobody', 'START'))), 'NOT_FOUND SERVER_NOT_FOUND');
  t.is((await w.command('lobby', 'STOP')).state, 'hibernated');
});

test('an exit that the engine does not report is noticed within a minute', async (t) => {
  const w = await world(t, { watch: () => () => {} });
  await running(w, 'lobby');
  await w.clock.advance(61_000);
  w.engine.crash('lobby');
  await w.clock.advance(61_000);
  await w.until(() => w.engine.boots.length === 2);
  t.is((await w.reach('lobby', 'running'))?.context.cause.id, 'crash');
});

test('a stop saves the world over the console first; a kill does not wait', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  await w.command('lobby', 'STOP');
  await w.reach('lobby', 'hibernated');
  t.deepEqual(w.games.commands, ['lobby: save-all flush', 'lobby: stop']);

  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  await w.command('lobby', 'KILL');
  await w.reach('lobby', 'hibernated');
  t.is(w.games.commands.length, 2);
  t.deepEqual(await w.engine.list(), []);
});

test('players inside are kicked with the reason for a stop, restart, restore or deletion', async (t) => {
  const w = await world(t);
  const wakes = async () => {
    await w.command('lobby', 'START');
    await w.reach('lobby', 'running');
    w.games.names.set('lobby', ['Steve', 'Alex']);
    w.presence.changed('lobby', { inside: 2, knocking: 0 });
    w.games.commands.length = 0;
  };
  const read = () => w.games.commands.filter((command) => command.startsWith('lobby: kick '));
  const kicks = (text: string) => ['Steve', 'Alex'].map((name) => `lobby: kick ${name} ${text}`);
  const system = (id: string): Cause => ({ kind: 'system', id, note: '' });
  await w.create('lobby');
  const stops: [Cause, string][] = [
    [KEY, 'lobby was stopped by its owner. Join again to wake it.'],
    [system('funds'), 'This server is out of credit. Ask its owner.'],
    [system('spend_cap'), 'This server has reached its spend cap for this month. Ask its owner.'],
    [system('quota'), "This server's disk is full. Ask its owner."],
    [system('shutdown'), 'The host is shutting down. Join again later.'],
    [{ kind: 'operator', id: 'usr_host', note: 'suspended: spam' }, 'The host has stopped lobby. Ask its owner.'],
  ];
  for (const [cause, text] of stops) {
    await wakes();
    await w.command('lobby', 'STOP', cause);
    await w.reach('lobby', 'hibernated');
    t.deepEqual(read(), kicks(text));
    t.is(w.games.commands.at(-1), 'lobby: stop', 'the game is still stopped');
  }
  await wakes();
  const job = { id: 'job', kind: 'backup.restore', target: 'bak_none' } as const;
  await w.servers.send('lobby', { type: 'MAINTAIN', at: w.clock.now(), cause: KEY, job });
  await w.until(() => w.games.commands.includes('lobby: stop'));
  t.deepEqual(read(), kicks('A backup of lobby is being restored. Join again in a few minutes.'));
  const running = await w.reach('lobby', 'running');
  for (const kind of ['world.delete', 'world.reset'] as const) {
    const now = { ...running!, context: { ...running!.context, job: { ...job, kind } } };
    t.is(stopText(now), 'A world of lobby is being removed. Join again in a few minutes.');
  }
  await wakes();
  await w.command('lobby', 'RESTART');
  await w.until(() => w.games.commands.includes('lobby: stop'));
  t.deepEqual(read(), kicks('lobby restarts. Join again in a moment.'));
  await w.reach('lobby', 'running');
  await wakes();
  await w.command('lobby', 'DELETE');
  await w.reach('lobby', 'gone');
  t.deepEqual(read(), kicks('This server was deleted.'));
});

test('a game that ignores a stop is killed in the end, and a KILL ends it sooner', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.engine.script('lobby', { ignoreStop: true });
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  w.games.silent.add('lobby');
  await w.command('lobby', 'STOP');
  await w.clock.advance(20_000);
  t.is((await w.servers.get('lobby'))?.state, 'stopping');
  await w.command('lobby', 'KILL');
  await w.reach('lobby', 'hibernated', 5_000);
  w.games.silent.clear();
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  w.games.silent.add('lobby');
  await w.command('lobby', 'STOP');
  await w.reach('lobby', 'hibernated', 180_000);
});

test('a join while the server stops is queued and wakes it afterwards', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  await w.command('lobby', 'STOP');
  t.is((await w.command('lobby', 'JOIN', STEVE)).state, 'stopping');
  const now = await w.reach('lobby', 'running');
  t.deepEqual(now?.context.cause, STEVE);
  t.deepEqual(w.engine.boots, ['lobby', 'lobby']);
});

test('a game that exits while starting leaves a failure with its cause, and is not restarted', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.engine.script('lobby', { print: ['java.lang.OutOfMemoryError: Java heap space'], exitCode: 1 });
  await w.command('lobby', 'START');
  const now = await w.reach('lobby', 'start_failed');
  t.is(now?.context.startFailure?.code, 'out_of_memory');
  t.true((now?.context.startFailure?.suggestion.length ?? 0) > 0);
  await w.clock.advance(3_600_000);
  t.deepEqual(w.engine.boots, ['lobby'], 'a failed start is not repeated');
  w.engine.script('lobby', {});
  await w.command('lobby', 'START');
  const healed = await w.reach('lobby', 'running');
  t.is(healed?.context.startFailure, null);
});

test('a game that never becomes ready times out and is ended', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.games.silent.add('lobby');
  await w.command('lobby', 'START');
  const now = await w.reach('lobby', 'start_failed', 700_000);
  t.is(now?.context.startFailure?.code, 'start_timeout');
  await w.clock.advance(5_000);
  t.deepEqual(await w.engine.list(), []);
});

test('a chat line that imitates the Done line does not make a server ready; the real one does', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.games.silent.add('lobby');
  await w.command('lobby', 'START');
  await w.until(() => w.engine.boots.length === 1);
  w.engine.print('lobby', '[12:00:00] [Server thread/INFO]: <Eve> Done (1.0s)! For help, type "help"');
  await w.clock.advance(5_000);
  t.is((await w.servers.get('lobby'))?.state, 'starting');
  w.engine.print('lobby', '[12:00:01] [Server thread/INFO]: Done (1.234s)! For help, type "help"');
  await w.reach('lobby', 'running', 5_000);
});

test('a crash after a good run triggers a restart; a crash right after the start does not', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  await w.clock.advance(61_000);
  await w.restarts('lobby', () => w.engine.crash('lobby'));
  t.deepEqual(w.engine.boots, ['lobby', 'lobby']);
  await w.clock.advance(10_000);
  w.engine.crash('lobby');
  const now = await w.reach('lobby', 'start_failed');
  t.truthy(now?.context.startFailure);
  t.is(w.engine.boots.length, 2);
});

for (const [skew, skewMs] of [
  ['two hours behind', -2 * 60 * 60_000],
  ['half a minute behind', -30_000],
  ['two hours ahead', 2 * 60 * 60_000],
] as const)
  for (const isSeen of [true, false])
    test(`a crash after a good run triggers a restart when the node’s clock is ${skew}${isSeen ? '' : ', noticed late too'}`, async (t) => {
      const w = await world(t);
      await running(w, 'lobby');
      const inspect = w.engine.inspect.bind(w.engine);
      w.engine.inspect = async (id) => {
        const game = await inspect(id);
        const { exit = null } = game ?? {};
        return game && exit ? { ...game, exit: { ...exit, at: exit.at! + skewMs } } : game;
      };
      await w.clock.advance(isSeen ? 80_000 : 300_000);
      await w.restarts('lobby', () => {
        if (!isSeen) w.engine.away();
        w.engine.crash('lobby', { code: 1 });
        if (!isSeen) w.engine.back();
      });
      t.deepEqual(w.engine.boots, ['lobby', 'lobby']);
    });

test('a stop typed in the game hibernates the server; a clean exit without one triggers a restart', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  await w.clock.advance(61_000);
  w.engine.print('lobby', '[12:00:00] [Server thread/INFO]: [Steve: Stopping the server]');
  w.engine.crash('lobby', { code: 0 });
  await w.reach('lobby', 'hibernated');
  t.is(w.engine.boots.length, 1);
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  w.engine.print(
    'lobby',
    '[12:00:00] [Server thread/INFO]: <Eve> Stopping the server',
    ...Array<string>(200).fill('x'),
  );
  w.engine.crash('lobby', { code: 0 });
  await w.until(() => w.engine.boots.length === 3);
  await w.reach('lobby', 'running');
});

test('a game that keeps exiting cleanly is restarted twice; a game that its engine loses is restarted every time', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  for (let ends = 0; ends < 3; ends++) {
    await w.restarts('lobby', () => {
      w.engine.away();
      w.engine.crash('lobby', { code: 0 });
      w.engine.back();
    });
  }
  for (let ends = 0; ends < 2; ends++) await w.restarts('lobby', () => w.engine.crash('lobby', { code: 0 }));
  w.engine.crash('lobby', { code: 0 });
  const now = await w.reach('lobby', 'start_failed');
  t.is(now?.context.startFailure?.code, 'crash_loop');
  t.is(w.engine.boots.length, 6);
});

test('an empty server hibernates after its idle time; a server with players stays awake', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  w.games.players.set('lobby', 1);
  await w.clock.advance(3_600_000);
  t.is((await w.servers.get('lobby'))?.state, 'running');
  w.games.players.set('lobby', 0);
  await w.clock.advance(590_000);
  t.is((await w.servers.get('lobby'))?.state, 'running');
  await w.reach('lobby', 'hibernated', 60_000);
  const view = await w.servers.inspect('lobby');
  t.true(view?.transitions.some(({ to, cause }) => to === 'stopping' && cause.includes('"idle"')));
});

test('a server that never sleeps stays awake, and one with awake hours sleeps after them', async (t) => {
  const w = await world(t);
  const hour = new Date(w.clock.now()).getUTCHours();
  for (const id of ['lobby', 'hours']) await w.create(id);
  await w.servers.patch('lobby', { idleTimeoutMinutes: -1 });
  await w.servers.patch('hours', { awakeHours: `${hour}-${(hour + 2) % 24}` });
  for (const id of ['lobby', 'hours']) {
    await w.command(id, 'JOIN', STEVE);
    await w.reach(id, 'running');
  }
  await w.clock.advance(3_600_000);
  t.is((await w.servers.get('hours'))?.state, 'running');
  t.like(await w.servers.get('lobby'), { state: 'running' }, 'not even a wake by a player who never joined');
  t.true((await w.servers.get('lobby'))?.context.played, 'the run is charged');
  await w.clock.advance(3_600_000);
  await w.reach('hours', 'hibernated', 60_000);
  t.is((await w.servers.get('lobby'))?.state, 'running');
});

test('a player inside keeps a server awake before the game counts them, and a short visit restarts the idle time', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  w.presence.changed('lobby', { inside: 0, knocking: 1 });
  w.presence.changed('lobby', { inside: 1, knocking: 0 });
  await w.clock.advance(1_200_000);
  t.is((await w.servers.get('lobby'))?.state, 'running', 'a player may be in the configuration phase');
  w.presence.changed('lobby', { inside: 0, knocking: 0 });
  await w.clock.advance(580_000);
  w.presence.changed('lobby', { inside: 1, knocking: 0 });
  await w.clock.advance(3_000);
  w.presence.changed('lobby', { inside: 0, knocking: 0 });
  await w.clock.advance(580_000);
  t.is((await w.servers.get('lobby'))?.state, 'running', 'the visit restarted the idle time');
  await w.reach('lobby', 'hibernated', 60_000);
  await running(w, 'other');
  t.deepEqual(
    w.presence.of('lobby'),
    { inside: 0, knocking: 0, insideAt: null },
    'presence is reset at the end of a run',
  );
});

test('a wake with a brief visit ends as idle, even if reported late; a wake without one ends as a false wake', async (t) => {
  const w = await world(t);
  const endOf = async (id: string, insideMsAgo: number | undefined) => {
    await w.create(id);
    await w.command(id, 'JOIN', STEVE);
    await w.reach(id, 'running');
    await w.clock.advance(60_000);
    w.presence.changed(id, { inside: 0, knocking: 0, insideMsAgo });
    await w.reach(id, 'hibernated', 900_000);
    const { transitions } = (await w.servers.inspect(id))!;
    return JSON.parse(transitions.find(({ to }) => to === 'stopping')!.cause) as { id: string };
  };
  t.like(await endOf('visited', 2_000), { id: 'idle' });
  t.like(await endOf('woken', undefined), { id: 'false_wake' });
  t.like(await endOf('before', 3_600_000), { id: 'false_wake' }, 'the visit was in another run');
});

test('a server under maintenance shows its job and when it began, even after the service is killed', async (t) => {
  let arrived = 0;
  const latch = Promise.withResolvers<void>();
  const at = async (step: string) => {
    if (step !== 'asked') return;
    arrived += 1;
    await latch.promise;
  };
  const w = await world(t, { room: { at } });
  await w.create('lobby');
  await w.clock.advance(60_000);
  const since = w.clock.now();
  const job = { id: 'job_1', kind: 'world.delete', target: 'old' } as const;
  await w.servers.send('lobby', { type: 'MAINTAIN', at: since, cause: KEY, job });
  await w.until(() => arrived === 1);
  const shown = { state: 'maintaining', since, job: { kind: 'world.delete', target: 'old' } };
  t.like(await w.servers.inspect('lobby'), shown);
  await w.clock.advance(60_000);
  await w.killAndRestart();
  await w.until(() => arrived === 2);
  t.like(await w.servers.inspect('lobby'), shown);
  t.is((await w.servers.get('lobby'))?.state, 'hibernated');
  latch.resolve();
  await w.until(async () => (await w.servers.inspect('lobby'))?.state === 'hibernated');
  const after = await w.servers.inspect('lobby');
  t.is(after?.job, null);
  t.true((after?.since ?? 0) > since, 'asleep since the end of the job');
});

test('a slow start may exceed its time limit while its log advances; a stuck start is ended', async (t) => {
  const w = await world(t);
  for (const id of ['slow', 'stuck', 'endless']) {
    await w.create(id);
    w.games.silent.add(id);
    await w.command(id, 'START');
  }
  await w.until(() => w.engine.boots.length === 3);
  const state = async (id: string) => (await w.servers.get(id))?.state;
  const pass = async (ms: number, ...ids: string[]) => {
    for (const id of ids) w.engine.print(id, '[00:00:01] [Server thread/INFO]: Building caches');
    await w.clock.advance(ms);
  };
  for (let minute = 0; minute < 14; minute++) await pass(60_000, 'slow', 'endless');
  t.deepEqual([await state('slow'), await state('stuck')], ['starting', 'start_failed']);
  await w.killAndRestart();
  await pass(580_000);
  t.is(await state('slow'), 'starting', 'the time limit starts anew with the service');
  w.games.silent.delete('slow');
  await w.reach('slow', 'running');
  for (let minutes = 24; minutes < 260 && (await state('endless')) === 'starting'; minutes += 5)
    await pass(300_000, 'endless');
  t.is(await state('endless'), 'start_failed', 'a start with progress has a limit too');
});

test('the last status is stored without online players, for the time the server sleeps', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  w.games.players.set('lobby', 3);
  await w.clock.advance(20_000);
  await w.until(async () => (await w.servers.get('lobby'))?.row.lastStatus !== '');
  const now = await w.servers.get('lobby');
  t.deepEqual(JSON.parse(now?.row.lastStatus ?? ''), {
    version: { name: '1.21.4', protocol: 769 },
    players: { max: 20, online: 0 },
  });
});

test('a 32 KiB status is stored with its trailing bytes, but without players and description', async (t) => {
  const w = await world(t);
  const forgeData = { d: 'd'.repeat(32_000) };
  const players = { max: 20, online: 1, sample: [{ name: 'Steve', id: '1' }] };
  const raw = JSON.stringify({ players, description: 'Noon', isModded: true, forgeData });
  w.games.status = async () => ({
    playersOnline: 1,
    playersMax: 20,
    versionName: '',
    protocol: 0,
    raw,
    tail: Buffer.from('tail'),
  });
  await running(w, 'lobby');
  await w.clock.advance(20_000);
  await w.until(async () => (await w.servers.get('lobby'))?.row.lastStatus !== '');
  const [json, tail] = (await w.servers.get('lobby'))?.row.lastStatus.split('\n') ?? [];
  t.deepEqual(JSON.parse(json ?? ''), { players: { max: 20, online: 0 }, isModded: true, forgeData });
  t.is(tail, Buffer.from('tail').toString('base64'));
});

test('a server with a modpack is installed before it sleeps; a failed install can be retried', async (t) => {
  const w = await world(t);
  w.engine.script('pack', { print: ['[init] [ERROR] Failed to download the pack'], exitCode: 1 });
  const pack = { modpackPlatform: 'modrinth', modpackRef: 'AANobbMI', modpackVersion: 'abcdefgh', type: 'fabric' };
  t.is((await w.create('pack', pack)).state, 'installing');
  const failed = await w.reach('pack', 'install_failed');
  t.truthy(failed?.context.installFailure?.summary);
  t.is(codeOf(await t.throwsAsync(w.command('pack', 'START'))), 'FAILED_PRECONDITION SERVER_INSTALL_FAILED');
  w.engine.script('pack', { exitCode: 0 });
  await w.command('pack', 'RETRY_INSTALL');
  const installed = await w.reach('pack', 'hibernated');
  t.is(installed?.context.installFailure, null);
});

test('deletion hides the server at once and removes its row, game and files', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  t.true(await exists(join(w.dataDir, 'servers/lobby')));
  await w.command('lobby', 'DELETE');
  t.is(await w.servers.get('lobby'), undefined);
  t.is(codeOf(await t.throwsAsync(w.command('lobby', 'START'))), 'NOT_FOUND SERVER_NOT_FOUND');
  await w.until(async () => (await w.store.query('SELECT id FROM servers')).length === 0);
  t.deepEqual(await w.engine.list(), []);
  t.false(await exists(join(w.dataDir, 'servers/lobby')));
});

test('a hibernated server has no live actor', async (t) => {
  const w = await world(t);
  await running(w, 'lobby');
  t.is(w.servers.live().length, 1);
  await w.command('lobby', 'STOP');
  await w.reach('lobby', 'hibernated');
  await w.until(() => w.servers.live().length === 0);
  t.is((await w.servers.get('lobby'))?.state, 'hibernated');
});

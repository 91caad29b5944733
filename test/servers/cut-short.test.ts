import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { world } from '../support/world.ts';

test('a stop cut short by a forced stop does not end the next game', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  const answer = w.games.run.bind(w.games);
  // The first game accepts `stop` and hangs.
  w.games.run = async (address, password, command) => (command === 'stop' ? '' : answer(address, password, command));
  await w.command('lobby', 'STOP');
  await w.clock.advance(5_000);
  await w.command('lobby', 'KILL');
  await w.reach('lobby', 'hibernated', 5_000);
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  let ends = 0;
  t.teardown(w.engine.watch(({ type }) => void (type === 'down' && (ends += 1))));
  await w.clock.advance(200_000);
  t.is((await w.servers.get('lobby'))?.state, 'running');
  t.is(ends, 0);
  t.is(w.engine.boots.length, 2);
});

test('a forced stop interrupts a stop that waits for the game, at once', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  w.engine.script('lobby', { ignoreStop: true });
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  w.games.silent.add('lobby');
  await w.command('lobby', 'STOP');
  await w.clock.advance(30_000);
  await w.command('lobby', 'KILL');
  t.is((await w.reach('lobby', 'hibernated', 1_000))?.state, 'hibernated');
});

for (const how of ['RESTART', 'STOP and START'])
  test(`a game accepts commands for its whole run after ${how} while its start prepares`, async (t) => {
    const gate = Promise.withResolvers<void>();
    const passwords: string[] = [];
    const renewPassword = async () => {
      const password = `password-${passwords.length + 1}`;
      if (passwords.push(password) === 1) await gate.promise;
      return password;
    };
    const w = await world(t, { renewPassword });
    await w.create('lobby');
    await w.command('lobby', 'START');
    await w.until(() => passwords.length === 1);
    if (how === 'RESTART') await w.command('lobby', 'RESTART');
    else for (const command of ['STOP', 'START'] as const) await w.command('lobby', command);
    for (let second = 0; second < 20; second++) await w.clock.advance(1_000);
    gate.resolve();
    await w.reach('lobby', 'running');
    const properties = await readFile(join(w.dataDir, 'servers/lobby/server.properties'), 'utf8');
    t.regex(properties, new RegExp(`^rcon.password=${passwords.at(-1)}$`, 'm'));
    t.is(w.engine.boots.length, 1);
  });

for (const [when, lateMs] of [
  ['while the forced stop waits for it', 5_000],
  ['after the server is asleep', 150_000],
] as const)
  test(`a forced stop also ends a game that the engine was still creating: the game comes up ${when}`, async (t) => {
    const w = await world(t);
    await w.create('lobby');
    const boot = w.engine.boot.bind(w.engine);
    const gate = Promise.withResolvers<void>();
    let boots = 0;
    // Like an engine with a call in flight: it ignores the signal.
    w.engine.boot = async (spec) => {
      boots += 1;
      await gate.promise;
      return boot(spec, new AbortController().signal);
    };
    await w.command('lobby', 'START');
    await w.until(() => boots === 1);
    await w.command('lobby', 'KILL');
    await w.clock.advance(lateMs);
    gate.resolve();
    await w.until(() => w.engine.boots.length === 1);
    await w.reach('lobby', 'hibernated', 120_000, 1_000);
    for (let second = 0; second < 60 && (await w.engine.inspect('lobby'))?.up; second++) await w.clock.advance(1_000);
    t.not((await w.engine.inspect('lobby'))?.up, true);
    t.is((await w.servers.get('lobby'))?.state, 'hibernated');
    t.is(boots, 1);
  });

test('a start that hangs while it prepares can still be stopped', async (t) => {
  const renewPassword = () => new Promise<string>(() => {});
  const w = await world(t, { renewPassword });
  await w.create('lobby');
  await w.command('lobby', 'START');
  await w.reach('lobby', 'starting');
  await w.clock.advance(1_000);
  await w.command('lobby', 'STOP');
  t.is((await w.reach('lobby', 'hibernated', 115_000, 1_000))?.state, 'hibernated');
});

test('a late engine answer about an ended game does not affect the next game', async (t) => {
  const w = await world(t);
  await w.create('lobby');
  await w.command('lobby', 'START');
  await w.reach('lobby', 'running');
  const inspect = w.engine.inspect.bind(w.engine);
  const gate = Promise.withResolvers<void>();
  let answers = 0;
  w.engine.inspect = async (id) => {
    const game = await inspect(id);
    if (!game?.up && (answers += 1) === 1) await gate.promise;
    return game;
  };
  w.engine.crash('lobby', { code: 1 });
  await w.until(() => answers === 1);
  await w.command('lobby', 'STOP');
  await w.reach('lobby', 'hibernated');
  await w.clock.advance(1_000);
  await w.command('lobby', 'START');
  const readyAt = (await w.reach('lobby', 'running'))?.context.readyAt;
  gate.resolve();
  for (let second = 0; second < 5; second++) await w.passUntil(() => true, 1_000);
  const now = await w.servers.get('lobby');
  t.is(now?.state, 'running');
  t.is(now?.context.readyAt, readyAt);
});

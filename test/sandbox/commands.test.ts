import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { Rcon } from 'rcon-client';
import { joinBot, joinRaw, pingStatus } from '../support/bot.ts';
import { until } from '../support/until.ts';
import { RCON_PASSWORD, type Sandbox, type SandboxOptions, startSandbox } from './spawn.ts';

async function started(t: ExecutionContext, options: SandboxOptions = {}) {
  const sandbox = startSandbox(t, options);
  const { port, rconPort } = await sandbox.ready();
  const console = { host: '127.0.0.1', port: rconPort, password: RCON_PASSWORD, timeout: 120_000 };
  // The server closes connections without a login after ten seconds, and a busy machine may take longer.
  const rcon = await until({ despiteErrors: true }, () => Rcon.connect(console));
  // Without a listener, the library throws its errors.
  rcon.on('error', () => undefined);
  t.teardown(() => rcon.end().catch(() => undefined));
  return { sandbox, port, rconPort, run: (command: string) => rcon.send(command) };
}

function list(sandbox: Sandbox, name: string): Record<string, unknown>[] {
  return JSON.parse(readFileSync(join(sandbox.directory, name), 'utf8')) as Record<string, unknown>[];
}

/** Returns the packets of one reply. The reply to a second, unknown request marks its end. */
async function rawReply(port: number, command: string): Promise<string[]> {
  const packet = (id: number, type: number, body: string) => {
    const bytes = Buffer.alloc(14 + body.length);
    bytes.writeInt32LE(10 + body.length, 0);
    bytes.writeInt32LE(id, 4);
    bytes.writeInt32LE(type, 8);
    bytes.write(body, 12);
    return bytes;
  };
  const socket = connect(port, '127.0.0.1');
  socket.write(Buffer.concat([packet(1, 3, RCON_PASSWORD), packet(2, 2, command), packet(3, 99, '')]));
  const parts: string[] = [];
  let pending = Buffer.alloc(0);
  for await (const chunk of socket) {
    pending = Buffer.concat([pending, chunk as Buffer]);
    while (pending.length >= 4 && pending.length >= pending.readInt32LE(0) + 4) {
      const end = pending.readInt32LE(0) + 4;
      const id = pending.readInt32LE(4);
      if (id === 2) parts.push(pending.toString('utf8', 12, end - 2));
      if (id === 3) return parts;
      pending = pending.subarray(end);
    }
  }
  throw new Error('the connection ended within a reply');
}

test('RCON checks the password, splits long replies into packets and handles many commands', async (t) => {
  const { sandbox, rconPort, run } = await started(t);
  await t.throwsAsync(Rcon.connect({ host: '127.0.0.1', port: rconPort, password: 'wrong' }));
  t.is(await run('list'), 'There are 0 of a max of 20 players online: ');
  t.regex(await run('nonsense'), /^Unknown or incomplete command, see below for error\nnonsense<--\[HERE\]$/);
  t.regex(await run('tps'), /^§6TPS from last 1m, 5m, 15m: §a\d+\.\d, §a\d+\.\d, §a\d+\.\d$/);
  t.regex(await run('mspt'), /^§6Server tick times .*\n§6◴ §a\d+\.\d§7\/§a\d/);
  t.regex(
    await run('tick query'),
    /^The game is running normallyTarget tick rate: 20\.0 per second\.\nAverage time per tick: [\d.]+ms \(Target: 50\.0ms\)Percentiles: P50: /,
  );
  t.is(await run('seed'), 'Seed: [0]');
  t.is(await run('time set noon'), 'Set the time to 6000');
  t.regex(await run('time query daytime'), /^The time is 60\d\d$/);
  t.regex(await run('help'), /\/whitelist \(add\|list\|off\|on\|reload\|remove\)\n/);
  const names = Array.from({ length: 400 }, (_, i) => `Somebody${i}`);
  for (const name of names) await run(`whitelist add ${name}`);
  const packets = await rawReply(rconPort, 'whitelist list');
  t.true(packets.length > 1);
  t.true(packets.every((packet) => packet.length <= 4_096));
  t.is(packets.join(''), `There are 400 whitelisted player(s): ${names.join(', ')}`);
  await sandbox.waitLine(/\[Server thread\/INFO\]: \[Rcon: Added Somebody399 to the whitelist\]$/);
});

test('the console and operators can run commands; other players cannot', async (t) => {
  const { sandbox, port, run } = await started(t);
  const ann = await joinRaw({ port, version: '1.20.4', name: 'Ann' });
  ann.chat('/op Ann');
  t.is(await ann.waitChat(/^Unknown or incomplete/), 'Unknown or incomplete command, see below for error');
  t.is(await run('op Ann'), 'Made Ann a server operator');
  t.is(await run('op ann'), 'Nothing changed. The player already is an operator');
  t.like(list(sandbox, 'ops.json')[0], { name: 'Ann', level: 4, bypassesPlayerLimit: false });
  ann.chat('/setblock ~1 ~ ~ minecraft:oak_log[axis=x]');
  await ann.waitChat(/^Changed the block at 1, 4, 0$/);
  ann.chat('/say over here');
  await ann.waitChat(/^\[Ann\] over here$/);
  sandbox.type('say from the console');
  await ann.waitChat(/^\[Server\] from the console$/);
  sandbox.type('list uuids');
  await sandbox.waitLine(/INFO\]: There are 1 of a max of 20 players online: Ann \([0-9a-f-]{36}\)$/);
  t.is(await run('setblock 1 4 0 oak_log[axis=x]'), 'Could not set the block');
  t.is(await run('setblock 1 400 0 stone'), 'That position is not loaded');
  t.is(await run('setblock 1 4 0 cheese'), "Unknown block type 'cheese'");
  t.is(await run('give Nobody stone'), 'No player was found');
  t.is(await run('deop Ann'), 'Made Ann no longer a server operator');
  sandbox.type('stop');
  t.is(await sandbox.exited, 0);
  t.is(await ann.ended, 'Server closed');
  t.true(sandbox.lines.some((line) => line.endsWith('ThreadedAnvilChunkStorage: All dimensions are saved')));
  t.true(readFileSync(join(sandbox.directory, 'logs/latest.log'), 'utf8').includes('Ann left the game'));
});

test('kicks, bans and pardons take effect on players and addresses', async (t) => {
  const { sandbox, port, run } = await started(t);
  const join = (name: string) => joinRaw({ port, version: '1.20.4', name });
  const ann = await join('Ann');
  t.is(await run('kick Ann be nice'), 'Kicked Ann: be nice');
  t.is(await ann.ended, 'be nice');
  await sandbox.waitLine(/Ann lost connection: be nice$/);
  t.is(await run('kick Ann'), 'No player was found');
  const bob = await join('Bob');
  t.is(await run('ban Bob griefing'), 'Banned Bob: griefing');
  t.is(await bob.ended, 'You are banned from this server');
  t.is(await run('ban bob'), 'Nothing changed. The player is already banned');
  await t.throwsAsync(join('Bob'), { message: /You are banned from this server\.\nReason: griefing$/ });
  t.like(list(sandbox, 'banned-players.json')[0], {
    name: 'Bob',
    source: 'Rcon',
    expires: 'forever',
    reason: 'griefing',
  });
  t.is(await run('banlist'), 'There are 1 ban(s):\nBob was banned by Rcon: griefing');
  t.is(await run('pardon Bob'), 'Unbanned Bob');
  t.is(await run('pardon Bob'), "Nothing changed. The player isn't banned");
  await (await join('Bob')).end();
  const eve = await join('Eve');
  t.is(await run('ban-ip Eve'), 'Banned IP 127.0.0.1: Banned by an operator.\nThis ban affects 1 player(s): Eve');
  t.is(await eve.ended, 'You have been IP banned.');
  await t.throwsAsync(join('Ann'), { message: /Your IP address is banned/ });
  t.is(await run('pardon-ip 127.0.0.1'), 'Unbanned IP 127.0.0.1');
  t.is(await run('banlist'), 'There are no bans');
});

test('operators get the level from OP_PERMISSION_LEVEL, even 0', async (t) => {
  const { sandbox, run } = await started(t, { env: { OP_PERMISSION_LEVEL: '0' } });
  await run('op Ann');
  t.like(list(sandbox, 'ops.json'), [{ name: 'Ann', level: 0 }]);
});

test('edited list files take effect on reload, and bans apply until they expire', async (t) => {
  const { sandbox, port, run } = await started(t, { env: { ENFORCE_WHITELIST: 'TRUE' } });
  const write = (name: string, entries: object[]) =>
    writeFileSync(join(sandbox.directory, name), JSON.stringify(entries));
  const nobody = '00000000-0000-3000-8000-000000000000';
  const ban = { uuid: nobody, created: '2020-01-01 00:00:00 +0000', source: 'Server', reason: 'tired' };
  write('banned-players.json', [
    { ...ban, name: 'Ann', expires: '2020-01-02 00:00:00 +0000' },
    { ...ban, name: 'Bob', expires: '2999-01-02 00:00:00 +0100' },
  ]);
  t.is(await run('whitelist on'), 'Whitelist is now turned on');
  t.is(await run('whitelist on'), 'Whitelist is already turned on');
  t.true(readFileSync(join(sandbox.directory, 'server.properties'), 'utf8').includes('\nwhite-list=true\n'));
  await t.throwsAsync(joinRaw({ port, version: '1.20.4', name: 'Ann' }), {
    message: /You are not white-listed on this server!/,
  });
  write('whitelist.json', [
    { uuid: nobody, name: 'Ann' },
    { uuid: nobody, name: 'Bob' },
  ]);
  t.is(await run('whitelist reload'), 'Reloaded the whitelist');
  const ann = await joinRaw({ port, version: '1.20.4', name: 'Ann' });
  await t.throwsAsync(joinRaw({ port, version: '1.20.4', name: 'Bob' }), {
    message: /tired\nYour ban will be removed on 2999/,
  });
  t.deepEqual(
    list(sandbox, 'banned-players.json').map(({ name }) => name),
    ['Bob'],
  );
  t.is(await run('whitelist remove Ann'), 'Removed Ann from the whitelist');
  t.is(await ann.ended, 'You are not white-listed on this server!');
  writeFileSync(join(sandbox.directory, 'whitelist.json'), '[{');
  t.is(await run('whitelist reload'), 'Reloaded the whitelist');
  await sandbox.waitLine(/WARN\]: Failed to load whitelist\.json/);
  t.is(await run('whitelist list'), 'There are 1 whitelisted player(s): Bob');
});

test('the world is saved soon after a change, not while saving is off, and at once by save-all flush', async (t) => {
  const { sandbox, run } = await started(t);
  const file = join(sandbox.directory, 'world/dormouse-blocks.json.gz');
  const writtenAt = () => statSync(file, { bigint: true }).mtimeNs;
  const before = writtenAt();
  await run('setblock 5 10 5 stone');
  await until(() => writtenAt() !== before);
  t.is(await run('save-off'), 'Automatic saving is now disabled');
  t.is(await run('save-off'), 'Saving is already turned off');
  const off = writtenAt();
  await run('setblock 5 11 5 stone');
  await delay(1_000);
  t.is(writtenAt(), off);
  t.is(await run('save-all flush'), 'Saving the game (this may take a moment!)\nSaved the game');
  t.not(writtenAt(), off);
  t.is(await run('save-on'), 'Automatic saving is now enabled');
  t.true(existsSync(join(sandbox.directory, 'world/level.dat')));
  sandbox.signal('SIGKILL');
  await sandbox.exited;
  const again = await started(t, { directory: sandbox.directory });
  t.is(await again.run('setblock 5 11 5 stone'), 'Could not set the block');
  t.is(await again.run('setblock 5 12 5 stone'), 'Changed the block at 5, 12, 5');
});

test('a world opens in another version, which hides and keeps blocks it does not know', async (t) => {
  const old = await started(t, { version: '1.20.4' });
  await old.run('setblock 1 4 1 oak_log[axis=z]');
  await old.run('setblock 1 -60 1 stone');
  t.is(await old.sandbox.stop(), 0);
  const { directory } = old.sandbox;
  const older = await started(t, { version: '1.16.5', directory });
  await older.sandbox.waitLine(/WARN\]: 1 blocks are unknown to this version/);
  t.is(await older.run('setblock 1 4 1 oak_log[axis=z]'), 'Could not set the block');
  t.is(await older.sandbox.stop(), 0);
  const newer = await started(t, { version: '1.21.11', directory });
  t.is(await newer.run('setblock 1 -60 1 stone'), 'Could not set the block');
});

test('a full server refuses joins, a second login replaces the first, and long chat and spam get a kick', async (t) => {
  const { port, run } = await started(t, { env: { MAX_PLAYERS: '2', HIDE_ONLINE_PLAYERS: 'true' } });
  const ann = await joinRaw({ port, version: '1.20.4', name: 'Ann' });
  const bob = await joinRaw({ port, version: '1.20.4', name: 'Bob' });
  await t.throwsAsync(joinRaw({ port, version: '1.20.4', name: 'Eve' }), { message: /The server is full!/ });
  const again = await joinRaw({ port, version: '1.20.4', name: 'Ann' });
  t.is(await ann.ended, 'You logged in from another location');
  t.is(await run('list'), 'There are 2 of a max of 2 players online: Bob, Ann');
  t.deepEqual((await pingStatus({ port })).players, { max: 2, online: 2, sample: [] });
  again.client.write('chat_message', {
    message: 'x'.repeat(257),
    timestamp: 0n,
    salt: 0n,
    offset: 0,
    acknowledged: Buffer.alloc(3),
  });
  t.is(await again.ended, 'Illegal characters in chat');
  for (let i = 0; i < 15; i++) bob.chat(`spam ${i}`);
  t.is(await bob.ended, 'Kicked for spamming');
  await t.throwsAsync(joinRaw({ port, version: '1.20.1', name: 'Old' }), { message: /1\.20\.4/ });
});

test('a survival player keeps dug blocks across a restart', async (t) => {
  const { sandbox, port } = await started(t, { version: '1.19.4' });
  const ann = await joinBot({ port, version: '1.19.4', name: 'Ann' });
  await ann.dig({ x: 1, y: 3, z: 1 });
  await ann.dig({ x: 1, y: 2, z: 1 });
  await ann.end();
  await sandbox.waitLine(/Ann left the game/);
  t.is(await sandbox.stop(), 0);
  const again = await started(t, { version: '1.19.4', directory: sandbox.directory });
  const back = await joinBot({ port: again.port, version: '1.19.4', name: 'Ann' });
  t.deepEqual(
    back.bot.inventory.items().map(({ name, count }) => [name, count]),
    [
      ['grass_block', 1],
      ['dirt', 1],
    ],
  );
  const emptied = once(back.bot.inventory, 'updateSlot:37');
  await back.placeBlock({ x: 2, y: 4, z: 1 }, 'dirt');
  await emptied;
  t.is(await back.blockAt({ x: 2, y: 4, z: 1 }), 'dirt');
  t.deepEqual(
    back.bot.inventory.items().map(({ name }) => name),
    ['grass_block'],
  );
});

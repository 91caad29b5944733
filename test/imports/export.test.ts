import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import { MOST_PAUSED_MS, README } from '../../src/imports/export.ts';
import { MIB } from '../../src/kernel/units.ts';
import { api } from '../support/api-harness.ts';
import { SERVER_FILES, tarOf } from '../support/server-archive.ts';

test('an export of a sleeping server imports again as the same core, version, memory and worlds', async (t) => {
  const it = await api(t);
  const first = await it.call('POST', '/v1/imports?name=Castle.tar', { raw: tarOf(SERVER_FILES) });
  await it.ok('POST', `/v1/imports/${String(first.json['id'])}:confirm`, { ramMb: 2048 });
  const root = join(it.dataDir, 'servers/castle');
  writeFileSync(join(root, 'server.properties'), 'level-name=lobby\nrcon.password=hunter2\nmotd=Hello\n');
  writeFileSync(join(root, README), 'of an earlier export');
  mkdirSync(join(root, 'lobby_nether'));
  writeFileSync(join(root, 'lobby_nether/level.dat'), 'level');
  const headers = { 'x-api-key': it.key };
  const answer = await fetch(`${it.origin}/v1/servers/castle/export`, { headers });
  t.is(answer.status, 200);
  t.regex(answer.headers.get('content-disposition') ?? '', /castle\.zip/);
  const zip = Buffer.from(await answer.arrayBuffer());
  const again = await it.call('POST', '/v1/imports?name=Again.zip', { raw: zip });
  t.like(again.json, { type: 'paper', version: '1.21.8', ramMb: 2_048, motd: 'Hello' }, again.text);
  t.deepEqual(again.json['worlds'], [{ name: 'lobby', active: true, folders: ['lobby', 'lobby_nether'] }]);
  await it.ok('POST', `/v1/imports/${String(again.json['id'])}:confirm`, {});
  const copy = (path: string) => readFileSync(join(it.dataDir, 'servers/again', path), 'utf8');
  t.is(copy('plugins/Vault-1.7.jar'), 'jar');
  t.notRegex(copy('server.properties'), /hunter2/);
});

test('an export of an unknown server, or without the scope, is refused', async (t) => {
  const it = await api(t);
  t.is((await it.call('GET', '/v1/servers/nobody/export')).status, 404);
  await it.create('castle');
  const { key } = await it.mint(['servers:write']);
  t.is((await it.call('GET', '/v1/servers/castle/export', { key })).status, 403);
});

test('an export of a running game pauses saving until the download has ended', async (t) => {
  const it = await api(t);
  await it.create('castle');
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  const answer = await it.during(fetch(`${it.origin}/v1/servers/castle/export`, { headers: { 'x-api-key': it.key } }));
  t.is(answer.status, 200);
  await it.during(answer.arrayBuffer());
  await it.during(it.until(() => it.games.commands.length === 3));
  t.deepEqual(it.games.commands, ['castle: save-off', 'castle: save-all flush', 'castle: save-on']);
});

test('an export that is not read for ten minutes breaks off, and the running game saves again', async (t) => {
  const it = await api(t);
  await it.create('castle');
  await it.ok('POST', '/v1/servers/castle:setProperties', { idleTimeoutMinutes: -1 });
  // More than a connection buffers.
  mkdirSync(join(it.dataDir, 'servers/castle'), { recursive: true });
  writeFileSync(join(it.dataDir, 'servers/castle/map.bin'), randomBytes(32 * MIB));
  await it.command('castle', 'START');
  await it.reach('castle', 'running');
  const asked = request(`${it.origin}/v1/servers/castle/export`, { headers: { 'x-api-key': it.key } }).end();
  const [answer] = (await it.during(once(asked, 'response'))) as [IncomingMessage];
  const broken = once(answer, 'error');
  await it.clock.advance(MOST_PAUSED_MS - 1_000);
  t.false(it.games.commands.includes('castle: save-on'));
  await it.clock.advance(1_000);
  await it.during(it.until(() => it.games.commands.includes('castle: save-on')));
  answer.resume();
  const [error] = (await broken) as [Error];
  t.regex(error.message, /aborted/);
});

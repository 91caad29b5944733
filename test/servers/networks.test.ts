import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { parseProperties } from '../../src/game/properties/format.ts';
import { createCoreRules } from '../../src/game/core-rules.ts';
import { api } from '../support/api-harness.ts';
import { type World, world } from '../support/world.ts';

const VELOCITY = { type: 'velocity', version: '3.4.0-SNAPSHOT' };
const PAPER = { type: 'paper', version: '1.21.8' };
const BEHIND = { networkFront: 'front', networkPort: 25_700 };

async function boots(w: World, id: string): Promise<(path: string) => Promise<string>> {
  await w.command(id, 'START');
  await w.reach(id, 'running');
  await w.command(id, 'STOP');
  await w.reach(id, 'hibernated');
  return (path) => readFile(join(w.dataDir, 'servers', id, path), 'utf8');
}

test('a front and its backends share one secret, and each start keeps their files in step', async (t) => {
  const w = await api(t);
  await w.stranger();
  await w.create('front', VELOCITY);
  await w.create('castle', { ...PAPER, ...BEHIND, createdAt: 1 });
  await w.create('hall', { ...PAPER, networkFront: 'front', networkPort: 25_701, createdAt: 2 });
  await w.create('foreign', { ...PAPER, networkFront: 'front', networkPort: 25_702, accountId: 'acc_other' });
  const front = await boots(w, 'front');
  const listed = async () => (await front('velocity.toml')).split('[servers]\n')[1]?.split('\n\n')[0];
  const castleLine = 'castle = "127.0.0.1:25700" # added by Dormouse';
  const hallLine = 'hall = "127.0.0.1:25701" # added by Dormouse';
  t.is(await listed(), `${castleLine}\n${hallLine}\ntry = ["castle", "hall"]`);
  const secret = await front('forwarding.secret');
  await t.throwsAsync(front('server.properties'), { code: 'ENOENT' });
  await t.throwsAsync(front('eula.txt'), { code: 'ENOENT' });
  t.regex(w.engine.specs.at(-1)?.java?.least.toString() ?? '', /^21$/);

  const castle = await boots(w, 'castle');
  const paper = async () => parse(await castle('config/paper-global.yml')) as unknown;
  const online = async () => parseProperties(await castle('server.properties')).get('online-mode');
  t.deepEqual(await paper(), { proxies: { velocity: { enabled: true, 'online-mode': true, secret } } });
  t.is(await online(), 'false');

  await w.servers.patch('castle', { networkFront: '', networkPort: null });
  await boots(w, 'castle');
  t.deepEqual(await paper(), { proxies: { velocity: { enabled: false, 'online-mode': true, secret } } });
  t.is(await online(), 'true', 'a public server checks accounts again');
  await boots(w, 'front');
  t.is(await listed(), `${hallLine}\ntry = ["hall"]`);
  t.is(await front('forwarding.secret'), secret);
});

test('a backend of another front keeps its own files', async (t) => {
  const w = await world(t);
  await w.create('front', { type: 'custom', version: '1.21.8' });
  await w.create('castle', { ...PAPER, ...BEHIND });
  await w.create('keep', { ...PAPER, networkFront: 'external', networkPort: 25_701 });
  const config = join(w.dataDir, 'servers/castle/config');
  await mkdir(config, { recursive: true });
  await writeFile(join(config, 'paper-global.yml'), 'own: true\n');
  const castle = await boots(w, 'castle');
  t.is(await castle('config/paper-global.yml'), 'own: true\n');
  t.is(parseProperties(await castle('server.properties')).get('online-mode'), 'true');
  const keep = await boots(w, 'keep');
  await t.throwsAsync(keep('config/paper-global.yml'), { code: 'ENOENT' });
});

test('a Velocity has versions of its own, no properties, and no place in containers', async (t) => {
  const it = await api(t);
  const make = (more: object) => it.call('POST', '/v1/servers', { body: { name: 'Front', ramMb: 1_024, ...more } });
  for (const [more, wrong] of [
    [{ ...VELOCITY, version: '1.21' }, /is not a version of velocity/],
    [{ ...VELOCITY, properties: { difficulty: 'hard' } }, /velocity has no server.properties/],
    [{ ...PAPER, version: '3.4.0-SNAPSHOT' }, /is not a Minecraft version/],
  ] as const) {
    const { status, json } = await make(more);
    t.is(status, 400);
    t.regex(JSON.stringify(json), wrong);
  }
  t.is((await make({ ...VELOCITY })).status, 200);
  const { cores } = await it.ok('GET', '/v1/minecraft/versions');
  const offered = (cores as { type: string; versions: string[] }[]).find(({ type }) => type === 'velocity');
  t.is(offered?.versions[0], '3.4.0-SNAPSHOT');

  const inContainers = createCoreRules('everybody', async () => true, true);
  const row = { accountId: 'acc_test', type: 'velocity' };
  await t.throwsAsync(inContainers.require(row), { message: /Velocity is not available in containers/ });
  await t.notThrowsAsync(inContainers.require({ ...row, type: 'paper' }));
});

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { parseProperties } from '../../src/game/properties/format.ts';
import { joinRaw, pingStatus } from '../support/bot.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const VERSION = '1.20.4';

test('a real game uses its owner’s settings, and only permitted players can wake it', async (t) => {
  const service = await startService(t);
  await service.create('castle', VERSION);
  const set = (verb: string, body: object) =>
    service.call<Record<string, unknown>>('POST', `/v1/servers/castle:${verb}`, body);
  const address = { port: service.playersPort, version: VERSION, fakeHost: 'castle.localhost' };
  const words = async () => JSON.stringify((await pingStatus(address)).description);
  const stop = async () => {
    await set('stop', {});
    await service.reach('castle', 'hibernated');
  };

  await set('setMotd', { motd: '<gold>Castle</gold> %RCON_PASSWORD%' });
  const properties = { 'max-players': '7', difficulty: 'hard', 'level-seed': '%env:HOME% ünï' };
  await set('setProperties', { properties });
  t.regex(await words(), /"Castle".*%RCON_PASSWORD%.*join to wake/);
  const { publicSlug } = await set('setPublicStatus', { enabled: true });

  // During maintenance no player may wake it, and players read the text.
  await set('setWakePolicy', { maintenanceText: '<red>Back at 8 pm', asleepMotd: 'zzz' });
  t.regex(await words(), /Back at 8 pm/);
  const steve = { ...address, name: 'Steve' };
  await t.throwsAsync(joinRaw(steve), { message: /Back at 8 pm/ });
  // Only known players may wake it.
  await set('setWakePolicy', { maintenanceText: '', mode: 'known' });
  t.regex(await words(), /zzz/);
  await t.throwsAsync(joinRaw(steve), { message: /Only players who have played here before can wake it/ });
  t.is((await service.call('GET', '/v1/servers/castle')).state, 'hibernated');

  // The owner starts it, and everyone may join. Afterwards Steve is known.
  await set('start', {});
  await service.reach('castle', 'running');
  // The proxy shows its own status until the game answers, which may take a moment.
  await until(async () => /§6Castle.*%RCON_PASSWORD%/.test(JSON.stringify((await pingStatus(address)).description)));
  t.is((await pingStatus(address)).players.max, 7);
  const root = join(service.dataDir, 'servers/castle');
  const file = parseProperties(await readFile(join(root, 'server.properties'), 'utf8'));
  for (const [name, value] of Object.entries(properties)) t.is(file.get(name), value);
  await (await joinRaw(steve)).end();
  await stop();
  await (await joinRaw(steve)).end();
  const page = await fetch(`${service.baseUrl}/status/${String(publicSlug)}`);
  t.is(page.status, 200);
  t.regex(await page.text(), /Online/);

  // The game sees only the proxy's address, but IP bans apply to the player's own, awake and asleep.
  const ban = { ip: '127.0.0.1', created: '', source: '', expires: 'forever', reason: 'spam' };
  await writeFile(join(root, 'banned-ips.json'), JSON.stringify([ban]));
  await t.throwsAsync(joinRaw(steve), { message: /Your address is banned.*spam/s });
  await stop();
  await t.throwsAsync(joinRaw(steve), { message: /Your address is banned/ });
  t.is((await service.call('GET', '/v1/servers/castle')).state, 'hibernated');
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { joinRaw } from '../support/bot.ts';
import { startFront } from '../support/front.ts';
import { startService } from '../support/service.ts';

const VERSION = '1.20.4';
const TRUSTED = '127.0.0.7';
const STRANGE = '127.0.0.8';
const IP = '203.0.113.7';
const UUID = '069a79f4-44e9-4726-a5be-fca90e38aaf5';
/** What BungeeCord and Velocity forward, with a skin that makes the handshake longer than any client's. */
const forward = (host: string) => {
  const properties = JSON.stringify([{ name: 'textures', value: 'v'.repeat(1_500), signature: 's'.repeat(700) }]);
  return [host, IP, UUID.replaceAll('-', ''), properties].join('\0');
};

test('bans and wake rules apply to players forwarded by a trusted proxy, and not by others', async (t) => {
  const service = await startService(t, { PROXY: 'child', FORWARDING_FROM: `${TRUSTED}/32` });
  await service.create('castle', VERSION);
  const path = '/v1/servers/castle';
  const set = (verb: string, body: object) => service.call('POST', `${path}${verb}`, body);
  const asleep = async () => {
    await set(':stop', {});
    await service.reach('castle', 'hibernated');
  };
  const [trusted, strange] = await Promise.all(
    [TRUSTED, STRANGE].map((from) => startFront(t, { port: service.playersPort, from }, forward)),
  );
  const through = (port = 0, name = 'Steve') =>
    joinRaw({ port, version: VERSION, fakeHost: 'castle.localhost', name, timeoutMs: 120_000 });

  await set('/players:setIpBan', { ip: IP, banned: true, reason: 'spam' });
  await t.throwsAsync(through(trusted), { message: /Your address is banned from this server.*spam/s });
  t.is((await service.call('GET', path)).state, 'hibernated');
  const stranger = await through(strange);
  await stranger.end();
  await asleep();

  await set('/players:setIpBan', { ip: IP, banned: false });
  const player = await through(trusted);
  await set('/players:setIpBan', { ip: IP, banned: true, reason: 'spam' });
  await player.ended;
  await set('/players:setIpBan', { ip: IP, banned: false });
  await asleep();

  await set(':setWakePolicy', { mode: 'whitelist' });
  const whitelist = [{ uuid: UUID, name: 'Before' }];
  await writeFile(join(service.dataDir, 'servers/castle/whitelist.json'), JSON.stringify(whitelist));
  await t.throwsAsync(through(strange), { message: /Only whitelisted players can wake it/ });
  const listed = await through(trusted);
  await listed.end();
  await asleep();

  await set(':setWakePolicy', { mode: 'verified' });
  await (await through(trusted)).end();
});

import { join } from 'node:path';
import test from 'ava';
import { joinRaw, pingStatus } from '../support/bot.ts';
import { runningGames } from '../support/running-games.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { words } from '../support/wake-and-play.ts';
import { isThorough } from '../support/needs.ts';

test('an empty server goes to sleep by itself', async (t) => {
  const hurried = [join(import.meta.dirname, 'hurried-main.ts'), String(Date.now()), '6'];
  const service = await startService(t, { IDLE_TIMEOUT_MINUTES: '1', START_TIMEOUT_SECONDS: '7200' }, hurried);
  await service.create('nap', '1.20.4');
  const steve = await joinRaw({
    port: service.playersPort,
    version: '1.20.4',
    fakeHost: 'nap.localhost',
    name: 'Steve',
  });
  await service.reach('nap', 'running');
  const online = async () => (await service.call<{ players: number }>('GET', '/v1/servers/nap/metrics')).players;
  await until(async () => (await online()) === 1);
  await steve.end();
  await service.reach('nap', 'hibernated');
  const { transitions } = await service.call<{ transitions: { to: string; cause: { id: string } }[] }>(
    'GET',
    '/v1/servers/nap/machine',
  );
  t.is(transitions.find(({ to }) => to === 'stopping')?.cause.id, 'idle');
});

test.runIf(isThorough)('a hung game is killed and restarted, and its player can join again', async (t) => {
  const hurried = [join(import.meta.dirname, 'hurried-main.ts'), String(Date.now()), '6'];
  const service = await startService(t, { HUNG_AFTER_SECONDS: '60', START_TIMEOUT_SECONDS: '7200' }, hurried);
  await service.create('stuck', '1.20.4');
  const address = { port: service.playersPort, version: '1.20.4', fakeHost: 'stuck.localhost' };
  const steve = await joinRaw({ ...address, name: 'Steve' });
  const [game] = await runningGames(service);
  if (game === undefined) throw new Error('no game');
  const online = async () => (await service.call<{ players: number }>('GET', '/v1/servers/stuck/metrics')).players;
  await until(async () => (await online()) === 1);
  process.kill(game.pid, 'SIGSTOP');
  await until(async () => (await runningGames(service)).some(({ pid }) => pid !== game.pid));
  await steve.end();
  const again = await joinRaw({ ...address, name: 'Steve' });
  await again.end();
  const { entries } = await service.call<{ entries: { code: string }[] }>('GET', '/v1/servers/stuck/diagnostics');
  t.is(entries[0]?.code, 'hung');
});

test('a failed start kicks the waiting player at once and shows the cause', async (t) => {
  const service = await startService(t, { SANDBOX_FAULTS: 'OUT_OF_MEMORY=report,START_MS=1000' });
  await service.create('broken', '1.20.4');
  const address = { port: service.playersPort, version: '1.20.4', fakeHost: 'broken.localhost' };
  const refused = await t.throwsAsync(joinRaw({ ...address, name: 'Steve' }));
  t.regex(refused?.message ?? '', /memory/i);
  const server = await service.reach('broken', 'start_failed');
  t.is(server.startErrorCode, 'out_of_memory');
  t.regex(server.startError, /OutOfMemoryError/);
  const scraped = await fetch(`${service.baseUrl}/metrics`, { headers: { authorization: `Bearer ${service.apiKey}` } });
  const figures = await scraped.text();
  for (const line of [
    'dormouse_servers{state="start_failed"} 1',
    'dormouse_starts_total{cause="player",outcome="failed"} 1',
    'dormouse_proxy_kicks_total{rule="refused"} 1',
    'dormouse_queue_depth{queue="webhooks"} 0',
    'dormouse_ticks_total 0',
  ])
    t.true(figures.split('\n').includes(line), line);
});

test('an unknown address reaches the only server or DEFAULT_SERVER, and localhost defaults to the oldest server', async (t) => {
  const service = await startService(t);
  const at = (fakeHost: string) => pingStatus({ port: service.playersPort, fakeHost }).then(words);
  await service.create('first', '1.20.4', { motd: 'the first' });
  t.regex(await at('192.168.1.5'), /the first/, 'an IP address reaches the only server');
  t.regex(await at('nobody.localhost'), /Unknown server address/, 'an unknown server name is refused');
  await service.create('second', '1.20.4', { motd: 'the second' });
  t.regex(await at('192.168.1.5'), /Unknown server address/);
  t.regex(await at('first.example.org'), /Unknown server address/);
  t.regex(await at('localhost'), /the first/);
  t.regex(await at('second.localhost'), /the second/);
  const shown = async () => {
    const { servers } = await service.call<{ servers: { id: string; addr: string }[] }>('GET', '/v1/servers');
    return Object.fromEntries(servers.map(({ id, addr }) => [id, addr.replace(`:${service.playersPort}`, '')]));
  };
  t.deepEqual(await shown(), { first: 'localhost', second: 'second.localhost' }, 'the addresses work on this host');
  const lost = { port: service.playersPort, version: '1.20.4', fakeHost: '192.168.1.5', name: 'Steve' };
  await t.throwsAsync(joinRaw(lost), { message: /Unknown server address/ });
  await service.stop();
  await service.start({ DEFAULT_SERVER: 'second' });
  t.regex(await at('192.168.1.5'), /the second/);
  t.regex(await at('first.localhost'), /the first/);
  t.deepEqual(await shown(), { first: 'first.localhost', second: 'localhost' });
  await service.stop();
  await service.start({ DEFAULT_SERVER: 'secnd' });
  const warned = /^DEFAULT_SERVER is secnd, but no server has that id\. .* Did you mean second\?$/;
  t.true(service.log.some(({ msg }) => warned.test(String(msg))));
});

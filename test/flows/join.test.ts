import test from 'ava';
import { joinRaw, pingStatus } from '../support/bot.ts';
import { startService } from '../support/service.ts';
import { wakeAndPlay, words } from '../support/wake-and-play.ts';

/** Past the thirty seconds after which clients give up on a silent server. */
const LONG_HOLD_MS = 45_000;
/**
 * The bots of 1.8 to 1.12 do not survive the packet that holds the game's own clients of that time, and which is first sent
 * after 20 s: they are held for less. The long hold of those protocols is in test/proxy, with a client of our own.
 */
const SHORT_HOLD_MS = 12_000;

// One after the other: each is several games and clients at once, and a machine too busy misses deadlines meant for strangers.
test.serial(
  '1.16.5 to 26.1: players wake sleeping processes, are held 45 s, play, and find it all again',
  async (t) => {
    t.timeout(300_000);
    const service = await startService(t, { ENGINE: 'process', SANDBOX_FAULTS: `START_MS=${LONG_HOLD_MS}` });
    const versions = ['1.16.5', '1.20.4', '1.21.11', '26.1'];
    await Promise.all(versions.map((version) => wakeAndPlay(t, service, version, LONG_HOLD_MS)));
  },
);

test.serial('1.8.8 and 1.12.2: the same, held 12 s', async (t) => {
  t.timeout(120_000);
  const service = await startService(t, { ENGINE: 'process', SANDBOX_FAULTS: `START_MS=${SHORT_HOLD_MS}` });
  await Promise.all(['1.8.8', '1.12.2'].map((version) => wakeAndPlay(t, service, version, SHORT_HOLD_MS)));
});

test.serial('fifty players at once are one start, and all of them get in', async (t) => {
  t.timeout(180_000);
  const service = await startService(t);
  await service.create('rush', '1.20.4', { properties: { 'max-players': '60' } });
  const address = { port: service.playersPort, version: '1.20.4', fakeHost: 'rush.localhost', timeoutMs: 120_000 };
  const players = await Promise.all(Array.from({ length: 50 }, (_, n) => joinRaw({ ...address, name: `Player${n}` })));
  t.is(players.length, 50);
  const { transitions } = await service.call<{ transitions: { to: string }[] }>('GET', '/v1/servers/rush/machine');
  t.is(transitions.filter(({ to }) => to === 'starting').length, 1);
  await Promise.all(players.map((player) => player.end()));
});

test.serial('an empty server goes to sleep by itself', async (t) => {
  t.timeout(180_000);
  const service = await startService(t, { IDLE_TIMEOUT_MINUTES: '1' });
  await service.create('nap', '1.20.4');
  const steve = await joinRaw({
    port: service.playersPort,
    version: '1.20.4',
    fakeHost: 'nap.localhost',
    name: 'Steve',
  });
  await service.reach('nap', 'running');
  // Long enough for the game to be asked who is there.
  await new Promise((resolve) => setTimeout(resolve, 20_000));
  await steve.end();
  await service.reach('nap', 'hibernated', 100_000);
  const { transitions } = await service.call<{ transitions: { to: string; cause: { id: string } }[] }>(
    'GET',
    '/v1/servers/nap/machine',
  );
  t.is(transitions.find(({ to }) => to === 'stopping')?.cause.id, 'idle');
});

test.serial('a start that fails kicks the waiting player at once, with the cause', async (t) => {
  const service = await startService(t, { SANDBOX_FAULTS: 'OUT_OF_MEMORY=report,START_MS=1000' });
  await service.create('broken', '1.20.4');
  const address = { port: service.playersPort, version: '1.20.4', fakeHost: 'broken.localhost' };
  const refused = await t.throwsAsync(joinRaw({ ...address, name: 'Steve' }));
  t.regex(refused?.message ?? '', /memory/i);
  const server = await service.reach('broken', 'start_failed');
  t.is(server.startErrorCode, 'out_of_memory');
  t.regex(server.startError, /OutOfMemoryError/);
});

test.serial('unknown host names get nothing; a bare localhost finds the oldest server', async (t) => {
  const service = await startService(t);
  await service.create('first', '1.20.4');
  await service.create('second', '1.20.4', { motd: 'the second' });
  await t.throwsAsync(pingStatus({ port: service.playersPort, fakeHost: 'nobody.localhost' }));
  await t.throwsAsync(pingStatus({ port: service.playersPort, fakeHost: 'first.example.org' }));
  t.notRegex(words(await pingStatus({ port: service.playersPort, fakeHost: 'localhost' })), /the second/);
  t.regex(words(await pingStatus({ port: service.playersPort, fakeHost: 'second.localhost' })), /the second/);
});

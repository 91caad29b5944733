import test from 'ava';
import { joinRaw } from '../support/bot.ts';
import { isThorough } from '../support/needs.ts';
import { startService } from '../support/service.ts';
import { wakeAndPlay } from '../support/wake-and-play.ts';

const PLAYERS = isThorough ? 50 : 15;

test('players of 1.21.11 wake a sleeping server and find their builds again after the service restarts', async (t) => {
  const service = await startService(t);
  await wakeAndPlay(t, service, { versions: ['1.21.11'], holdMs: 0, afterwards: {} });
});

test('many simultaneous joins trigger one start, and all of them succeed', async (t) => {
  const service = await startService(t);
  await service.create('rush', '1.20.4', { properties: { 'max-players': '60' } });
  const address = { port: service.playersPort, version: '1.20.4', fakeHost: 'rush.localhost' };
  const players = await Promise.all(
    Array.from({ length: PLAYERS }, (_, n) => joinRaw({ ...address, name: `Player${n}` })),
  );
  t.is(players.length, PLAYERS);
  const { transitions } = await service.call<{ transitions: { to: string }[] }>('GET', '/v1/servers/rush/machine');
  t.is(transitions.filter(({ to }) => to === 'starting').length, 1);
  await Promise.all(players.map((player) => player.end()));
});

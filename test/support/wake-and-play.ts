import type { ExecutionContext } from 'ava';
import { joinBot, joinRaw, pingStatus } from './bot.ts';
import type { Service } from './service.ts';

/** Text of a status description, whatever form it has. */
export const words = (description: unknown) => JSON.stringify(description);
const PLACE = { x: 2, y: 4, z: 2 };

/**
 * The promise in full, for one version of the game: the sleeping server answers the server list and is not woken by that; a
 * login wakes it, is held for the whole of a slow start, and is played in; the empty server goes to sleep; what was built
 * is there after the next wake.
 */
export async function wakeAndPlay(
  t: ExecutionContext,
  service: Service,
  version: string,
  holdMs: number,
): Promise<void> {
  const id = `v${version.replaceAll('.', '-')}`;
  await service.create(id, version, { properties: { gamemode: 'creative' } });
  const address = { port: service.playersPort, version, fakeHost: `${id}.localhost` };

  const asleep = await pingStatus(address);
  t.regex(words(asleep.description), /asleep|sleep/i);
  t.is(asleep.players.online, 0);
  t.is((await service.call('GET', `/v1/servers/${id}`)).state, 'hibernated', 'a ping wakes nothing');

  const begun = performance.now();
  const steve = await joinBot({ ...address, name: 'Steve', timeoutMs: holdMs + 60_000 });
  t.true(performance.now() - begun >= holdMs, 'held while the server started');
  const alex = await joinRaw({ ...address, name: 'Alex' });
  steve.chat('hello from Steve');
  await alex.waitChat(/hello from Steve/);
  alex.chat('hello from Alex');
  await steve.waitChat(/hello from Alex/);
  await steve.placeBlock(PLACE, 'stone');
  t.is(await steve.blockAt(PLACE), 'stone');
  await Promise.all([steve.end(), alex.end()]);

  // The idle clock runs in minutes; the owner's stop takes the same way down.
  await service.call('POST', `/v1/servers/${id}:stop`);
  await service.reach(id, 'hibernated');
  const known = await pingStatus(address);
  t.is(known.version.name.includes('1') || known.version.name.includes('26'), true);

  const again = await joinBot({ ...address, name: 'Steve', timeoutMs: holdMs + 60_000 });
  t.is(await again.blockAt(PLACE), 'stone', 'what was built is still there');
  await again.end();
}

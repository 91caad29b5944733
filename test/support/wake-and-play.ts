import type { ExecutionContext } from 'ava';
import { joinBot, joinRaw, pingStatus } from './bot.ts';
import type { Service } from './service.ts';

/** Text of a status description, whatever form it has. */
export const words = (description: unknown) => JSON.stringify(description);
const PLACE = { x: 2, y: 4, z: 2 };

/**
 * The promise in full, for some versions of the game side by side: the sleeping server answers the server list and is not
 * woken by that; a login wakes it, is held for the whole of a slow start, and is played in; what was built is there after
 * the service has been restarted and the server woken again, this time at full speed.
 */
export async function wakeAndPlay(
  t: ExecutionContext,
  service: Service,
  { versions, holdMs, afterwards }: { versions: string[]; holdMs: number; afterwards: Record<string, string> },
): Promise<void> {
  await Promise.all(versions.map((version) => playAndLeave(t, service, version, holdMs)));
  t.is(await service.stop(), 0);
  await service.start(afterwards);
  await Promise.all(versions.map((version) => findItAgain(t, service, version)));
}

async function playAndLeave(t: ExecutionContext, service: Service, version: string, holdMs: number): Promise<void> {
  const id = idOf(version);
  await service.create(id, version, { properties: { gamemode: 'creative' } });
  const address = addressOf(service, version);

  const asleep = await pingStatus(address);
  t.regex(words(asleep.description), /asleep|sleep/i);
  t.is(asleep.players.online, 0);
  t.is((await service.call('GET', `/v1/servers/${id}`)).state, 'hibernated', 'a ping wakes nothing');

  const begun = performance.now();
  const steve = await joinBot({ ...address, name: 'Steve', timeoutMs: holdMs + 180_000 });
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
}

async function findItAgain(t: ExecutionContext, service: Service, version: string): Promise<void> {
  const again = await joinBot({ ...addressOf(service, version), name: 'Steve', timeoutMs: 180_000 });
  t.is(await again.blockAt(PLACE), 'stone', 'what was built is still there');
  await again.end();
}

const idOf = (version: string) => `v${version.replaceAll('.', '-')}`;

function addressOf({ playersPort }: Service, version: string) {
  return { port: playersPort, version, fakeHost: `${idOf(version)}.localhost` };
}

import type { ExecutionContext } from 'ava';
import { joinBot, joinRaw, pingStatus } from './bot.ts';
import type { Service } from './service.ts';

/** Returns the text of a status description in any form. */
export const words = (description: unknown) => JSON.stringify(description);
const PLACE = { x: 2, y: 4, z: 2 };

/**
 * Tests the product's promise with several versions of the game side by side. The sleeping server answers the server
 * list without waking. A login wakes the server, is held for the whole of a slow start, and then plays. After a restart
 * of the service and another wake, at full speed this time, the placed block is still there.
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

  // The idle clock runs in minutes. A stop by the owner takes the same path.
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

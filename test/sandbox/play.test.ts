import test from 'ava';
import { joinBot, joinRaw, pingStatus } from '../support/bot.ts';
import { fewAtATime } from '../support/few.ts';
import { isThorough } from '../support/needs.ts';
import { startSandbox } from './spawn.ts';

const takePlace = fewAtATime(4);

/**
 * A creative bot places a block; a survival bot digs one first. The restarted versions cover every kind of world format
 * and of packet.
 */
const VERSIONS = [
  { version: '1.8.8', mode: 'creative', restart: true, item: 'stone' },
  { version: '1.12.2', mode: 'creative', restart: true, item: 'stone' },
  { version: '1.16.5', mode: 'creative', restart: true, item: 'oak_log' },
  { version: '1.18.2', mode: 'survival', restart: false, item: 'stone' },
  { version: '1.19.4', mode: 'creative', restart: false, item: 'stone' },
  { version: '1.20.1', mode: 'survival', restart: false, item: 'stone' },
  { version: '1.20.4', mode: 'creative', restart: true, item: 'oak_log' },
  { version: '1.20.6', mode: 'creative', restart: false, item: 'stone' },
  { version: '1.21.1', mode: 'survival', restart: false, item: 'stone' },
  { version: '1.21.4', mode: 'creative', restart: false, item: 'stone' },
  { version: '1.21.7', mode: 'creative', restart: false, item: 'stone' },
  { version: '1.21.11', mode: 'survival', restart: true, item: 'stone' },
  { version: '26.1', mode: 'creative', restart: true, item: 'stone' },
];

const play = test.macro({
  title: (_, { version, mode, restart }: (typeof VERSIONS)[number]) =>
    `${version} ${mode}: two players chat, build and dig${restart ? '; the world survives a restart' : ''}`,
  exec: async (t, { version, mode, item, restart }: (typeof VERSIONS)[number]) => {
    await takePlace(t);
    const first = startSandbox(t, { version, env: { MODE: mode, MOTD: 'A flat one' } });
    const { port } = await first.ready();
    const ann = await joinBot({ port, version, name: 'Ann' });
    const bob = await joinRaw({ port, version, name: 'Bob' });
    await ann.waitChat(/^Bob joined the game$/);
    ann.chat('hello Bob');
    bob.chat('hello Ann');
    await bob.waitChat(/^<Ann> hello Bob$/);
    await ann.waitChat(/^<Bob> hello Ann$/);
    await first.waitLine(/\[Server thread\/INFO\]: <Ann> hello Bob$/);
    t.deepEqual(Object.keys(ann.bot.players).sort(), ['Ann', 'Bob']);
    const status = await pingStatus({ port });
    t.is(status.players.online, 2);
    t.is(status.version.name, version);
    t.deepEqual(status.description, { text: 'A flat one' });

    const seenByBob = new Promise((resolve) => bob.client.on('block_change', resolve));
    const spot = { x: 2, y: 4, z: 1 };
    if (mode === 'survival') {
      await ann.dig({ x: 1, y: 3, z: 1 });
      first.type(`give Ann ${item}`);
      await first.waitLine(/Gave 1 \[.*\] to Ann/);
    }
    await ann.placeBlock(spot, item);
    await seenByBob;
    t.is(await ann.blockAt(spot), item);
    await bob.end();
    await ann.waitChat(/^Bob left the game$/);
    t.is(await first.stop(), 0);
    t.is(await ann.ended, 'Server closed');

    if (!restart) return;
    const second = startSandbox(t, { version, directory: first.directory, env: { MODE: mode } });
    const again = await joinBot({ port: (await second.ready()).port, version, name: 'Ann' });
    t.is(await again.blockAt(spot), item);
    t.is(await again.blockAt({ x: 1, y: 3, z: 1 }), mode === 'survival' ? 'air' : grass(version));
    await again.end();
    t.is(await second.stop(), 0);
  },
});

const QUICK = new Set(['1.8.8', '1.21.11', '26.1']);
for (const each of VERSIONS) if (isThorough || QUICK.has(each.version)) test(play, each);

function grass(version: string): string {
  return /^1\.(8|9|10|11|12)\./.test(version) ? 'grass' : 'grass_block';
}

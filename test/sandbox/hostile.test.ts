import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { deflateSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { assert, asyncProperty, uint8Array } from '../support/property.ts';
import { joinRaw, pingStatus } from '../support/bot.ts';
import { startSandbox } from './spawn.ts';

function varInt(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value >>> 0;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** Sends bytes. Resolves when the server has closed the connection. */
function closedAfter(port: number, bytes: Buffer, thenEnd = false): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.setTimeout(120_000, () => reject(new Error('the connection was left open')));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
    socket.resume();
    socket.write(bytes);
    if (thenEnd) socket.end();
  });
}

async function alive(t: ExecutionContext, port: number): Promise<void> {
  t.is((await pingStatus({ port })).version.name, '1.21.4');
}

test('garbage, false lengths and misplaced packets close the connection, but never crash the server', async (t) => {
  const sandbox = startSandbox(t, { version: '1.21.4' });
  const { port, rconPort } = await sandbox.ready();
  // A length of six bytes, a frame of two gigabytes, and a long frame that never ends.
  await closedAfter(port, Buffer.from('ffffffffffff', 'hex'));
  await closedAfter(port, Buffer.concat([varInt(0x7fffffff), Buffer.alloc(200_000)]));
  await closedAfter(port, Buffer.concat([varInt(2_000_000), Buffer.alloc(1_999_999)]));
  await closedAfter(rconPort, Buffer.from('ffffff7f00000000', 'hex'));
  await closedAfter(rconPort, Buffer.from('ffffffff00000000', 'hex'));
  await assert(
    asyncProperty(uint8Array({ minLength: 1, maxLength: 300 }), async (bytes) =>
      closedAfter(port, Buffer.from(bytes), true),
    ),
    { numRuns: 60 },
  );
  await alive(t, port);
});

test('a hostile client is dropped, and the other players play on', async (t) => {
  const sandbox = startSandbox(t, { version: '1.21.4', env: { MODE: 'creative' } });
  const { port } = await sandbox.ready();
  const ann = await joinRaw({ port, version: '1.21.4', name: 'Ann' });
  const join = () => joinRaw({ port, version: '1.21.4', name: 'Eve' });

  const bomb = await join();
  const packed = deflateSync(Buffer.alloc(64 * 1024 * 1024));
  const body = Buffer.concat([varInt(1_000), packed]);
  bomb.client.socket.write(Buffer.concat([varInt(body.length), body]));
  await bomb.ended;

  const liar = await join();
  liar.client.write('chat_session_update', {
    sessionUUID: liar.client.uuid,
    expireTime: 0n,
    publicKey: Buffer.from('no key'),
    signature: Buffer.alloc(3),
  });
  liar.client.write('message_acknowledgement', { count: 1_000 });
  for (const y of [-2_000, 2_000, 5]) {
    const location = { x: 33_000_000, y, z: -33_000_000 };
    liar.client.write('block_dig', { status: 0, location, face: 1, sequence: 1 });
    liar.client.write('block_place', {
      hand: 0,
      location,
      direction: 77,
      cursorX: 0,
      cursorY: 0,
      cursorZ: 0,
      insideBlock: false,
      worldBorderHit: false,
      sequence: 2,
    });
  }
  for (const x of [Number.NaN, Number.POSITIVE_INFINITY, 1e300, 4e7]) {
    liar.client.write('position', {
      x,
      y: x,
      z: x,
      onGround: true,
      flags: { onGround: true, hasHorizontalCollision: false },
    });
  }
  liar.client.write('held_item_slot', { slotId: -5 });
  liar.client.write('set_creative_slot', { slot: 32_000, item: { itemCount: 0 } });
  liar.chat('still here');
  await ann.waitChat(/^<Eve> still here$/);
  await liar.end();

  const broken = await join();
  const garbage = Buffer.concat([varInt(1_000), Buffer.from('no zlib stream')]);
  broken.client.socket.write(Buffer.concat([varInt(garbage.length), garbage]));
  await broken.ended;
  t.is(ann.lines.filter((line) => line === 'Eve left the game').length >= 2, true);
  ann.chat('and so am I');
  await ann.waitChat(/^<Ann> and so am I$/);
  await alive(t, port);
  t.false(
    sandbox.lines.some((line) => line.includes('unexpected exception')),
    sandbox.lines.join('\n'),
  );
});

test('a long walk loads chunks all the way and keeps memory bounded', async (t) => {
  const sandbox = startSandbox(t, { version: '1.16.5', env: { VIEW_DISTANCE: '2' } });
  const { port } = await sandbox.ready();
  const ann = await joinRaw({ port, version: '1.16.5', name: 'Ann' });
  const chunks = new Set<string>();
  const far = new Promise<void>((resolve) => {
    ann.client.on('map_chunk', ({ x, z }: { x: number; z: number }) => {
      chunks.add(`${x},${z}`);
      if (x === 42) resolve();
    });
  });
  for (let x = 0; x <= 640; x += 8) ann.client.write('position', { x, y: 4, z: 0, onGround: true });
  await far;
  t.true(chunks.has('40,0'));
  const [rssKb] = /\d+/.exec(/VmRSS:.*/.exec(readFileSync(`/proc/${sandbox.pid}/status`, 'utf8'))![0])!;
  t.true(Number(rssKb) < 400_000);
});

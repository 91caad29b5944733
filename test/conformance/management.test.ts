import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createManagement } from '../../src/engines/console/management.ts';
import type { Engine, Game } from '../../src/engines/engine.ts';
import { createProcessEngine } from '../../src/engines/process/process.ts';
import { gameSpec } from '../../src/game/container.ts';
import { managementSecret } from '../../src/game/management-settings.ts';
import { writeProperties } from '../../src/game/properties/properties.ts';
import type { Address } from '../../src/kernel/address.ts';
import { fakeClock } from '../fakes/clock.ts';
import { joinRaw } from '../support/bot.ts';
import { serverRow } from '../support/store.ts';
import { until } from '../support/until.ts';
import { collect } from './engine.ts';

// Tests the port `Management` on real games, which are prepared as hosting does and run by the process engine.

const never = new AbortController().signal;
const RCON_PASSWORD = 'correct horse';
const secret = managementSecret(RCON_PASSWORD);

async function play(t: ExecutionContext, version: string): Promise<{ game: Game; engine: Engine }> {
  t.timeout(300_000);
  const dir = await mkdtemp(join(tmpdir(), 'dormouse-management-'));
  t.teardown(() => rm(dir, { recursive: true, maxRetries: 5 }));
  const sandboxEntry = join(import.meta.dirname, '../../src/sandbox/main.ts');
  const engine = createProcessEngine({ runDir: join(dir, 'run'), log: pino({ level: 'silent' }), sandboxEntry });
  t.teardown(() => engine.erase('alpha'));
  const dataDir = join(dir, 'data');
  await mkdir(dataDir);
  const row = serverRow('alpha', { type: 'sandbox', version, ramMb: 384, properties: {} });
  await writeProperties(dataDir, row, RCON_PASSWORD);
  const rest = { gameImage: 'unused', cpus: 1, ports: [], eulaAccepted: false };
  const spec = gameSpec(row, { ...rest, dataDir, rconPassword: RCON_PASSWORD });
  const game = await engine.boot(spec, never);
  await until(async () => (await collect(engine.logs('alpha'))).some(({ text }) => /Done \(/.test(text)));
  return { game, engine };
}

function management(t: ExecutionContext) {
  const made = createManagement({ clock: fakeClock() });
  t.teardown(() => made.close());
  return made;
}

test('the management port of a game reports its start, its players, and when they join and leave', async (t) => {
  const { game, engine } = await play(t, '1.21.11');
  const at = game.management!;
  const asked = management(t);
  // The port reports the start a moment after the log.
  await until(() => asked.started(at, secret));
  t.deepEqual(await asked.players(at, secret), []);
  let changes = 0;
  const unwatch = asked.watch(at, () => void (changes += 1));
  const bot = await joinRaw({ port: game.game!.port, version: '1.21.11', name: 'Steve' });
  await until(async () => changes === 1);
  const [steve, ...others] = await asked.players(at, secret);
  t.is(steve?.name, 'Steve');
  t.regex(steve!.uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-/);
  t.is(others.length, 0);
  await bot.end();
  await until(async () => changes === 2);
  t.deepEqual(await asked.players(at, secret), []);

  asked.release(at);
  t.deepEqual(await asked.players(at, secret), [], 'the next question connects anew');
  const back = await joinRaw({ port: game.game!.port, version: '1.21.11', name: 'Alex' });
  await until(async () => changes === 3);
  unwatch();
  await back.end();

  const error = { name: 'ManagementError' };
  await t.throwsAsync(asked.players(at, secret.replace(/.$/, 'x')), error);
  await t.throwsAsync(asked.players(at, ''), error);
  t.is((await asked.players(at, secret)).length, 0, 'the right secret still opens it');
  t.is(changes, 3, 'nobody watches any more');
  await engine.kill('alpha');
  await t.throwsAsync(asked.players(at, secret), error);
  asked.close();
  await t.throwsAsync(asked.started(at, secret), error);
});

test('a game older than 1.21.9 has no management port', async (t) => {
  const { game } = await play(t, '1.21.4');
  await t.throwsAsync(management(t).started(game.management!, secret), { name: 'ManagementError' });
});

test('the management port serves other JSON-RPC clients, and disconnects one that sends oversized or binary frames', async (t) => {
  const { game, engine } = await play(t, '26.1');
  const asked = management(t);
  await until(() => asked.started(game.management!, secret));
  const client = await connected(t, game.management!);
  const ask = (text: string) => client.ask(text) as Promise<Record<string, unknown>>;
  t.like(await ask('{"jsonrpc":"2.0","id":"a","method":"minecraft:server/status"}'), {
    id: 'a',
    result: { started: true, players: [], version: { name: '26.1', protocol: 775 } },
  });
  t.deepEqual(await ask('{"jsonrpc":"2.0","id":2,"method":"minecraft:server/save","params":[true]}'), {
    jsonrpc: '2.0',
    id: 2,
    result: true,
  });
  t.like(await ask('{"jsonrpc":"2.0","id":3,"method":"minecraft:no/such"}'), { id: 3, error: { code: -32_601 } });
  t.like(await ask('{"id":4,"method":"minecraft:players"}'), { error: { code: -32_600 } });
  t.like(await ask('{'), { id: null, error: { code: -32_700 } });
  // Requests of three sizes.
  for (const length of [10, 1_000, 64_000])
    t.like(await ask(JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(length), method: 'minecraft:players' })), {
      id: 'x'.repeat(length),
      result: [],
    });
  client.socket.send('x'.repeat(70_000));
  t.is(await client.closed, 1009);
  const again = await connected(t, game.management!);
  again.socket.send(new Uint8Array(8));
  t.is(await again.closed, 1003);
  const last = await connected(t, game.management!);
  await engine.halt('alpha', 20_000);
  t.is(await last.closed, 1000);
});

/** Connects with Node's own WebSocket, which shares no code with ours. */
async function connected(t: ExecutionContext, { host, port }: Address) {
  const socket = new WebSocket(`ws://${host}:${port}`, { headers: { Authorization: `Bearer ${secret}` } });
  t.teardown(() => socket.close());
  const closed = new Promise<number>((resolve) => socket.addEventListener('close', ({ code }) => resolve(code)));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', () => reject(new Error('refused')), { once: true });
  });
  return {
    socket,
    closed,
    ask(text: string): Promise<unknown> {
      const answer = new Promise<unknown>((resolve) =>
        socket.addEventListener('message', ({ data }) => resolve(JSON.parse(String(data))), { once: true }),
      );
      socket.send(text);
      return answer;
    },
  };
}

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createProcessEngine } from '../../src/engines/process/process.ts';
import { echoesTcp, echoesUdp } from '../conformance/engine.ts';
import { processBench } from '../conformance/process-bench.ts';
import { freePort } from '../support/service.ts';
import { until } from '../support/until.ts';

const never = new AbortController().signal;

/** Starts a private service that answers on loopback, over TCP and UDP. Returns its port. */
async function loopbackService(t: ExecutionContext): Promise<number> {
  const port = await freePort();
  const tcp = createServer((socket) => socket.pipe(socket).on('error', () => {})).listen(port, '127.0.0.1');
  const udp = createSocket('udp4').bind(port, '127.0.0.1');
  udp.on('message', (datagram, from) => udp.send(datagram, from.port, from.address));
  await Promise.all([once(tcp, 'listening'), once(udp, 'listening')]);
  t.teardown(() => [tcp, udp].forEach((each) => each.close()));
  t.true(await until(async () => (await echoesTcp(port)) && (await echoesUdp(port))), 'it answers on loopback');
  return port;
}

async function published(containerPort: number) {
  const [tcp, udp] = await Promise.all([freePort(), freePort()]);
  const ports = [
    { hostPort: tcp, containerPort, proto: 'tcp' as const },
    { hostPort: udp, containerPort, proto: 'udp' as const },
  ];
  return { ports, tcp, udp };
}

test('a published port does not lead to another service of the machine', async (t) => {
  const { engine, spec } = await processBench(t);
  const { ports, tcp, udp } = await published(await loopbackService(t));
  await engine.boot({ ...spec('alpha'), ports }, never);
  t.false(await echoesTcp(tcp));
  t.false(await echoesUdp(udp));
});

test("a published port does not lead into another server's game", async (t) => {
  const { engine, spec } = await processBench(t);
  const echo = await freePort();
  const [own, others] = await Promise.all([published(echo), published(echo)]);
  await engine.boot({ ...spec('alpha', { echo }), ports: own.ports }, never);
  await until(() => echoesTcp(own.tcp));
  await until(() => echoesUdp(own.udp));
  await engine.boot({ ...spec('beta'), ports: others.ports }, never);
  t.false(await echoesTcp(others.tcp));
  t.false(await echoesUdp(others.udp));
});

test('a published port reaches a helper process that the game started', async (t) => {
  const { engine, spec } = await processBench(t);
  const echo = await freePort();
  const { ports, tcp, udp } = await published(echo);
  const game = spec('alpha', { echo });
  await engine.boot({ ...game, ports, env: { ...game.env, GAME_HELPER: '1' } }, never);
  t.true(await until(() => echoesTcp(tcp)));
  t.true(await until(() => echoesUdp(udp)));
});

test('a published port cannot bypass the proxy or reach the console or the management port', async (t) => {
  const { dir, spec } = await processBench(t);
  const portRange = await threeInARow();
  const sandboxEntry = join(dir, 'entry.ts');
  await writeFile(
    sandboxEntry,
    `import { createServer } from 'node:net';
     const { SERVER_PORT, RCON_PORT, MANAGEMENT_SERVER_PORT } = process.env;
     for (const port of [SERVER_PORT, RCON_PORT, MANAGEMENT_SERVER_PORT]) {
       createServer((socket) => socket.pipe(socket)).listen(Number(port), '127.0.0.1');
     }`,
  );
  const log = pino({ level: 'silent' });
  const engine = createProcessEngine({ runDir: join(dir, 'run'), log, sandboxEntry, portRange });
  const own = [0, 1, 2].map((nth) => portRange.from + nth);
  const ports = await Promise.all(
    own.map(async (containerPort) => ({ hostPort: await freePort(), containerPort, proto: 'tcp' as const })),
  );
  await engine.boot({ ...spec('alpha'), ports }, never);
  for (const port of own) await until(() => echoesTcp(port));
  for (const { hostPort } of ports) t.false(await echoesTcp(hostPort));
});

async function threeInARow() {
  const from = await freePort(3);
  return { from, to: from + 2 };
}

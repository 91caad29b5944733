import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { isHere } from '../support/needs.ts';
import { freePort } from '../support/service.ts';
import { until } from '../support/until.ts';
import {
  HOST,
  RawClient,
  handshake,
  loginStart,
  route,
  running,
  startGame,
  startProxy,
  statusRequest,
} from './support.ts';

const HAS_IPV6 = Object.values(networkInterfaces())
  .flat()
  .some((each) => each?.address === '::1');
const FROM = { proxyProtocolFrom: ['127.0.0.1'] };
const ask = Buffer.concat([handshake(767, 'status'), statusRequest]);

function line(ip: string): Buffer {
  return Buffer.from(`PROXY TCP4 ${ip} 198.51.100.1 50000 25565\r\n`);
}

/** Returns a version 2 header. With `command` 1 it names `ip`, with 0 no client. */
function binary(ip: string, command = 1): Buffer {
  const bytes = ip.split('.').map(Number);
  const head = Buffer.from([0x20 | command, 0x11, 0, 12, ...bytes, 198, 51, 100, 1, 0xc3, 0x50, 0x63, 0xdd]);
  return Buffer.concat([Buffer.from('0d0a0d0a000d0a515549540a', 'hex'), head]);
}

for (const [version, header] of [
  ['1', line('203.0.113.9')],
  ['2', binary('203.0.113.9')],
] as const) {
  test(`version ${version} of the PROXY protocol: wakes and joins use the address that the balancer names`, async (t) => {
    const heard: Buffer[] = [];
    const game = await startGame(t, (socket) => socket.on('data', (chunk) => heard.push(chunk)));
    const asked: string[] = [];
    const it = await startProxy(t, {
      ...FROM,
      wake: {
        admit: async (_serverId, { ip }) => void asked.push(`admit ${ip}`),
        wake: (_serverId, { ip }) => Promise.resolve(game).finally(() => asked.push(`wake ${ip}`)),
      },
    });
    const login = Buffer.concat([handshake(47, 'login'), loginStart('Steve', false)]);
    const client = await RawClient.open(t, it.port);
    for (const byte of Buffer.concat([header, login])) client.send(Buffer.from([byte]));
    await until(() => it.proxy.connections('one') === 1);
    t.deepEqual(asked, ['wake 203.0.113.9', 'admit 203.0.113.9']);
    t.is(it.proxy.players('one')[0]?.ip, '203.0.113.9');
    await until(() => Buffer.concat(heard).length >= login.length);
    t.deepEqual(Buffer.concat(heard), login, 'nothing of the header reaches the game');
  });
}

test('connection limits count the players that a balancer names, and not the balancer itself', async (t) => {
  const limits = { exempt: [], connections: { burst: 3, perSecond: 0.000_1 }, unroutedPerAddress: 2 };
  const it = await startProxy(t, { ...FROM, limits });
  const served = async (ip: string): Promise<boolean> => {
    const client = await RawClient.open(t, it.port);
    client.send(line(ip), ask);
    await until(() => client.received.length > 0 || client.closed);
    client.socket.destroy();
    return client.received.length > 0;
  };
  for (let network = 0; network < 12; network++) t.true(await served(`203.0.${network}.9`));
  t.true(await served('203.0.0.9'));
  t.true(await served('203.0.0.9'));
  t.false(await served('203.0.0.9'), 'its burst of three is used up');
  await until(() => it.proxy.stats().unrouted === 0);

  const idle = await Promise.all(Array.from({ length: 8 }, () => RawClient.open(t, it.port)));
  await until(() => it.proxy.stats().unrouted === 8);
  for (const client of idle.slice(0, 3)) client.send(line('192.0.2.1'));
  await until(() => idle.some(({ closed }) => closed));
  t.is(it.proxy.stats().unrouted, 7, 'two of one address may be open');
  t.is(idle.slice(3).filter(({ closed }) => closed).length, 0);
});

test('a connection whose PROXY header names no client, such as a health check, has the balancer’s address', async (t) => {
  const it = await startProxy(t, FROM);
  for (const header of [Buffer.from('PROXY UNKNOWN\r\n'), binary('203.0.113.9', 0)]) {
    const client = await RawClient.open(t, it.port);
    client.send(header, ask);
    t.is((await client.packet()).id, 0);
    client.send(Buffer.from('0109', 'hex'));
    await client.gone();
  }
  await until(() => it.log.length === 2);
  t.true(it.log.every(({ fields }) => 'ip' in fields && fields.ip === '127.0.0.1'));
});

test('a balancer connection without a header or with a second one is closed without a byte', async (t) => {
  const it = await startProxy(t, FROM);
  for (const bytes of [
    ask,
    Buffer.concat([line('203.0.113.9'), line('203.0.113.9'), ask]),
    Buffer.from('fe01', 'hex'),
  ]) {
    const client = await RawClient.open(t, it.port);
    client.send(bytes);
    await client.gone();
    t.is(client.received.length, 0);
  }
  await until(() => it.proxy.stats().unrouted === 0);
  t.is(it.proxy.stats().statusAnswers, 0);
});

test('a PROXY header from an untrusted address is refused like garbage', async (t) => {
  for (const proxyProtocolFrom of [[], ['198.51.100.0/24', '2001:db8::/32']]) {
    const it = await startProxy(t, { proxyProtocolFrom });
    for (const header of [line('203.0.113.9'), binary('203.0.113.9')]) {
      const client = await RawClient.open(t, it.port);
      client.send(header, ask);
      await client.gone();
      t.is(client.received.length, 0);
    }
    const plain = await RawClient.open(t, it.port);
    t.is((await plain.send(ask).packet()).id, 0);
  }
});

test('silent and slow connections from a balancer are closed by the usual time limits', async (t) => {
  const it = await startProxy(t, { ...FROM, timings: { firstByteMs: 100, openingMs: 300 } });
  const silent = await RawClient.open(t, it.port);
  const slow = await RawClient.open(t, it.port);
  slow.send(Buffer.from('PROXY '));
  const late = await RawClient.open(t, it.port);
  late.send(line('203.0.113.9'));
  for (const client of [silent, slow, late]) await client.gone();
  await until(() => it.proxy.stats().unrouted === 0);
  t.is(it.proxy.stats().accepted, 3);
});

test('a connection that ends during or right after its PROXY header is cleaned up', async (t) => {
  const it = await startProxy(t, FROM);
  for (const bytes of [line('203.0.113.9').subarray(0, 20), line('203.0.113.9')]) {
    const client = await RawClient.open(t, it.port);
    client.socket.end(bytes);
    await client.gone();
  }
  await until(() => it.proxy.stats().unrouted === 0);
  t.is(it.proxy.stats().accepted, 2);
});

for (const directive of ['send-proxy', 'send-proxy-v2']) {
  test.runIf(isHere('haproxy'))(
    `players behind HAProxy with ${directive} keep their own address over IPv4 and IPv6`,
    async (t) => {
      const game = await startGame(t, (socket) => {
        socket.once('data', () => socket.write('greeting')).once('end', () => socket.end());
      });
      const it = await startProxy(t, FROM);
      it.routes.set(HOST, running(game));
      const port = await startHaproxy(t, it.port, directive);
      // Each player has an address of its own, which HAProxy sees and this proxy cannot.
      for (const [localAddress, host] of [
        ['127.0.0.77', '127.0.0.1'],
        ...(HAS_IPV6 ? [['::1', '::1']] : []),
      ] as const) {
        const client = await RawClient.open(t, port, host, localAddress);
        client.send(handshake(767, 'login'), loginStart('Steve'));
        await until(() => client.received.includes('greeting'));
        t.deepEqual(
          it.proxy.players('one').map(({ ip }) => ip),
          [localAddress],
        );
        client.socket.destroy();
        await until(() => it.proxy.connections('one') === 0);
      }
      it.routes.set(HOST, route());
      const asking = await RawClient.open(t, port);
      t.is((await asking.send(ask).packet()).id, 0);
    },
  );
}

/** Starts HAProxy in front of the proxy at `target`. Returns its port, which is open over IPv4 and IPv6. */
async function startHaproxy(t: ExecutionContext, target: number, directive: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'balancer-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const port = await freePort();
  const config = join(folder, 'haproxy.cfg');
  const times = 'timeout connect 60s\n timeout client 1h\n timeout server 1h';
  // HAProxy also checks the proxy as balancers do, so the test covers its own connections.
  const server = `server dormouse 127.0.0.1:${target} ${directive} check inter 100ms`;
  const binds = ['127.0.0.1', ...(HAS_IPV6 ? ['::1'] : [])].map((host) => `bind ${host}:${port}`).join('\n ');
  writeFileSync(config, `global\n nbthread 1\ndefaults\n mode tcp\n ${times}\nlisten players\n ${binds}\n ${server}\n`);
  const haproxy = spawn('/usr/sbin/haproxy', ['-db', '-f', config], { stdio: 'ignore' });
  const ended = once(haproxy, 'exit');
  t.teardown(async () => {
    haproxy.kill('SIGKILL');
    await ended;
  });
  await Promise.race([listens(t, port), ended.then(() => Promise.reject(new Error('HAProxy has ended')))]);
  return port;
}

async function listens(t: ExecutionContext, port: number): Promise<void> {
  const client = await until({ despiteErrors: true }, () => RawClient.open(t, port));
  client.socket.destroy();
}

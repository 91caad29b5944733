import { createCipheriv, randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import * as fc from '../support/property.ts';
import { isFloodgateKey, isVerified, readForwarded } from '../../proxy/forwarding.ts';
import { lookupKey } from '../../proxy/hostname.ts';
import type { ProxyOptions } from '../../proxy/index.ts';
import { JoinRefused, type Player } from '../../proxy/ports.ts';
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

const UUID = '069a79f4-44e9-4726-a5be-fca90e38aaf5';
const BARE_UUID = UUID.replaceAll('-', '');
const IP = '198.51.100.7';
const KEY = randomBytes(16);
const FRONT = { forwardingFrom: ['127.0.0.0/8'] };
const TOKEN = JSON.stringify([{ name: 'bungeeguard-token', value: 't'.repeat(64), signature: '' }]);

/** Returns data as Geyser seals it for Floodgate. */
function sealed(fields: { username?: string; xuid?: string; ip?: string; linked?: string } = {}, key = KEY): string {
  const { username = 'Some Guy 12', xuid = '2535428197086765', ip = IP, linked = 'null' } = fields;
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-128-gcm', key, iv);
  const plain = ['2.2.3', username, xuid, '7', 'en_US', '0', '1', ip, linked, '0', '0', 'code'].join('\0');
  const data = Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return `^Floodgate^>${iv.toString('base64')}!${data.toString('base64')}`;
}

const BEDROCK = { ip: IP, uuid: '00000000-0000-0000-0009-01f5610a762d', name: '.Some_Guy_12' };

const marker = fc.constantFrom('', '\0FML\0', '\0FML2\0', '\0FML3\0', '\0FORGE', '\0FORGE\0');
const host = fc
  .tuple(fc.domain(), fc.constantFrom('', '.', '..'), fc.constantFrom('', ':25565', ':1'), fc.boolean())
  .map(([name, dots, port, isService]) => ({
    name,
    sent: `${isService ? '_minecraft._tcp.' : ''}${name}${dots}${port}`,
  }));
const uuidText = fc.uuid().map((uuid) => ({ uuid, bare: uuid.replaceAll('-', '').toUpperCase() }));
const skin = fc.constantFrom('', '\0', `\0${TOKEN}`, `\0${'s'.repeat(2_000)}`);
const floodgate = fc.constantFrom('', `\0${sealed()}`);

test('host and identity are read from every combination of forwarding, mod markers, dots, ports and SRV names', (t) => {
  const forwarded = fc.tuple(host, floodgate, marker, fc.ipV4(), uuidText, skin, marker);
  fc.assert(
    fc.property(forwarded, ([{ name, sent }, before, mods, ip, { uuid, bare }, properties, modsAfter]) => {
      const address = `${sent}${before}${mods}\0${ip}\0${bare}${properties}${modsAfter}`;
      t.is(lookupKey(address), name.toLowerCase());
      t.deepEqual(readForwarded(address, KEY), { ip, uuid });
      t.deepEqual(readForwarded(`${sent}${mods}`, KEY), {});
      t.is(lookupKey(`${sent}${mods}`), name.toLowerCase());
      t.is(lookupKey(`${sealed()}\0${sent}${mods}`), name.toLowerCase());
      t.is(lookupKey(`${sent}${sealed()}`), name.toLowerCase());
    }),
  );
});

test('any other data is no identity, and no length takes long to read', (t) => {
  const parts = fc.array(fc.oneof(fc.string(), fc.ipV4(), fc.constant('^Floodgate^'), fc.constant('.')), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(parts, (some) => {
      t.deepEqual(readForwarded(some.join('\0'), KEY), {});
      lookupKey(some.join('\0'));
    }),
  );
  for (const long of ['.', ':', '\0', 'a.', '^Floodgate^', '[', '1.1.1.1\0']) {
    const address = long.repeat(Math.floor(32_767 / long.length));
    const began = performance.now();
    lookupKey(address);
    readForwarded(address, KEY);
    t.true(performance.now() - began < 5_000, long);
  }
  const none = [
    `${HOST}\0${IP}`,
    `${HOST}\0${IP}\0${BARE_UUID.slice(1)}`,
    `${HOST}\u0000999.1.1.1\0${BARE_UUID}`,
    `${IP}\0${BARE_UUID}`,
  ];
  for (const address of none) t.deepEqual(readForwarded(address, KEY), {}, address);
});

test('forwarded addresses have the form that sockets report', (t) => {
  const read = (ip: string) => readForwarded(`${HOST}\0${ip}\0${BARE_UUID}`, undefined).ip;
  t.is(read('2001:DB8:0:0:0:0:0:1'), '2001:db8::1');
  t.is(read('fe80:0:0:0:0:0:0:1%eth0'), 'fe80::1');
  t.is(read('::ffff:203.0.113.7'), '203.0.113.7');
});

test('only the first identity counts, because a client may have appended another', (t) => {
  const other = `\u0000203.0.113.9\0${'1'.repeat(32)}`;
  t.deepEqual(readForwarded(`${HOST}\0${IP}\0${BARE_UUID}\0[]${other}`, KEY), { ip: IP, uuid: UUID });
});

test('Floodgate’s data is a Bedrock player or the linked account, if the key opens it', (t) => {
  const read = (data: string, key: Buffer | undefined = KEY) => readForwarded(`${HOST}\0${data}`, key);
  t.deepEqual(read(sealed()), BEDROCK);
  t.deepEqual(readForwarded(`${sealed()}\0${HOST}`, KEY), BEDROCK);
  t.deepEqual(read(sealed({ linked: `Steve;${UUID};${BEDROCK.uuid}` })), { ip: IP, uuid: UUID, name: 'Steve' });
  t.is(read(sealed({ username: 'A'.repeat(16) })).name, `.${'A'.repeat(15)}`);
  t.deepEqual(read(sealed({ ip: 'unknown' })), { uuid: BEDROCK.uuid, name: BEDROCK.name });
  const altered = sealed().replace(/!./, (start) => (start === '!A' ? '!B' : '!A'));
  const broken = [
    sealed({ xuid: 'none' }),
    sealed({ xuid: '' }),
    altered,
    '^Floodgate^>',
    '^Floodgate^>AAAA!AAAA',
    '^Floodgate^',
  ];
  for (const data of broken) t.deepEqual(read(data), {}, data);
  t.deepEqual(read(sealed({}, randomBytes(16))), {}, 'another key');
  t.deepEqual(readForwarded(`${HOST}\0${sealed()}`, undefined), {}, 'no key');
  t.deepEqual(readForwarded(`${HOST}\0${sealed()}\0${IP}\0${BARE_UUID}`, KEY), { ip: IP, uuid: UUID });
  t.deepEqual(readForwarded(`${HOST}\u0000203.0.113.9\0${'1'.repeat(32)}\0${sealed()}`, KEY), BEDROCK, 'a host name');
  for (const name of ['', 'Steve the Seventeenth'])
    t.is(read(sealed({ linked: `${name};${UUID};${BEDROCK.uuid}` })).uuid, BEDROCK.uuid, name);
});

test('accounts count as verified, and UUIDs made from names do not', (t) => {
  t.true(isVerified({ uuid: UUID }));
  t.true(isVerified({ uuid: BEDROCK.uuid }), 'Floodgate has checked the Xbox account');
  for (const none of [undefined, {}, { ip: IP }, { uuid: '069a79f4-44e9-3726-a5be-fca90e38aaf5' }])
    t.false(isVerified(none));
  t.true(isFloodgateKey(KEY.toString('base64')));
  for (const text of ['', 'x', randomBytes(32).toString('base64')]) t.false(isFloodgateKey(text));
});

const ADDRESS = `${HOST}.\0FML3\0\0${IP}\0${BARE_UUID}\0${TOKEN}${'s'.repeat(20_000)}`;

/** Starts a proxy, a sleeping server that wakes at once, and records whom the service is asked about. */
async function fronted(t: ExecutionContext, options: Partial<ProxyOptions> = FRONT) {
  const heard: Buffer[] = [];
  const game = await startGame(t, (socket) => {
    socket.on('data', (chunk) => heard.push(chunk)).once('data', () => socket.write('greeting'));
  });
  const asked: [string, Player][] = [];
  const banned = new Set<string>();
  const it = await startProxy(t, {
    wake: {
      admit: async (_serverId, player) => {
        asked.push(['admit', { ...player }]);
        if (banned.has(player.ip)) throw new JoinRefused('banned');
      },
      wake: async (_serverId, player) => {
        asked.push(['wake', { ...player }]);
        return game;
      },
    },
    ...options,
  });
  return { ...it, game, asked, banned, heard: () => Buffer.concat(heard) };
}

const loginAs = (address: string, name = 'Steve') =>
  Buffer.concat([handshake(47, 'login', address), loginStart(name, false)]);

test('bans and wakes use the player forwarded by a trusted proxy, and the game gets the sent bytes', async (t) => {
  const it = await fronted(t);
  const bytes = loginAs(ADDRESS);
  const client = await RawClient.open(t, it.port);
  for (let at = 0; at < bytes.length; at += 900) client.send(bytes.subarray(at, at + 900));
  await until(() => it.proxy.connections('one') === 1);
  const player = { name: 'Steve', uuid: UUID, ip: IP, protocol: 47, verified: true };
  t.deepEqual(it.asked, [
    ['wake', player],
    ['admit', player],
  ]);
  t.deepEqual(it.proxy.players('one'), [player]);
  await until(() => it.heard().length === bytes.length);
  t.deepEqual(it.heard(), bytes);
  it.proxy.kick('one', IP);
  await client.gone();

  it.banned.add(IP);
  const again = await RawClient.open(t, it.port);
  t.regex(await again.send(bytes).kickText(), /banned/);
});

test('forwarded data from other addresses passes through and is not believed', async (t) => {
  for (const options of [{}, { forwardingFrom: ['198.51.100.0/24', '2001:db8::/32'] }]) {
    const it = await fronted(t, { ...options, floodgateKey: KEY.toString('base64') });
    it.banned.add(IP);
    const bytes = Buffer.concat([loginAs(ADDRESS), Buffer.from('more')]);
    (await RawClient.open(t, it.port)).send(bytes);
    await until(() => it.heard().length === bytes.length);
    t.deepEqual(it.heard(), bytes);
    for (const [, player] of it.asked)
      t.deepEqual(player, { name: 'Steve', uuid: null, ip: '127.0.0.1', protocol: 47 });
  }
});

test('a Bedrock player forwarded by Geyser counts with Floodgate’s name, UUID and address', async (t) => {
  const it = await fronted(t, { ...FRONT, floodgateKey: KEY.toString('base64') });
  (await RawClient.open(t, it.port)).send(loginAs(`${HOST}\0${sealed()}`, 'Some Guy 12'));
  await until(() => it.proxy.connections('one') === 1);
  t.deepEqual(it.proxy.players('one'), [{ ...BEDROCK, protocol: 47, verified: true }]);
});

test('a trusted proxy that forwards nothing has its own address, without the limits per address', async (t) => {
  const limits = {
    exempt: [],
    logins: { burst: 1, perSecond: 0.000_1 },
    connections: { burst: 1, perSecond: 0.000_1 },
  };
  const it = await fronted(t, { ...FRONT, limits });
  for (let nth = 0; nth < 4; nth++) (await RawClient.open(t, it.port)).send(loginAs(HOST, `Steve${nth}`));
  await until(() => it.proxy.connections('one') === 4);
  t.true(it.asked.every(([, { ip, verified }]) => ip === '127.0.0.1' && verified === undefined));
});

test('limits count the forwarded players, and not the proxy in front', async (t) => {
  const limits = { exempt: [], logins: { burst: 2, perSecond: 0.000_1 } };
  const it = await fronted(t, { ...FRONT, limits });
  const from = async (ip: string) => (await RawClient.open(t, it.port)).send(loginAs(`${HOST}\0${ip}\0${BARE_UUID}`));
  for (let network = 0; network < 6; network++) await from(`203.0.${network}.9`);
  await from('203.0.0.9');
  await until(() => it.proxy.connections('one') === 7);
  t.regex(await (await from('203.0.0.9')).kickText(), /Too many joins/);

  const crowd = await fronted(t, { ...FRONT, limits: { exempt: [], unroutedPerAddress: 2 } });
  const waiting = handshake(47, 'login', `${HOST}\0${IP}\0${BARE_UUID}`);
  const clients = await Promise.all(Array.from({ length: 3 }, () => RawClient.open(t, crowd.port)));
  for (const client of clients) client.send(waiting);
  await until(() => crowd.proxy.stats().unrouted === 2 && clients.filter(({ closed }) => closed).length === 1);
  t.pass();
});

test('a long handshake for an unknown host is read only from a trusted proxy', async (t) => {
  const unknown = handshake(767, 'status', ADDRESS.replace(HOST, 'other.example.com'));
  const headless = handshake(767, 'status', 'x'.repeat(32_767));
  const it = await fronted(t, { ...FRONT, neighbours: ['198.51.100.0/24', '127.0.0.0/8'] });
  for (const bytes of [unknown, headless]) {
    const client = await RawClient.open(t, it.port);
    t.is((await client.send(bytes, statusRequest).packet()).id, 0);
  }
  const tooLong = await RawClient.open(t, it.port);
  tooLong.send(handshake(767, 'status', `${HOST}\0${'x'.repeat(32_767)}`));
  await tooLong.gone();
  t.is(tooLong.received.length, 0);
  const strict = await fronted(t, {});
  for (const bytes of [unknown, headless]) {
    const client = await RawClient.open(t, strict.port);
    client.send(bytes.subarray(0, 1024));
    await client.gone();
    t.is(client.received.length, 0);
  }
});

test('a player of a trusted proxy is never asked for an account: the forwarded one counts', async (t) => {
  const it = await fronted(t);
  it.routes.set(HOST, route({ verifies: true }));
  (await RawClient.open(t, it.port)).send(loginAs(ADDRESS));
  await until(() => it.proxy.connections('one') === 1);
  const offline = `${HOST}\0${IP}\0${BARE_UUID.slice(0, 12)}3${BARE_UUID.slice(13)}`;
  for (const address of [HOST, offline]) {
    const client = await RawClient.open(t, it.port);
    t.regex(await client.send(loginAs(address)).kickText(), /could not be verified/);
  }
});

test('a player of a trusted proxy is held, and not shown the waiting room', async (t) => {
  const it = await fronted(t);
  it.routes.set(HOST, route({ waitingRoom: true }));
  const client = await RawClient.open(t, it.port);
  client.send(handshake(772, 'login'), loginStart('Steve'));
  t.is((await client.packet()).id, 4, 'a login plugin request, which proxies answer');
});

test('behind a load balancer, the proxy in front is recognised by the address in the PROXY header', async (t) => {
  const it = await fronted(t, { proxyProtocolFrom: ['127.0.0.1'], forwardingFrom: ['192.0.2.1'] });
  it.routes.set(HOST, running(it.game));
  for (const [nth, [from, ip]] of [
    ['192.0.2.1', IP],
    ['192.0.2.2', '192.0.2.2'],
  ].entries()) {
    const client = await RawClient.open(t, it.port);
    client.send(Buffer.from(`PROXY TCP4 ${from} 198.51.100.1 50000 25565\r\n`), loginAs(ADDRESS));
    await until(() => it.asked.length === nth + 1);
    t.is(it.asked[nth]?.[1].ip, ip);
  }
});

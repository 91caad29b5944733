import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { BlockList, type Socket, connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { openHostKey } from '../../src/sftp/sftp.ts';
import { hasNativeCrypto, warnWithoutNativeCrypto } from '../../src/sftp/open.ts';
import * as fc from '../support/property.ts';
import ssh2, { type Client } from 'ssh2';
import { createLog } from '../../src/kernel/log.ts';
import { SFTP_LIMITS, type SftpLimits } from '../../src/sftp/limits.ts';
import { createOutbox } from '../../src/sftp/sftp-session.ts';
import { MOST_DATA_BYTES, OPEN, REQUEST, string, uint32, uint64 } from '../../src/sftp/wire.ts';
import { fakeClock } from '../fakes/clock.ts';
import { until } from '../support/until.ts';
import { raw } from './raw.ts';
import { type SftpUnderTest, connect, openChannel, openSftp, startSftp } from './support.ts';

const NEVER = { free: 1e9, firstWaitMs: 1, longestWaitMs: 1, windowMs: 1 };
const QUICK = { refusalDelayMs: 0 };
/** Silent and broken connections cause no penalty. */
const UNPUNISHED = { ...SFTP_LIMITS.penalties, silentMs: 0, brokenMs: 0 };
const PATIENT: Partial<SftpLimits> = { ...QUICK, connects: NEVER, address: NEVER, name: NEVER, penalties: UNPUNISHED };

/** Opens a connection without any SSH. `closed` resolves when it has been closed. */
function dial(t: ExecutionContext, port: number, localAddress?: string): { socket: Socket; closed: Promise<void> } {
  const socket = connectTcp({ host: '127.0.0.1', port, localAddress });
  t.teardown(() => socket.destroy());
  const closed = new Promise<void>((resolve) => void socket.on('error', () => {}).once('close', () => resolve()));
  socket.resume();
  return { socket, closed };
}

/**
 * Sends the client's version. Resolves with whether the server has read it, which its offer shows: it is longer than
 * the server's own version line. Resolves with false if the server disconnects.
 */
function greet({ socket, closed }: ReturnType<typeof dial>): Promise<boolean> {
  socket.write('SSH-2.0-Patient\r\n');
  const offered = new Promise<true>((resolve) => {
    let heard = 0;
    socket.on('data', ({ length }: Buffer) => (heard += length) > 100 && resolve(true));
  });
  return Promise.race([offered, closed.then(() => false)]);
}

/** Connects a client until the server asks for a password, and sends none. Resolves with whether the server asks. */
function isAsked(t: ExecutionContext, port: number, localAddress: string): Promise<boolean> {
  const client = new ssh2.Client();
  t.teardown(() => client.destroy());
  return new Promise((resolve) => {
    let answers = 0;
    client.on('error', () => {}).once('close', () => resolve(false));
    client.connect({
      host: '127.0.0.1',
      port,
      localAddress,
      username: 'lobby.00000000',
      // The first request asks for the available methods. The second one is never sent.
      authHandler: (_methods, _partial, next) => {
        if (answers++ === 0) next({ type: 'none', username: 'lobby.00000000' });
        else resolve(true);
      },
    });
  });
}

/** Resolves when a client has been disconnected, in whatever manner. */
function end(client: Client): Promise<void> {
  return new Promise((resolve) => void client.once('close', () => resolve()));
}

/** Tries to sign in. Returns the error's message, or undefined after a success. */
async function trying(t: ExecutionContext, it: SftpUnderTest, login: Partial<SftpUnderTest['login']>) {
  return await connect(t, { port: it.port, login: { ...it.login, ...login } }).then(
    (client) => void client.end(),
    (error: Error) => error.message,
  );
}

/** Checks that a client with the password can still sign in. */
async function works(t: ExecutionContext, it: SftpUnderTest): Promise<void> {
  const client = await connect(t, it);
  t.truthy(await openSftp(client));
  client.end();
}

test('a wrong name and a wrong password get the same delayed answer, at most three times per connection', async (t) => {
  const clock = fakeClock();
  const it = await startSftp(t, { clock });
  const isRefusing = () => clock.nextAt() === clock.now() + SFTP_LIMITS.refusalDelayMs;
  const wrong = [
    { password: 'guess' },
    { username: 'lobby.00000000' },
    { username: 'nobody.00000000' },
    { username: 'root' },
    { username: '\0' },
  ];
  for (const login of wrong) {
    let error: string | undefined | null = null;
    const tried = trying(t, it, login).then((answer) => (error = answer));
    await until(isRefusing);
    await clock.advance(SFTP_LIMITS.refusalDelayMs - 1);
    t.is(error, null, 'it takes a second');
    await clock.advance(1);
    t.is(await tried, 'All configured authentication methods failed', JSON.stringify(login));
  }
  let asked = 0;
  const client = new ssh2.Client();
  t.teardown(() => client.destroy());
  const closed = end(client.on('error', () => {}));
  client.connect({
    host: '127.0.0.1',
    port: it.port,
    username: it.login.username,
    authHandler: (_methods, _partial, next) => {
      asked++;
      next({ type: 'password', username: it.login.username, password: `guess ${asked}` });
    },
  });
  let isClosed = false;
  void closed.then(() => (isClosed = true));
  await until(async () => {
    if (isRefusing()) await clock.advance(SFTP_LIMITS.refusalDelayMs);
    return isClosed;
  });
  t.is(asked, 3);
});

test('too many wrong guesses block even the right password for a while; other names are not affected', async (t) => {
  const rule = { free: 3, firstWaitMs: 60_000, longestWaitMs: 60_000, windowMs: 600_000 };
  const it = await startSftp(t, { limits: { ...PATIENT, name: rule } });
  await trying(t, it, {});
  for (let count = 0; count < 3; count++) await trying(t, it, { password: 'guess' });
  t.is(await trying(t, it, {}), 'All configured authentication methods failed');
  const byAddress = await startSftp(t, { limits: { ...PATIENT, address: rule } });
  for (let count = 0; count < 3; count++) await trying(t, byAddress, { username: `lobby.0000000${count}` });
  t.truthy(await trying(t, byAddress, {}));
  const fresh = await startSftp(t, { limits: { ...QUICK, name: rule } });
  for (let count = 0; count < 6; count++) await trying(t, fresh, { username: 'lobby.00000000' });
  t.is(await trying(t, fresh, {}), undefined);
});

test('an address that keeps connecting without signing in gets no greeting', async (t) => {
  const it = await startSftp(t, {
    limits: { connects: { free: 5, firstWaitMs: 60_000, longestWaitMs: 60_000, windowMs: 600_000 } },
  });
  for (let count = 0; count < 8; count++) await works(t, it);
  for (let count = 0; count < 5; count++) t.not(await greetingOf(t, it.port), '');
  t.is(await greetingOf(t, it.port), '');
});

test('failed sign-ins and stray connections write a single log line, without the password', async (t) => {
  const it = await startSftp(t, { limits: PATIENT });
  await trying(t, it, { password: 'guess' });
  for (const line of ['GET / HTTP/1.1\r\n\r\n', 'SSH-2.0-x\r\nrubbish', '\0\0']) {
    const { socket } = dial(t, it.port);
    socket.end(line);
  }
  await works(t, it);
  const said = it.logged.filter((line) => !line.includes('"level":"debug"'));
  t.is(said.length, 1, said.join(''));
  t.true(said[0]?.includes('SFTP sign-in'));
  t.false(it.logged.join('').includes(it.login.password));
});

test('silent, slow and idle SFTP clients are disconnected', async (t) => {
  const clock = fakeClock();
  const it = await startSftp(t, { clock });
  const [silent, slow, greeted] = [dial(t, it.port), dial(t, it.port), dial(t, it.port)];
  await Promise.all([silent, slow, greeted].map(({ socket }) => once(socket, 'data')));
  greeted.socket.write('SSH-2.0-Patient\r\n');
  slow.socket.write('SSH-');
  // The server's next bytes show that it has read the version line. There is no other sign.
  await once(greeted.socket, 'data');
  await clock.advance(SFTP_LIMITS.helloMs - 1);
  slow.socket.write('2.0');
  await clock.advance(1);
  await Promise.all([silent.closed, slow.closed]);
  t.false(greeted.socket.destroyed);
  await clock.advance(SFTP_LIMITS.signInMs);
  await greeted.closed;

  const client = await connect(t, it);
  const gone = end(client);
  const sftp = await openSftp(client);
  for (let count = 0; count < 3; count++) {
    await clock.advance(SFTP_LIMITS.idleMs - 1_000);
    await new Promise<void>((resolve, reject) => sftp.stat('/', (error) => (error ? reject(error) : resolve())));
  }
  t.is(it.sftp.sessions('lobby'), 1);
  await clock.advance(SFTP_LIMITS.idleMs);
  await gone;
  t.true(await until(() => it.sftp.sessions('lobby') === 0));
});

test('SFTP limits the connections signing in per address and the sessions per server', async (t) => {
  const it = await startSftp(t, {
    limits: { ...PATIENT, signingInPerAddress: 2, connectionsPerAddress: 6, connectionsPerServer: 3 },
  });
  const waiting = [dial(t, it.port), dial(t, it.port)];
  await until(async () => (await greetingOf(t, it.port)) === '');
  for (const { socket } of waiting) socket.destroy();
  await until(async () => (await greetingOf(t, it.port)) !== '');
  const clients: Client[] = [];
  for (let count = 0; count < 3; count++) clients.push(await connect(t, it));
  t.truthy(await trying(t, it, {}));
  t.is(it.sftp.sessions('lobby'), 3);
  clients[0]?.end();
  await until(async () => (await trying(t, it, {})) === undefined);
});

test('silent strangers that hold every sign-in slot give way to a newcomer', async (t) => {
  const many = { signingIn: 8, signingInPerAddress: 8 };
  const it = await startSftp(t, { limits: { ...PATIENT, ...many } });
  // The strangers and the client have addresses in different networks of loopback: 127.0.0.0/24 and 127.0.1.0/24.
  const strangers = Array.from({ length: 8 }, (_, n) => dial(t, it.port, `127.0.0.${n + 10}`));
  await Promise.all(strangers.map(({ socket }) => once(socket, 'data')));
  const client = await connect(t, it, { localAddress: '127.0.1.1' });
  t.truthy(await openSftp(client));
  await Promise.race(strangers.map(({ closed }) => closed));

  // Strangers that have been asked for a password make room for a network that holds fewer places, and not for another
  // of their own. The stranger that makes room is picked at random. If the search finds none, which is rare, another
  // stranger tries.
  for (let [n, tries] = [0, 0]; n < 8; tries++) if (await isAsked(t, it.port, `127.0.0.${tries + 20}`)) n++;
  t.truthy(await openSftp(await connect(t, it, { localAddress: '127.0.2.1' })));
});

test('strangers from many networks, silent after their greeting, give way to a newcomer', async (t) => {
  const it = await startSftp(t, { limits: { ...PATIENT, signingIn: 8 } });
  for (let [n, tries] = [0, 0]; n < 8; tries++) if (await greet(dial(t, it.port, `127.0.${tries + 10}.1`))) n++;
  t.truthy(await openSftp(await connect(t, it, { localAddress: '127.0.1.1' })));
});

test('an address whose connections time out in silence is blocked for a while, unless it is a trusted proxy', async (t) => {
  const clock = fakeClock();
  const it = await startSftp(t, { clock, limits: { ...PATIENT, penalties: SFTP_LIMITS.penalties } });
  const silent = [dial(t, it.port), dial(t, it.port)];
  await Promise.all(silent.map(({ socket }) => once(socket, 'data')));
  await clock.advance(SFTP_LIMITS.helloMs);
  await Promise.all(silent.map(({ closed }) => closed));
  await until(async () => (await greetingOf(t, it.port)) === '');
  t.not(await greetingOf(t, it.port, '127.0.0.2'), '', 'others are none of it');
  await clock.advance(2 * SFTP_LIMITS.penalties.silentMs);
  t.not(await greetingOf(t, it.port), '');
  const balanced = new BlockList();
  balanced.addAddress('127.0.0.1');
  const shared = await startSftp(t, {
    clock,
    trusted: balanced,
    limits: { ...SFTP_LIMITS, signingInPerAddress: 1, connectionsPerAddress: 1 },
  });
  const behind = Array.from({ length: 5 }, () => dial(t, shared.port));
  await Promise.all(behind.map(({ socket }) => once(socket, 'data')));
  await clock.advance(SFTP_LIMITS.helloMs);
  await Promise.all(behind.map(({ closed }) => closed));
  t.not(await greetingOf(t, shared.port), '', 'a load balancer is not one client');
});

/** Returns the server's first bytes; '' if the connection is refused. */
async function greetingOf(t: ExecutionContext, port: number, localAddress?: string): Promise<string> {
  const { socket, closed } = dial(t, port, localAddress);
  const said = await Promise.race([
    new Promise<string>((resolve) => void socket.once('data', (chunk: Buffer) => resolve(chunk.toString()))),
    closed.then(() => ''),
  ]);
  socket.destroy();
  return said;
}

test('garbage instead of a handshake ends only its own connection', async (t) => {
  const clock = fakeClock();
  const many = { connections: 1e6, connectionsPerAddress: 1e6, signingIn: 1e6, signingInPerAddress: 1e6 };
  const it = await startSftp(t, { clock, limits: { ...PATIENT, ...many } });
  const packet = (length: number, padding: number, body: Buffer) =>
    Buffer.concat([uint32(length), Buffer.of(padding), body]);
  const kexInit = (lists: Buffer) =>
    packet(1 + 17 + lists.length, 4, Buffer.concat([Buffer.of(20), randomBytes(16), lists]));
  const openings: Buffer[] = [
    packet(0, 0, Buffer.alloc(0)),
    packet(2 ** 32 - 1, 4, Buffer.alloc(64)),
    packet(35_001, 4, Buffer.alloc(40_000)),
    packet(12, 255, Buffer.alloc(11, 20)),
    kexInit(Buffer.alloc(0)),
    kexInit(Buffer.alloc(10, 0xff)),
    kexInit(Buffer.concat(Array.from({ length: 10 }, () => string('none')))),
    Buffer.concat(Array.from({ length: 300 }, () => packet(12, 10, Buffer.alloc(11, 2)))),
    ...Array.from({ length: 60 }, (_, index) => randomBytes(1 + index * 40)),
    ...Array.from({ length: 60 }, (_, type) => packet(12, 4, Buffer.concat([Buffer.of(type), Buffer.alloc(10, type)]))),
  ];
  const all = openings.flatMap((opening) => ['', 'SSH-2.0-OpenSSH_9.9\r\n'].map((hello) => ({ opening, hello })));
  let left = all.length;
  for (const { opening, hello } of all) {
    const { socket, closed } = dial(t, it.port);
    socket.write(hello);
    socket.write(opening);
    void closed.then(() => left--);
  }
  await until(async () => {
    await clock.advance(1_000);
    return left === 0;
  });
  await works(t, it);
});

test('garbage after the handshake ends only its own connection', async (t) => {
  const it = await startSftp(t, { limits: PATIENT });
  for (let count = 0; count < 20; count++) {
    const client = await connect(t, it);
    const closed = end(client);
    (client as Client & { _sock: Socket })._sock.write(randomBytes(100 + count * 1_000));
    await closed;
  }
  await works(t, it);
});

test('any request sent in a session gets a reply or ends its connection', async (t) => {
  const it = await startSftp(t, { limits: PATIENT });
  writeFileSync(join(it.root, 'file'), 'content');
  const types = [...Object.values(REQUEST), 0, 2, 101, 255];
  const field = fc.oneof(
    fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom('file', '/', '1', '2', 'posix-rename@openssh.com').map(string),
    fc.integer({ min: 0, max: 70_000 }).map(uint32),
    fc.constantFrom(uint32(2 ** 32 - 1), uint64(2n ** 64n - 1n), uint64(0)),
  );
  const request = fc.tuple(fc.constantFrom(...types), fc.array(field, { maxLength: 6 }));
  let [sent, answered] = [0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 30 }), async (requests) => {
      const client = await connect(t, it);
      const channel = await openChannel(client);
      const { send, next, greet } = raw(channel);
      await greet();
      for (const [type, fields] of requests) send(type, uint32(7), ...fields);
      channel.end();
      sent += requests.length;
      while ((await next()) !== undefined) answered++;
      client.end();
    }),
    { numRuns: 60 },
  );
  t.true(answered > 0 && answered < sent, `${answered} of ${sent}`);
  await works(t, it);
});

test('malformed packets and data after the end of a channel end only their own connection', async (t) => {
  const it = await startSftp(t, { limits: PATIENT });
  const starts = [uint32(0), uint32(256 * 1_024 + 1), uint32(2 ** 32 - 1), Buffer.of(0, 0, 0, 5, 2, 0, 0, 0, 3)];
  for (const start of starts) {
    const client = await connect(t, it);
    const closed = end(client);
    (await openChannel(client)).write(start);
    await closed;
  }
  const client = await connect(t, it);
  const channel = await openChannel(client);
  await raw(channel).greet();
  const { _protocol: protocol } = client as unknown as { _protocol: Protocol };
  const { id } = (channel as unknown as { outgoing: { id: number } }).outgoing;
  const ended = once(channel, 'close');
  protocol.channelEOF(id);
  for (let count = 0; count < 3; count++) protocol.channelData(id, Buffer.alloc(100));
  await ended;
  await works(t, it);
});

/** The parts of the client's library below its public methods. */
interface Protocol {
  channelEOF(id: number): void;
  channelData(id: number, data: Buffer): void;
  requestSuccess(): void;
  ping(): void;
}

test('the SSH server offers only the sftp subsystem, one channel at a time', async (t) => {
  const it = await startSftp(t);
  const client = await connect(t, it);
  const refused = (work: (done: (error?: Error) => void) => void) =>
    new Promise<boolean>((resolve) => work((error) => resolve(error !== undefined && error !== null)));
  t.true(await refused((done) => client.exec('id', done)));
  t.true(await refused((done) => client.shell(done)));
  t.true(await refused((done) => client.subsys('netconf', done)));
  t.true(await refused((done) => client.forwardOut('127.0.0.1', 1, '127.0.0.1', it.port, done)));
  t.true(await refused((done) => client.forwardIn('127.0.0.1', 0, done)));
  t.true(await refused((done) => client.openssh_forwardOutStreamLocal('/var/run/docker.sock', done)));
  // One session at a time, any number after one another.
  for (let count = 0; count < 3; count++) {
    const channel = await openChannel(client);
    t.true(await refused((done) => client.subsys('sftp', done)));
    const closed = once(channel, 'close');
    channel.resume().end();
    await closed;
  }
});

test('only modern SSH algorithms are negotiated', async (t) => {
  const it = await startSftp(t, { limits: PATIENT });
  const agreed = (algorithms: ssh2.Algorithms) =>
    connect(t, it, { algorithms }).then(
      (client) => client.end() !== undefined,
      () => false,
    );
  t.true(await agreed({ cipher: ['aes128-gcm@openssh.com'] }));
  t.true(await agreed({ cipher: ['aes256-ctr'], hmac: ['hmac-sha2-256-etm@openssh.com'] }));
  t.false(await agreed({ cipher: ['aes256-ctr'], hmac: ['hmac-sha2-256'] }));
  t.false(await agreed({ cipher: ['aes256-cbc'] }));
  t.false(await agreed({ kex: ['diffie-hellman-group14-sha1'] }));
  t.false(await agreed({ kex: ['ecdh-sha2-nistp256'] }));
  t.false(await agreed({ serverHostKey: ['rsa-sha2-512'] }));
  t.regex(await greetingOf(t, it.port), /^SSH-2\.0-Dormouse\r\n$/);
});

test.serial('a client that does not read its replies uses bounded memory, and receives them all later', async (t) => {
  const it = await startSftp(t);
  writeFileSync(join(it.root, 'file'), Buffer.alloc(MOST_DATA_BYTES, 1));
  const client = await connect(t, it);
  const socket = (client as Client & { _sock: Socket })._sock;
  const channel = await openChannel(client);
  const { send, next, greet } = raw(channel);
  await greet();
  send(REQUEST.open, uint32(0), string('file'), uint32(OPEN.read), uint32(0));
  const handle = (await next())!.rest;
  const count = 200;
  const before = process.memoryUsage();
  socket.pause();
  for (let id = 1; id <= count; id++) send(REQUEST.read, uint32(id), handle, uint64(0), uint32(MOST_DATA_BYTES));
  let last = -1;
  // Wait until the memory stays the same.
  await until(async () => {
    const before = last;
    await new Promise((resolve) => setTimeout(resolve, 100));
    last = process.memoryUsage().arrayBuffers;
    return last === before;
  });
  const grown = process.memoryUsage().arrayBuffers - before.arrayBuffers;
  t.true(grown < 12 * 2 ** 20, `${grown} bytes for ${count * MOST_DATA_BYTES}`);
  socket.resume();
  for (let id = 1; id <= count; id++) {
    const reply = await next();
    t.is(reply?.id, id);
    t.is(reply?.rest.length, 4 + MOST_DATA_BYTES);
  }
});

test('a client that sends beyond its channel window is disconnected', async (t) => {
  const it = await startSftp(t);
  writeFileSync(join(it.root, 'file'), Buffer.alloc(MOST_DATA_BYTES, 1));
  const client = await connect(t, it);
  const channel = await openChannel(client);
  const closed = end(client);
  const { send, next, greet } = raw(channel);
  await greet();
  send(REQUEST.open, uint32(0), string('file'), uint32(OPEN.read), uint32(0));
  const handle = (await next())!.rest;
  // The client requests data, reads none of it, and sends more than its window allows.
  channel.removeAllListeners('data');
  channel.pause();
  for (let id = 1; id <= 40; id++) send(REQUEST.read, uint32(id), handle, uint64(0), uint32(MOST_DATA_BYTES));
  const { _protocol: protocol } = client as unknown as { _protocol: Protocol };
  const { id } = (channel as unknown as { outgoing: { id: number } }).outgoing;
  for (let sent = 0; sent < 12 * 2 ** 20; sent += 32_000) protocol.channelData(id, Buffer.alloc(32_000));
  await closed;
  t.true(await until(() => it.sftp.sessions('lobby') === 0));
});

test('an endless key exchange holds back a bounded number of replies', async (t) => {
  const channel = new PassThrough().resume();
  const socket = Object.assign(new PassThrough(), { bytesWritten: 0 });
  const { signal } = new AbortController();
  const send = createOutbox(channel, socket as unknown as Socket, signal, SFTP_LIMITS.waitingBytes);
  const reply = Buffer.alloc(MOST_DATA_BYTES);
  let kept = 0;
  await t.throwsAsync(async () => {
    for (;;) {
      await send(reply);
      kept += reply.length;
    }
  });
  t.true(kept > 0 && kept <= SFTP_LIMITS.waitingBytes);
  for (let count = 0; count < 100; count++) {
    const sent = send(reply);
    socket.bytesWritten += reply.length + 60;
    await sent.catch(() => {});
  }
});

test('the host key is created once, is readable by its owner only, and is not replaced if damaged', async (t) => {
  const { folder, sftp } = await startSftp(t);
  const file = join(folder, 'data/ssh_host_ed25519_key');
  t.is(statSync(file).mode & 0o777, 0o600);
  t.is((await openHostKey(join(folder, 'data'))).fingerprint, sftp.fingerprint);
  writeFileSync(file, readFileSync(file, 'utf8').slice(0, 100));
  await t.throwsAsync(openHostKey(join(folder, 'data')), { message: /is not an Ed25519 private key/ });
});

test('a missing native crypto module is logged as a warning', (t) => {
  t.true(hasNativeCrypto());
  const lines: string[] = [];
  const log = createLog({ level: 'info', pretty: false, destination: { write: (line) => void lines.push(line) } });
  warnWithoutNativeCrypto(log, true);
  t.is(lines.length, 0);
  warnWithoutNativeCrypto(log, false);
  t.regex(lines.join(''), /npm rebuild ssh2/);
});

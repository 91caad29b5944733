import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, type IncomingMessage, get } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type * as z from 'zod';
import { eventData } from '../../src/cli/http.ts';
import { FrameStream } from '../../src/http/frame-stream.ts';
import { dataFrame } from '../../src/http/sse.ts';
import { insertIncident } from '../../src/insight/alerts/rows.ts';
import { SERVER_EVENTS } from '../../src/insight/event-schemas.ts';
import { revokeOwnKey } from '../../src/access/keys.ts';
import { removeMember } from '../../src/access/members.ts';
import { type ApiUnderTest, api } from '../support/api-harness.ts';
import * as fc from '../support/property.ts';
import { until } from '../support/until.ts';

interface Stream {
  status: number;
  headers: IncomingHttpHeaders;
  text: () => string;
  /** Resolves with the received text once it contains `part`. */
  until: (part: string | RegExp) => Promise<string>;
  /** Resolves with the received text once the stream has ended. */
  readonly ended: Promise<string>;
  close: () => void;
}

async function open(t: ExecutionContext, it: ApiUnderTest, path: string, headers: object = {}): Promise<Stream> {
  const request = get(it.origin + path, { agent: false, headers: { 'x-api-key': it.key, ...headers } });
  t.teardown(() => request.destroy());
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  response.on('error', () => {});
  let hasEnded = false;
  response.on('close', () => (hasEnded = true));
  // A stream that stalls fails its test long before the test's own timeout.
  const soon = (what: string, holds: () => boolean) =>
    until({ what: `${what} of ${path}`, withinMs: 60_000 }, async () => {
      await it.clock.advance(0);
      return holds();
    });
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: () => text,
    async until(part) {
      await soon(String(part), () => (typeof part === 'string' ? text.includes(part) : part.test(text)));
      if (path === EVENTS) t.deepEqual(misfits(text), []);
      return text;
    },
    get ended() {
      return soon('the end', () => hasEnded).then(() => text);
    },
    close: () => request.destroy(),
  };
}

/** Returns the events that do not match their documented schemas. */
function misfits(text: string): unknown[] {
  const kinds: Partial<Record<string, z.ZodObject>> = SERVER_EVENTS;
  return [...text.matchAll(/^event: (\w+)\ndata: (.*)\n\n/gm)].flatMap(([, kind = '', data = '']) => {
    const parsed = kinds[kind]?.strict().safeParse(JSON.parse(data));
    return parsed?.success ? [] : [{ kind, data, error: parsed?.error.message }];
  });
}

/** Starts a server `abc`. */
async function running(t: ExecutionContext): Promise<ApiUnderTest> {
  const it = await api(t);
  await it.create('abc');
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  return it;
}

const LOGS = '/v1/servers/abc/logs/stream';
const idle = (it: ApiUnderTest) =>
  it.until(() => it.services.streamSlots.taken() === 0 && it.services.logStreams.tailers() === 0);

test('a log stream sends the backlog and new lines in exact SSE frames, and ends with the game', async (t) => {
  const it = await running(t);
  it.engine.print('abc', 'one', '  two', '', 'three');
  const stream = await open(t, it, `${LOGS}?tail=3`);
  t.is(stream.status, 200);
  t.like(stream.headers, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
  });
  await stream.until('three');
  it.engine.print('abc', 'four');
  t.is(await stream.until('four\n\n'), 'data:   two\n\ndata: \n\ndata: three\n\ndata: four\n\n');
  it.engine.crash('abc');
  t.is((await stream.ended).slice(-16), 'ee\n\ndata: four\n\n');
  await idle(it);
});

test('a log stream of a stopped server sends the backlog, clamped to the allowed tail, and ends', async (t) => {
  const it = await api(t);
  await it.create('abc');
  it.engine.print('abc', ...Array.from({ length: 1_200 }, (_, n) => `line ${n}`));
  const count = async (query: string) =>
    (await (await open(t, it, LOGS + query)).ended).split('\n\n').filter((frame) => frame !== '').length;
  t.deepEqual(
    [
      await count(''),
      await count('?tail=5000'),
      await count('?tail=-1'),
      await count('?tail=0'),
      await count('?tail=7'),
      await count('?tail='),
      await count('?tail=9007199254740993'),
      await count('?tail=-1e400'),
    ],
    [100, 1_000, 0, 0, 7, 100, 1_000, 0],
  );
  t.is((await it.call('GET', `${LOGS}?tail=x`)).reason, 'INVALID_FIELD');
  it.engine.away();
  t.like(await it.call('GET', LOGS), { status: 503, reason: 'LOGS_UNAVAILABLE' });
  it.engine.back();
  t.is((await it.call('HEAD', LOGS)).status, 200);
  await idle(it);
});

test('a log line cannot break out of its SSE data field', async (t) => {
  t.is(dataFrame('hi\revent: spoof\rdata: x\n\nid: 1\r\n'), 'data: hievent: spoofdata: xid: 1\n\n');
  t.is(dataFrame('\u001B[31mred\u001B[0m'), 'data: \u001B[31mred\u001B[0m\n\n');
  for (const long of ['x'.repeat(9_000), '€'.repeat(9_000), '😀'.repeat(9_000)]) {
    const frame = dataFrame(long);
    t.true(Buffer.byteLength(frame) <= 8_192 + 8 && Buffer.byteLength(frame) > 8_192, `${Buffer.byteLength(frame)}`);
    t.true(frame.isWellFormed());
  }
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string({ unit: 'binary', minLength: 1 })), async (lines) => {
      const bytes = Buffer.from(lines.map(dataFrame).join(''));
      const read: string[] = [];
      for await (const line of eventData(chunks(bytes))) read.push(line);
      t.deepEqual(
        read,
        lines.map((line) => line.replaceAll(/[\r\n]/g, '').toWellFormed()),
      );
    }),
  );
});

async function* chunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

test('log streams reject Bearer tokens and need an API key', async (t) => {
  const it = await running(t);
  const token = await it.connect('usr_test', 'app_1');
  for (const authorization of [`Bearer ${token}`, `Bearer ${it.key}`, 'Basic eDp5', 'Bearer'])
    t.like(await it.call('GET', LOGS, { key: null, headers: { authorization } }), {
      status: 401,
      reason: 'API_KEY_REQUIRED',
    });
  t.like(await it.call('GET', LOGS, { key: null }), { status: 401, reason: 'CREDENTIAL_MISSING' });
  const refused = await it.call('GET', LOGS, { key: null, headers: { authorization: `Bearer ${token}` } });
  t.is(refused.headers.get('www-authenticate'), 'ApiKey realm="dormouse"', 'the challenge requests only an API key');
  const beside = await open(t, it, LOGS, { authorization: `Bearer ${token}` });
  t.is(beside.status, 200, 'a key takes precedence');
});

test('log streams are limited to three per key and ten per account, and closed or refused ones free their slots', async (t) => {
  const it = await running(t);
  const keys = await Promise.all([1, 2, 3, 4].map(async () => (await it.mint(['servers:read'])).key));
  const streams: Stream[] = [];
  for (const key of keys.slice(0, 3))
    for (let n = 0; n < 3; n++) streams.push(await open(t, it, LOGS, { 'x-api-key': key }));
  t.true(streams.every(({ status }) => status === 200));
  const refused = await it.call('GET', LOGS, { key: keys[0]! });
  t.like(refused, { status: 429, reason: 'TOO_MANY_STREAMS' });
  t.is(refused.headers.get('retry-after'), '15');
  t.is((await it.call('GET', '/v1/servers/none/logs/stream', { key: keys[3]! })).status, 404);
  await it.until(() => it.services.streamSlots.taken() === 18);
  streams.push(await open(t, it, LOGS, { 'x-api-key': keys[3]! }));
  t.is((await it.call('GET', LOGS, { key: keys[3]! })).status, 429, 'the eleventh stream of the account');
  t.is(it.services.logStreams.tailers(), 1, 'one tailer for ten streams');
  it.engine.print('abc', 'for all');
  await Promise.all(streams.map((stream) => stream.until('data: for all\n\n')));
  streams[0]!.close();
  await it.until(() => it.services.streamSlots.taken() === 18);
  t.is((await open(t, it, LOGS, { 'x-api-key': keys[0]! })).status, 200);
  for (const stream of streams) stream.close();
  it.engine.crash('abc');
  await idle(it);
});

test('hundreds of log streams opened and dropped at once leave no slots or tailers behind', async (t) => {
  const it = await running(t);
  for (let batch = 0; batch < fc.runs(20); batch++) {
    await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        const socket = connect(it.port, '127.0.0.1');
        socket.on('error', () => {});
        socket.write(`GET ${LOGS} HTTP/1.1\r\nHost: x\r\nx-api-key: ${it.key}\r\n\r\n`);
        await once(socket, 'connect');
        if (n % 3 === 1) await once(socket, 'data');
        if (n % 3 === 2) await new Promise(setImmediate);
        socket.destroy();
      }),
    );
  }
  await idle(it);
  t.is((await open(t, it, LOGS)).status, 200);
});

test('a slow log client gets a missing-lines notice, a stuck one is cut off, and other readers keep up', async (t) => {
  const it = await running(t);
  const request = `GET ${LOGS}?tail=0 HTTP/1.1\r\nHost: x\r\nx-api-key: ${it.key}\r\n\r\n`;
  const [late, never] = [connect(it.port, '127.0.0.1'), connect(it.port, '127.0.0.1')];
  for (const socket of [late, never]) {
    t.teardown(() => socket.destroy());
    socket.pause();
    socket.write(request);
  }
  const reader = await open(t, it, `${LOGS}?tail=0`);
  await it.until(() => it.services.streamSlots.taken() === 6);
  const line = 'x'.repeat(4_000);
  for (let n = 1; n <= 5_000; n++) {
    it.engine.print('abc', line);
    if (n % 50 === 0) {
      it.engine.print('abc', `mark ${n}.`);
      await reader.until(`mark ${n}.`);
    }
  }
  let text = '';
  late.setEncoding('latin1').on('data', (chunk) => (text += String(chunk)));
  late.resume();
  await it.until(() => text.includes('mark 5000.'));
  const missing = Number(/\[(\d+) lines are missing here/.exec(text)?.[1]);
  const came = text.match(/^data: (?:x{4000}|mark \d+\.)$/gm)?.length;
  t.is(came, 5_100 - missing, 'lines that do not fit are dropped');
  // The first ping finds the stuck client behind. It is cut off 30 s later, long before the socket's own timeout.
  for (let n = 0; n < 2; n++) await it.clock.advance(15_000);
  t.is(it.services.streamSlots.taken(), 6);
  await it.clock.advance(15_000);
  await until({ what: 'the stuck client is cut off', withinMs: 30_000 }, () => it.services.streamSlots.taken() === 4);
  late.destroy();
  reader.close();
  await idle(it);
});

test('a full frame stream drops the oldest frames with one notice, or ends', async (t) => {
  const frames = new FrameStream((leftOut) => `[${leftOut}]`);
  const backlog = Array.from({ length: 1_000 }, (_, n) => `b${n} ${'y'.repeat(2_000)}\n`);
  frames.replay(backlog);
  for (let n = 0; n < 10_000; n++) frames.send(`f${n} ${'x'.repeat(200)}\n`);
  frames.end();
  let text = '';
  for await (const chunk of frames) text += String(chunk);
  t.true(text.length < 256 * 1024 + 2_100_000);
  t.is(text.match(/\[\d+\]/g)?.length, 1);
  const left = Number(/\[(\d+)\]/.exec(text)?.[1]);
  t.is(text.match(/^(?:\[\d+\])?[bf]\d+ /gm)?.length, 11_000 - left);
  t.true(text.includes('f9999 '));

  const strict = new FrameStream('end');
  for (let n = 0; n < 10_000; n++) strict.send('x'.repeat(100));
  let rest = 0;
  for await (const chunk of strict) rest += String(chunk).length;
  t.is(rest, 0);
});

test('a log stream pings every 15 s and ends after 30 min', async (t) => {
  const it = await running(t);
  // A player keeps the server awake, and with it the stream open.
  it.games.players.set('abc', 1);
  const stream = await open(t, it, `${LOGS}?tail=0`);
  await it.clock.advance(14_999);
  t.is(stream.text(), '');
  await it.clock.advance(1);
  t.is(await stream.until('ping'), ': ping\n\n');
  for (let at = 15_000; at < 1_785_000; at += 15_000) await it.clock.advance(15_000);
  await stream.until(/^(: ping\n\n){119}$/);
  await it.clock.advance(15_000);
  t.regex(await stream.ended, /^(: ping\n\n){119,120}$/);
  await idle(it);
});

test('log streams end when their key is revoked or expires, the role is removed or the server is deleted', async (t) => {
  const it = await running(t);
  const who = { kind: 'session', userId: 'usr_test', accountId: 'acc_test' } as never;
  const { key, row } = await it.mint(['servers:read']);
  const revoked = await open(t, it, LOGS, { 'x-api-key': key });
  await revokeOwnKey(it.services, who, row.id);
  await revoked.ended;

  const silently = await it.mint(['servers:read']);
  const edited = await open(t, it, LOGS, { 'x-api-key': silently.key });
  const expiring = await it.mint(['servers:read'], { expiresAt: it.clock.now() + 20_000 });
  const expired = await open(t, it, LOGS, { 'x-api-key': expiring.key });
  const stranger = await it.stranger();
  await it.share('abc', 'limited');
  const member = await open(t, it, LOGS, { 'x-api-key': stranger });
  const owner = await open(t, it, LOGS);
  const { row: server } = (await it.servers.get('abc'))!;
  await removeMember(it.services, who, server, 'mem_abc_limited');
  await member.ended;
  await it.store.write((tx) => tx.run('UPDATE "api_keys" SET "revokedAt" = 1 WHERE "id" = $1', [silently.row.id]));
  for (let n = 0; n < 2; n++) await it.clock.advance(15_000);
  await expired.ended;
  await it.clock.advance(15_000);
  await edited.ended;
  it.engine.print('abc', 'still there');
  await owner.until('still there');
  await it.ok('DELETE', '/v1/servers/abc');
  await owner.ended;
  await idle(it);
});

interface SeenEvent {
  id: string;
  event: string;
  data: Record<string, unknown>;
}

function eventsIn(text: string): SeenEvent[] {
  const frames = text.split('\n\n').filter((frame) => frame !== '' && !frame.startsWith(':'));
  return frames.map((frame) => {
    const [, id, event, data] = /^(?:id: (.+)\n)?event: (.+)\ndata: (.+)$/.exec(frame) ?? [];
    return { id: id!, event: event!, data: JSON.parse(data!) as SeenEvent['data'] };
  });
}

const EVENTS = '/v1/servers/abc/events/stream';

test('an event stream sends the state first, then each change, and resumes after the last event id', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const said = ['Preparing level "world"', 'Preparing spawn area: 42%'];
  it.engine.script('abc', { print: said.map((line) => `[12:00:00] [Server thread/INFO]: ${line}`) });
  const stream = await open(t, it, EVENTS);
  t.is(stream.headers['content-type'], 'text/event-stream; charset=utf-8');
  t.like(eventsIn(await stream.until('\n\n'))[0], { event: 'state', data: { state: 'hibernated', error: null } });
  it.games.silent.add('abc');
  await it.command('abc', 'START');
  await it.passUntil(() => stream.text().includes('42'), 250);
  it.games.silent.delete('abc');
  await it.reach('abc', 'running');
  it.games.players.set('abc', 2);
  await it.passUntil(() => stream.text().includes('"online":2'), 1_000);
  // Ignore tick events, because a resumed stream repeats only the newest one.
  const seen = eventsIn(stream.text()).filter(({ event }) => event !== 'tick');
  t.deepEqual(
    seen.filter(({ event }) => event === 'state').map(({ data }) => data['state']),
    ['hibernated', 'starting', 'running'],
  );
  t.like(seen.find(({ data }) => data['state'] === 'starting')?.data, { cause: { kind: 'key', id: 'key_test' } });
  t.true(seen.some(({ event, data }) => event === 'progress' && data['percent'] === 42));
  t.like(seen.findLast(({ event }) => event === 'progress')?.data, { phase: 'ready', percent: 100 });
  t.is(seen.find(({ data }) => data['state'] === 'running')?.data['percent'], 100);
  t.is(seen.at(-1)?.data['online'], 2);
  t.is(new Set(seen.map(({ id }) => id)).size, seen.length);

  for (const [index, { id }] of seen.entries()) {
    const again = await open(t, it, EVENTS, { 'last-event-id': id });
    const rest = seen.slice(index + 1);
    if (rest.length > 0) await again.until(`id: ${rest.at(-1)!.id}\n`);
    t.deepEqual(
      eventsIn(again.text()).filter(({ event }) => event !== 'tick'),
      rest,
    );
    again.close();
    await it.until(() => it.services.streamSlots.taken() === 2);
  }
  for (const unknown of ['x.1', `${seen[0]!.id}9999`, 'nonsense', `${seen[0]!.id.split('.')[0]}.-1`]) {
    const fresh = await open(t, it, EVENTS, { 'last-event-id': unknown });
    const [gap, state, ...rest] = eventsIn(await fresh.until(/event: state\n.+\n\n/));
    t.deepEqual([gap?.event, gap?.id], ['gap', undefined], 'missing events are reported without an id to resume from');
    t.like(state, { event: 'state', data: { state: 'running' } });
    t.deepEqual(rest, []);
    fresh.close();
    await it.until(() => it.services.streamSlots.taken() === 2);
  }
  await it.ok('DELETE', '/v1/servers/abc');
  t.notRegex(await stream.ended, /deleting/);
  await it.until(() => it.services.streamSlots.taken() === 0);
});

test('each minute’s figures are sent as a tick event, and a resumed stream gets only the newest', async (t) => {
  const it = await running(t);
  it.games.players.set('abc', 2);
  it.games.run = async () => 'Target tick rate: 20.0 per second.\nAverage time per tick: 80.0ms (Target: 50.0ms)';
  const stream = await open(t, it, EVENTS);
  const [first] = eventsIn(await stream.until('\n\n'));
  const ticks = (text: string) => eventsIn(text).filter(({ event }) => event === 'tick');
  for (let minute = 1; minute <= 3; minute++) {
    await it.clock.advance(60_000);
    await it.until(() => ticks(stream.text()).length === minute);
    // Events are sent before the figures are stored. The next reading waits for the write.
    await it.store.write(async () => {});
  }
  const figures = { tps: 12.5, mspt: 80, cpuPercent: 0, memUsedMb: 1, memLimitMb: 512, players: 2, live: true };
  const { at, ...data } = ticks(stream.text()).at(-1)!.data;
  t.deepEqual(data, figures);
  t.is(typeof at, 'string');
  const again = await open(t, it, EVENTS, { 'last-event-id': first!.id });
  await again.until('event: tick');
  t.deepEqual(ticks(again.text()), ticks(stream.text()).slice(-1));
});

test('a new event stream starts with the players, the quota and the open alert', async (t) => {
  const it = await running(t);
  it.games.players.set('abc', 2);
  await it.passUntil(async () => (await it.servers.get('abc'))?.context.live.players === 2, 1_000);
  const openedAt = it.clock.now();
  await it.store.write((tx) => insertIncident(tx, { serverId: 'abc', openedAt }));
  const fresh = async () => {
    const stream = await open(t, it, EVENTS);
    const [first] = eventsIn(await stream.until('\n\n'));
    stream.close();
    return first!;
  };
  const alert = { alert: 'tps.low', at: new Date(openedAt).toISOString() };
  const { event, data } = await fresh();
  t.is(event, 'state');
  t.like(data, { state: 'running', players: 2, quota: { diskQuotaEffectiveMb: 0, quotaExceeded: false }, alert });
  it.serverEvents.publish('abc', 'alert', { alert: 'tps.recovered', tps: 20, mspt: 2, players: 2, slowSeconds: 60 });
  t.is((await fresh()).data['alert'], null, 'the last event is newer than the stored alert');
  await it.command('abc', 'STOP');
  await it.reach('abc', 'hibernated', 300_000);
  t.like((await fresh()).data, { state: 'hibernated', players: null });
});

test('an event stream reports that a server waits for its unreachable node, since when, and its return', async (t) => {
  const nodes = [
    { id: 'n1', name: 'one' },
    { id: 'n2', name: 'two' },
  ];
  const it = await api(t, { world: { nodes } });
  await it.create('abc');
  await it.command('abc', 'START');
  await it.reach('abc', 'running');
  const engine = it.engine.nodes!;
  const stream = await open(t, it, EVENTS);
  const told = async (part: string) => {
    await it.passUntil(() => stream.text().includes(part), 1_000);
    return eventsIn(stream.text()).at(-1);
  };
  t.like(eventsIn(await stream.until('\n\n'))[0]?.data, { state: 'running', waits: null });
  const since = new Date(it.clock.now()).toISOString();
  engine.cut('n1');
  const waits = { node: 'one', since };
  t.like(await told('"node":"one"'), { event: 'state', data: { state: 'running', error: null, waits } });
  const late = await open(t, it, EVENTS);
  t.like(eventsIn(await late.until('\n\n'))[0], { event: 'state', data: { waits } });
  const known = stream.text().length;
  engine.back('n1');
  await it.passUntil(() => stream.text().includes('"waits":null', known), 1_000);
  t.like(eventsIn(stream.text()).at(-1), { event: 'state', data: { state: 'running', waits: null } });
});

test('an event stream reports the suspension of a sleeping server with reason and time, and its end', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const stream = await open(t, it, EVENTS);
  const suspended = { reason: 'Report 4711', since: new Date(it.clock.now()).toISOString() };
  t.like(eventsIn(await stream.until('\n\n'))[0]?.data, { state: 'hibernated', suspended: null });
  const row = { serverId: 'abc', reason: 'Report 4711', userId: 'usr_test', at: it.clock.now() };
  await it.services.suspensions.set(row, async () => {});
  await stream.until('Report 4711');
  t.like(eventsIn(stream.text()).at(-1), { event: 'state', data: { state: 'hibernated', suspended } });
  const late = await open(t, it, EVENTS);
  t.like(eventsIn(await late.until('\n\n'))[0]?.data, { suspended });
  const known = stream.text().length;
  await it.services.suspensions.lift('abc', async () => {});
  await it.passUntil(() => stream.text().includes('"suspended":null', known), 1_000);
  t.like(eventsIn(stream.text()).at(-1), { event: 'state', data: { state: 'hibernated', suspended: null } });
});

test('an event stream reports an exceeded quota and the progress of a backup', async (t) => {
  const it = await api(t, { diskQuota: [{ ramMb: Infinity, quotaMb: 2 }] });
  await it.create('abc');
  const stream = await open(t, it, EVENTS);
  const events = (kind: string) =>
    eventsIn(stream.text())
      .filter(({ event }) => event === kind)
      .map(({ data }) => data);
  await it.ok('POST', '/v1/servers/abc/backups');
  // Wait in real time. The clock must stand still, because the stream ends after half an hour.
  await it.until(() => events('backup').at(-1)?.['state'] === 'ready');
  t.like(events('backup')[0], { state: 'queued', percent: 0 });
  t.is(new Set(events('backup').map(({ id }) => id)).size, 1);
  const folder = join(it.dataDir, 'servers/abc');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'world'), Buffer.alloc(3 * 2 ** 20, 1));
  // The service does not see files written by the test, so measure the folder again.
  await it.disks.usage.measure('abc');
  t.is((await it.call('POST', '/v1/servers/abc:start')).reason, 'QUOTA_EXCEEDED');
  await stream.until('event: quota');
  const [quota] = events('quota');
  t.like(quota, { diskQuotaEffectiveMb: 2, quotaExceeded: true });
  const late = await open(t, it, EVENTS);
  const { at, ...figures } = quota!;
  t.is(typeof at, 'string');
  t.deepEqual(eventsIn(await late.until('\n\n'))[0]?.data['quota'], figures);
});

test('event streams keep only the newest events for resuming, and report a crash with its error code', async (t) => {
  const it = await running(t);
  const stream = await open(t, it, EVENTS);
  const [first] = eventsIn(await stream.until('\n\n'));
  // The service keeps 200 events, which may include some of its own.
  const publish = (from: number, to: number) => {
    for (let online = from; online <= to; online++) it.serverEvents.publish('abc', 'players', { online });
  };
  publish(1, 150);
  await stream.until('"online":150}');
  const known = await open(t, it, EVENTS, { 'last-event-id': first!.id });
  await known.until('"online":150}');
  t.true(eventsIn(known.text()).length >= 150);
  publish(151, 250);
  await stream.until('"online":250}');
  const late = await open(t, it, EVENTS, { 'last-event-id': first!.id });
  t.like(eventsIn(await late.until(/event: state\n.+\n\n/)), [{ event: 'gap' }, { event: 'state' }]);
  t.is((await it.call('GET', EVENTS)).status, 429);
  t.is((await open(t, it, LOGS)).status, 200, 'log streams have their own limit');
  known.close();
  await it.until(() => it.services.streamSlots.taken() === 6);
  const hundredth = eventsIn(stream.text()).find(({ data }) => (data as { online?: number }).online === 100);
  const next = await open(t, it, EVENTS, { 'last-event-id': hundredth!.id });
  await next.until('"online":250}');
  t.true(next.text().includes('"online":101}'));
  t.false(next.text().includes('"online":100}'));
  it.engine.crash('abc', { code: 1 });
  await stream.until('start_failed');
  t.like(eventsIn(stream.text()).at(-1)?.data, { state: 'start_failed', error: { code: 'unknown' } });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { Control } from '../../../proxy/link/control.ts';
import { type Channel, type FromProxy, type FromService, LINK_PROTOCOL } from '../../../proxy/link/messages.ts';
import { keepLinked } from '../../../proxy/link/dial.ts';
import type { Joined, Log } from '../../../proxy/ports.ts';
import { createLinkServer } from '../../../src/joining/link/link-server.ts';
import { LinkedProxies, type LinkedProxiesOptions } from '../../../src/joining/link/linked-proxies.ts';
import { sumOf } from '../../../src/joining/link/proxies.ts';
import { fakeClock } from '../../fakes/clock.ts';
import { until } from '../../support/until.ts';

const ALEX = { name: 'Alex', uuid: null, ip: '203.0.113.7', protocol: 774 };

function logOf(lines: object[]): Log {
  const add = (fields: object, message: string) => void lines.push({ ...fields, message });
  return { debug: add, info: add, warn: add };
}

function service(options: Partial<LinkedProxiesOptions> = {}) {
  const lines: { message: string; reason?: string }[] = [];
  const presence: [string, Joined][] = [];
  const proxies = new LinkedProxies({
    routes: { hosts: () => [], at: () => undefined, nameless: () => null, follow: () => () => {} },
    bans: { all: () => [], of: () => [], follow: () => () => {}, refresh: () => {} },
    wake: { admit: async () => {}, wake: () => new Promise(() => {}) },
    presence: { changed: (id, joined) => void presence.push([id, joined]) },
    log: logOf(lines),
    logLevel: 'info',
    ...options,
  });
  proxies.open();
  return { proxies, lines, presence };
}

/** A proxy that sends only a greeting and the messages passed to `say`. */
function dumbProxy(proxies: LinkedProxies, protocol = LINK_PROTOCOL, id = 'one') {
  const told: FromService[] = [];
  const channel: Channel = {
    send: (text) => void told.push(JSON.parse(text) as FromService),
    room: async () => {},
    close: () => {},
  };
  const link = proxies.connect(channel);
  const say = (message: FromProxy): void => link.receive(JSON.stringify(message));
  const self = { name: id, version: '7-old', settings: '', pid: 2, since: 0, listening: null };
  say({ type: 'hello', protocol, id, ...self });
  return { told, say, closed: () => link.closed() };
}

test('a proxy with another link version is refused with both versions named, and is logged once', (t) => {
  const refused: string[] = [];
  const { proxies, lines } = service({ onRefused: ({ id }) => refused.push(id) });
  for (let attempt = 0; attempt < 3; attempt++) {
    const { told, closed } = dumbProxy(proxies, LINK_PROTOCOL + 1);
    t.is(told.length, 1);
    const [message] = told;
    t.is(message?.type, 'refused');
    const reason = message?.type === 'refused' ? message.reason : '';
    t.regex(reason, /7-old/);
    const versions = `version ${LINK_PROTOCOL + 1} of the link protocol, but the service uses version ${LINK_PROTOCOL}`;
    t.true(reason.includes(versions), reason);
    closed();
  }
  t.deepEqual(
    lines.map(({ message }) => message),
    ['refused a proxy'],
  );
  t.deepEqual(refused, ['one', 'one', 'one'], 'onRefused is called each time');
  t.deepEqual(proxies.views(), []);
});

test('a refused proxy logs the reason once, retries with a delay, and connects once it is accepted', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'dormouse-link-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const lines: { message: string; reason?: string }[] = [];
  const log = logOf(lines);
  const self = { id: 'one', name: 'one', version: '1', settings: '', pid: 2, since: 0 };
  const control = new Control(self, log);
  const nothing = {
    players: () => [],
    stats: () => sumOf([]),
    kick: () => {},
    learn: () => {},
    openPorts: () => {},
    drain: () => {},
  };
  control.serve(nothing);

  // A service of another release.
  const greeted: number[] = [];
  const other = { connect: (channel: Channel) => refuseAll(channel, greeted) } as unknown as LinkedProxies;
  const path = join(folder, 'link.sock');
  const strange = createLinkServer(other, '');
  await strange.listenAt(path);
  t.teardown(keepLinked(control, [{ path }], log));
  await until(() => control.isRefused);
  await until(() => greeted.length === 2);
  t.true(greeted[1]! - greeted[0]! > 4_000, 'the retry comes seconds later, not at once');
  t.deepEqual(
    lines.map(({ message, reason }) => [message, reason]),
    [['the service refuses this proxy; retrying', 'another release']],
  );
  t.false(control.isConnected);

  await strange.close();
  const { proxies } = service();
  t.teardown(() => proxies.close());
  const right = createLinkServer(proxies, '');
  await right.listenAt(path);
  t.teardown(() => right.close());
  await until(() => control.isConnected);
  t.false(control.isRefused);
});

function refuseAll(channel: Channel, greeted: number[]) {
  return {
    receive() {
      greeted.push(performance.now());
      channel.send(JSON.stringify({ type: 'refused', reason: 'another release' }));
    },
    closed() {},
    lag() {},
  };
}

test('players of a disconnected proxy stay listed for 15 s and are removed unless it returns', async (t) => {
  const clock = fakeClock();
  const { proxies, presence } = service({ after: (ms, fire) => clock.at(clock.now() + ms, fire) });
  const here = { id: 'castle', inside: 1, knocking: 0, players: [ALEX] };
  const arrive = () => {
    const proxy = dumbProxy(proxies);
    proxy.say({ type: 'here', servers: [here] });
    proxy.say({ type: 'whole' });
    return proxy;
  };
  const first = arrive();
  t.deepEqual(presence.splice(0), [['castle', { inside: 1, knocking: 0 }]]);
  first.closed();
  await clock.advance(14_999);
  t.deepEqual(proxies.players('castle'), [ALEX]);
  const second = arrive();
  await clock.advance(60_000);
  t.deepEqual(proxies.players('castle'), [ALEX], 'the proxy returned in time');
  t.true(
    presence.splice(0).every(([, { inside }]) => inside === 1),
    'the player stayed listed throughout',
  );

  second.closed();
  await clock.advance(15_000);
  t.deepEqual(proxies.players('castle'), []);
  t.deepEqual(presence.splice(0), [['castle', { inside: 0, knocking: 0 }]]);
  t.deepEqual(proxies.views(), []);

  arrive().closed();
  proxies.lost('one');
  t.deepEqual(proxies.players('castle'), [], 'a proxy whose process has ended is removed at once');
  t.is(clock.pending(), 0);
});

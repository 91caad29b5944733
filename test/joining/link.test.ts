import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import type { VerifiedAccount } from '../../proxy/accounts.ts';
import { Control } from '../../proxy/link/control.ts';
import type { BannedAddress, Channel } from '../../proxy/link/messages.ts';
import { type Address, JoinRefused, type Joined, type Player, type Route } from '../../proxy/ports.ts';
import { LinkedProxies } from '../../src/joining/link/linked-proxies.ts';
import { sumOf } from '../../src/joining/link/proxies.ts';
import { route } from '../proxy/support.ts';
import * as fc from '../support/property.ts';

const HOSTS = ['a.example.com', 'b.example.com', 'c.example.com'];
const SERVERS = ['a', 'b', 'c'];
const NO_LOG = { debug: () => {}, info: () => {}, warn: () => {} };
const HERE = { host: '127.0.0.1', port: 25_565 };

/** The state of the servers, shared by every process of the service. */
class World {
  routes = new Map<string, Route>();
  bans = new Map<string, readonly BannedAddress[]>();
  hostListeners = new Set<(host: string) => void>();
  banListeners = new Set<(serverId: string) => void>();

  set(host: string, changed: Route | undefined): void {
    if (changed) this.routes.set(host, changed);
    else this.routes.delete(host);
    for (const listener of this.hostListeners) listener(host);
  }

  ban(server: string, list: readonly BannedAddress[]): void {
    this.bans.set(server, list);
    for (const listener of this.banListeners) listener(server);
  }

  feeds() {
    return {
      routes: {
        hosts: () => [...this.routes.keys()],
        at: (host: string) => this.routes.get(host),
        nameless: () => {
          const [host] = [...this.routes.keys()].toSorted();
          return host === undefined ? null : { host, unlessBelow: null };
        },
        follow: (listener: (host: string) => void) => {
          this.hostListeners.add(listener);
          return () => this.hostListeners.delete(listener);
        },
      },
      bans: {
        all: () => this.bans,
        of: (server: string) => this.bans.get(server) ?? [],
        refresh: () => {},
        follow: (listener: (serverId: string) => void) => {
          this.banListeners.add(listener);
          return () => this.banListeners.delete(listener);
        },
      },
    };
  }
}

interface Asked {
  server: string;
  player: Player;
  signal: AbortSignal;
  resolve: (address: Address) => void;
  reject: (error: unknown) => void;
}

/** One process of the service. */
function serviceOf(world: World, later: (run: () => void) => void) {
  const presence = new Map<string, Joined>();
  const asked: Asked[] = [];
  const proxies = new LinkedProxies({
    ...world.feeds(),
    wake: {
      admit: async (server, { ip }) => {
        if ((world.bans.get(server) ?? []).some(([banned]) => banned === ip)) throw new JoinRefused('banned');
      },
      wake: (server, player, signal) =>
        new Promise<Address>((resolve, reject) => {
          asked.push({ server, player, signal, resolve, reject });
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }).finally(() =>
          asked.splice(
            asked.findIndex((each) => each.player === player),
            1,
          ),
        ),
    },
    presence: { changed: (id, joined) => void presence.set(id, joined) },
    log: NO_LOG,
    logLevel: 'info',
    later,
    after: () => () => {},
  });
  proxies.open();
  return { proxies, presence, asked };
}

/** The messages in flight in each direction, in order. A break loses the messages in flight. */
class Wire {
  up: string[] = [];
  down: string[] = [];
  /** Whether this side has noticed a break. */
  brokenAbove = false;
  brokenBelow = false;
  readonly above: ReturnType<LinkedProxies['connect']>;
  readonly below: ReturnType<Control['connect']>;

  constructor(proxies: LinkedProxies, control: Control) {
    const channel = (queue: () => string[], isBroken: () => boolean): Channel => ({
      send: (text) => void (isBroken() || queue().push(text)),
      room: async () => {},
      close: () => {},
    });
    this.above = proxies.connect(
      channel(
        () => this.down,
        () => this.brokenAbove || this.brokenBelow,
      ),
    );
    this.below = control.connect(
      channel(
        () => this.up,
        () => this.brokenAbove || this.brokenBelow,
      ),
    );
  }

  /** Delivers at most `most` messages in each direction. */
  carry(most: number): void {
    for (const text of this.up.splice(0, most)) this.above.receive(text);
    for (const text of this.down.splice(0, most)) this.below.receive(text);
  }

  /** Delivers some messages and loses the rest. Only `side` notices the break now. */
  cut(arrives: number, side: 'above' | 'below'): void {
    this.carry(arrives);
    [this.up, this.down] = [[], []];
    if (side === 'above') this.noticeAbove();
    else this.noticeBelow();
  }

  noticeAbove(): void {
    if (!this.brokenAbove) this.above.closed();
    this.brokenAbove = true;
  }

  noticeBelow(): void {
    if (!this.brokenBelow) this.below.closed();
    this.brokenBelow = true;
  }
}

/** A proxy without sockets. */
class FakeProxy {
  readonly players: { server: string; player: Player; inside: boolean }[] = [];
  readonly wakes: { server: string; gone: AbortController; outcome: Promise<Address | Error> }[] = [];
  readonly learnt: VerifiedAccount[] = [];
  readonly control: Control;
  readonly ports: number[][] = [];
  wire: Wire | undefined;
  oldWires: Wire[] = [];

  constructor(id: string, later: (run: () => void) => void) {
    const self = { id, name: id, version: '1', settings: '', pid: 1, since: 0 };
    this.control = new Control(self, NO_LOG, { now: () => 0, later });
    this.control.serve({
      players: (server) => this.players.filter((each) => each.server === server).map(({ player }) => player),
      stats: () => ({ ...sumOf([]), joins: this.players.length }),
      kick: (server, ip) => {
        for (const each of this.players.filter((one) => one.server === server && one.player.ip === ip))
          this.leave(this.players.indexOf(each));
      },
      learn: (account) => void this.learnt.push(account),
      openPorts: (ports) => void this.ports.push([...ports]),
      drain: () => {},
    });
    this.control.sendListening(HERE, false);
  }

  join(server: string, player: Player, inside: boolean): void {
    this.players.push({ server, player, inside });
    this.#tell(server);
  }

  leave(index: number): void {
    const [gone] = this.players.splice(index, 1);
    if (gone) this.#tell(gone.server);
  }

  wake(server: string, player: Player): void {
    const gone = new AbortController();
    const outcome = this.control.wake(server, player, gone.signal).catch((error: Error) => error);
    this.wakes.push({ server, gone, outcome });
  }

  #tell(server: string): void {
    const there = this.players.filter((each) => each.server === server);
    const inside = there.filter((each) => each.inside).length;
    this.control.changed(server, { inside, knocking: there.length - inside });
  }
}

const server = fc.integer({ min: 0, max: 2 });
const proxy = fc.integer({ min: 0, max: 1 });
const step = fc.oneof(
  fc.record({ do: fc.constant('route' as const), server, state: fc.constantFrom('hibernated', 'running', 'gone') }),
  fc.record({ do: fc.constant('ban' as const), server, ip: fc.constantFrom('192.0.2.1', '192.0.2.2', '') }),
  fc.record({
    do: fc.constant('join' as const),
    proxy,
    server,
    ip: fc.constantFrom('192.0.2.1', '192.0.2.3'),
    inside: fc.boolean(),
  }),
  fc.record({ do: fc.constant('leave' as const), proxy, index: fc.nat(5) }),
  fc.record({ do: fc.constant('wake' as const), proxy, server }),
  fc.record({ do: fc.constant('giveUp' as const), proxy, index: fc.nat(5) }),
  fc.record({ do: fc.constant('answer' as const), index: fc.nat(5), refuse: fc.boolean() }),
  fc.record({ do: fc.constant('carry' as const), proxy, most: fc.nat(6) }),
  fc.record({ do: fc.constant('gathered' as const) }),
  fc.record({ do: fc.constant('cut' as const), proxy, arrives: fc.nat(4), side: fc.constantFrom('above', 'below') }),
  fc.record({ do: fc.constant('notice' as const), proxy }),
  fc.record({ do: fc.constant('connect' as const), proxy }),
  fc.record({ do: fc.constant('restart' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class Run {
  readonly world = new World();
  readonly gathered: (() => void)[] = [];
  readonly later = (run: () => void): void => void this.gathered.push(run);
  service = serviceOf(this.world, this.later);
  readonly proxies = ['one', 'two'].map((id) => new FakeProxy(id, this.later));
  names = 0;

  async take(step: Step): Promise<void> {
    const name = `P${this.names++}`;
    switch (step.do) {
      case 'route':
        this.world.set(HOSTS[step.server]!, step.state === 'gone' ? undefined : this.#route(step.server, step.state));
        break;
      case 'ban':
        this.world.ban(SERVERS[step.server]!, step.ip === '' ? [] : [[step.ip, null, 'banned']]);
        break;
      case 'join':
        this.proxies[step.proxy]!.join(SERVERS[step.server]!, this.#player(name, step.ip), step.inside);
        break;
      case 'leave':
        this.proxies[step.proxy]!.leave(step.index);
        break;
      case 'wake':
        this.proxies[step.proxy]!.wake(SERVERS[step.server]!, this.#player(name, '192.0.2.9'));
        break;
      case 'giveUp':
        this.proxies[step.proxy]!.wakes[step.index]?.gone.abort(new Error('gave up'));
        break;
      case 'answer': {
        const asked = this.service.asked[step.index];
        if (step.refuse) asked?.reject(new JoinRefused('no'));
        else asked?.resolve(HERE);
        break;
      }
      case 'carry':
        this.proxies[step.proxy]!.wire?.carry(step.most);
        break;
      case 'gathered':
        for (const run of this.gathered.splice(0)) run();
        break;
      case 'cut':
        this.#cut(this.proxies[step.proxy]!, step.arrives, step.side);
        break;
      case 'notice':
        for (const wire of this.proxies[step.proxy]!.oldWires.splice(0)) this.#notice(wire);
        break;
      case 'connect':
        this.#connect(this.proxies[step.proxy]!);
        break;
      case 'restart':
        // A killed process sends and receives no more messages.
        for (const each of this.proxies) if (each.wire) each.wire.brokenAbove = true;
        for (const each of this.proxies) this.#cut(each, 0, 'below');
        this.world.hostListeners.clear();
        this.world.banListeners.clear();
        this.service = serviceOf(this.world, this.later);
        break;
      default:
        step satisfies never;
    }
    await turn();
  }

  /** Lets both sides notice every break, links every proxy and delivers all messages. */
  async settle(): Promise<void> {
    for (const each of this.proxies) {
      this.#connect(each);
      for (const wire of each.oldWires.splice(0)) this.#notice(wire);
    }
    for (let quiet = 0; quiet < 3;) {
      const wires = this.proxies.flatMap(({ wire }) => wire ?? []);
      const isQuiet = this.gathered.length === 0 && wires.every(({ up, down }) => up.length + down.length === 0);
      quiet = isQuiet ? quiet + 1 : 0;
      for (const { control } of this.proxies) control.sendStats();
      for (const run of this.gathered.splice(0)) run();
      for (const wire of wires) wire.carry(100);
      await turn();
    }
  }

  #cut(each: FakeProxy, arrives: number, side: 'above' | 'below'): void {
    each.wire?.cut(arrives, side);
    if (each.wire) each.oldWires.push(each.wire);
    each.wire = undefined;
  }

  #notice(wire: Wire): void {
    wire.noticeAbove();
    wire.noticeBelow();
  }

  #connect(each: FakeProxy): void {
    // Connects even if the other side has not noticed that the last connection broke.
    if (!each.wire) each.wire = new Wire(this.service.proxies, each.control);
  }

  #route(index: number, state: string): Route {
    const lastStatus = this.names % 3 === 0 ? null : `{"n":${this.names % 4}}`;
    return route({ serverId: SERVERS[index]!, state: state as Route['state'], motd: `m${this.names}`, lastStatus });
  }

  #player(name: string, ip: string): Player {
    return { name, uuid: null, ip, protocol: 770 };
  }
}

test('a player who leaves before the join is sent is still reported, even to a restarted service', async (t) => {
  const run = new Run();
  await run.settle();
  const [one] = run.proxies;
  await run.take({ do: 'join', proxy: 0, server: 0, ip: '192.0.2.1', inside: true });
  await run.take({ do: 'leave', proxy: 0, index: 0 });
  await run.settle();
  const wasInside = { inside: 0, knocking: 0, insideMsAgo: 0 };
  t.deepEqual(run.service.presence.get('a'), wasInside);
  await run.take({ do: 'join', proxy: 0, server: 1, ip: '192.0.2.1', inside: false });
  await run.take({ do: 'leave', proxy: 0, index: 0 });
  await run.settle();
  t.deepEqual(run.service.presence.get('b'), { inside: 0, knocking: 0 }, 'no player was let in');

  one!.wire = undefined;
  await run.take({ do: 'join', proxy: 0, server: 2, ip: '192.0.2.1', inside: true });
  await run.take({ do: 'leave', proxy: 0, index: 0 });
  await run.take({ do: 'restart' });
  await run.settle();
  t.deepEqual(run.service.presence.get('c'), wasInside);
});

test('an account verified by one proxy is sent to the others and to a reconnecting one', async (t) => {
  const run = new Run();
  await run.settle();
  const [one, two] = run.proxies;
  one!.control.sendVerified({ name: 'Steve', ip: '192.0.2.1', forMs: 3_600_000 });
  await run.settle();
  t.deepEqual(two!.learnt, [{ name: 'Steve', ip: '192.0.2.1', forMs: 3_600_000 }]);
  t.deepEqual(one!.learnt, []);

  await run.take({ do: 'cut', proxy: 1, arrives: 0, side: 'below' });
  await run.settle();
  t.deepEqual(
    two!.learnt.map(({ name, ip, forMs }) => [name, ip, forMs > 0 && forMs <= 3_600_000]),
    Array.from({ length: 2 }, () => ['Steve', '192.0.2.1', true]),
    'sent again, with the remaining time',
  );
});

test('the service and its proxies agree again after any sequence of lost messages and restarts', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const run = new Run();
      for (const each of steps) await run.take(each);
      await run.settle();
      const { world, service, proxies } = run;

      for (const { control } of proxies) {
        t.true(control.isConnected);
        for (const host of HOSTS) t.deepEqual(control.lookup(host), world.routes.get(host));
        t.deepEqual(control.lookup('localhost'), world.routes.get([...world.routes.keys()].toSorted()[0] ?? ''));
        for (const id of SERVERS) {
          for (const ip of ['192.0.2.1', '192.0.2.2']) {
            const isBanned = (world.bans.get(id) ?? []).some(([banned]) => banned === ip);
            const refused = await control
              .admit(id, { name: 'x', uuid: null, ip, protocol: 770 })
              .catch(() => 'refused');
            t.is(refused, isBanned ? 'refused' : undefined);
          }
        }
      }
      for (const id of SERVERS) {
        const there = proxies.flatMap(({ players }) => players.filter((each) => each.server === id));
        t.deepEqual(names(service.proxies.players(id)), names(there.map(({ player }) => player)));
        const inside = there.filter((each) => each.inside).length;
        const told = service.presence.get(id) ?? { inside: 0, knocking: 0 };
        t.deepEqual([told.inside, told.knocking], [inside, there.length - inside]);
      }
      // Each wake with a waiting player is requested once, and its answer arrives.
      for (const each of proxies)
        for (const wake of each.wakes) void wake.outcome.then(() => Object.assign(wake, { done: true }));
      await turn();
      const open = proxies.flatMap(({ wakes }) => wakes.filter((wake) => !('done' in wake)));
      t.deepEqual(service.asked.map((each) => each.server).toSorted(), open.map((each) => each.server).toSorted());
      for (const each of service.asked) each.resolve(HERE);
      await run.settle();
      for (const { outcome } of open) t.deepEqual(await outcome, HERE);
      t.is(
        service.proxies.stats().joins,
        proxies.reduce((sum, { players }) => sum + players.length, 0),
      );
    }),
    { numRuns: 200 },
  );
});

function names(players: readonly Player[]): string[] {
  return players.map(({ name }) => name).toSorted();
}

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext, TestFn } from 'ava';
import {
  type Engine,
  EngineError,
  type EngineEvent,
  type Exit,
  GAME_PORT,
  type Game,
  type GameSpec,
  type LogLine,
  type LogQuery,
  RCON_PORT,
} from '../../src/engines/engine.ts';
import type { Address } from '../../src/kernel/address.ts';
import { canonical } from '../../src/kernel/ip.ts';
import { freePort } from '../support/service.ts';
import { until } from '../support/until.ts';

/** The behaviour of a test's program in place of a game. Default: runs until it is stopped. */
export interface Behaviour {
  /** Lines to print at the start. */
  print?: string[];
  /** Line to print at a request to stop. */
  farewell?: string;
  /** Exit code with which it ends after printing. */
  exitCode?: number;
  ignoreStop?: boolean;
  outOfMemory?: boolean;
  /** Port at which it sends back what it receives, over TCP, and over UDP if the bench can. */
  echo?: number;
  /** Addresses to connect to before all else. It prints for each whether the connection succeeded. */
  dials?: Address[];
}

/** One engine under test with games of its own, and the properties that the suite needs. */
export interface Bench {
  engine: Engine;
  /** Returns another instance on the same games, as after a restart of the service. */
  again: () => Engine;
  spec: (serverId: string, behaviour?: Behaviour) => GameSpec;
  /** Returns everything that the engine stores about a server outside of its data root. */
  traces: (serverId: string) => Promise<string[]>;
  /** Whether the engine limits the memory of games, and whether games listen at their addresses. */
  enforcesMemory: boolean;
  listens: boolean;
  echoesUdp: boolean;
  /** Whether games have networks of their own, in which they cannot reach one another. */
  keepsApart: boolean;
  /** Returns the address of the machine on which a game's published ports are open. Default: this machine's. */
  publishedAt?: (serverId: string) => Promise<string>;
}

/** Creates a bench that is torn down with the test. */
export type MakeBench = (t: ExecutionContext) => Promise<Bench>;

const never = new AbortController().signal;

/**
 * Tests the contract of `Engine`. The tests are serial, because real engines share two processors with everything else.
 */
export function engineConformance(test: TestFn, name: string, makeBench: MakeBench): void {
  const holds = (title: string, body: (t: ExecutionContext, bench: Bench) => Promise<void>) => {
    test.serial(`${name}: ${title}`, async (t) => {
      t.timeout(300_000);
      await body(t, await makeBench(t));
    });
  };

  holds('boot starts a game and leaves a running one alone', async (t, { engine, spec, listens }) => {
    const first = await engine.boot(spec('alpha', { print: ['one run'] }), never);
    t.like(first, { serverId: 'alpha', up: true, installer: false, exit: null });
    t.truthy(first.startedAt);
    if (listens) await answers(first.game!);
    t.deepEqual(await engine.boot(spec('alpha', { print: ['another'] }), never), first);
    t.deepEqual(await engine.inspect('alpha'), first);
    t.deepEqual(await engine.list(), [first]);
    await printed(t, engine, 'alpha', ['one run']);
  });

  holds('published ports lead into the game while it runs, and are free then', async (t, bench) => {
    const { engine, again, spec } = bench;
    if (!bench.listens) {
      t.pass();
      return;
    }
    const [tcp, udp, echo] = await Promise.all([freePort(), freePort(), freePort()]);
    const ports = [
      { hostPort: tcp, containerPort: echo, proto: 'tcp' as const },
      { hostPort: udp, containerPort: echo, proto: 'udp' as const },
    ];
    const echoes = async (id: string) => echoesTcp(tcp, await bench.publishedAt?.(id));
    await engine.boot({ ...spec('alpha', { echo }), ports }, never);
    await until(() => echoes('alpha'));
    if (bench.echoesUdp) await until(() => echoesUdp(udp));
    // The game `alpha` still holds these ports.
    const refusal = await t.throwsAsync(engine.boot({ ...spec('beta'), ports }, never), { instanceOf: EngineError });
    t.is(refusal.code, 'port_in_use');
    await until(() => echoes('alpha'));
    await again().inspect('alpha');
    await engine.halt('alpha', 1_000);
    await engine.boot({ ...spec('beta', { echo }), ports }, never);
    await until(() => echoes('beta'));
    await engine.halt('beta', 1_000);
  });

  holds('the engine reports the addresses from which games see this machine', async (t, { engine, spec, listens }) => {
    const addresses = await engine.proxyAddresses();
    t.deepEqual(addresses.map(canonical), addresses);
    if (!listens) return;
    const { game } = await engine.boot(spec('alpha'), never);
    await answers(game!);
    const socket = createConnection(game!);
    await once(socket, 'connect');
    t.true(addresses.includes(canonical(socket.localAddress ?? '')), `${socket.localAddress} in ${addresses.join()}`);
    socket.destroy();
  });

  holds('a game can never reach another game, from its first moment', async (t, { engine, spec, keepsApart }) => {
    if (!keepsApart) {
      t.pass();
      return;
    }
    // A core that may run its owner's code.
    const core = 'paper';
    const { game, rcon } = await engine.boot({ ...spec('alpha', { echo: RCON_PORT }), core }, never);
    await answers(game!);
    await answers(rcon!);
    const itself = { host: '127.0.0.1', port: GAME_PORT };
    await engine.boot({ ...spec('beta', { dials: [game!, rcon!, itself] }), core }, never);
    const lines = [`apart from ${named(game!)}`, `apart from ${named(rcon!)}`, `reached ${named(itself)}`];
    await printed(t, engine, 'beta', lines);
    await answers((await engine.inspect('beta'))!.game!);
  });

  holds('an engine whose games share addresses knows who listens on them', async (t, { engine, spec }) => {
    t.pass();
    if (!engine.listeners) return;
    const [echo, foreign] = await Promise.all([freePort(), freePort()]);
    const other = createServer().listen(foreign, '127.0.0.1');
    t.teardown(() => other.close());
    await once(other, 'listening');
    const { game, rcon } = await engine.boot(spec('alpha', { echo }), never);
    await answers(game!);
    await until(() => echoesTcp(echo));
    const squatter = createServer().listen(rcon!.port, '127.0.0.1');
    t.teardown(() => squatter.close());
    await once(squatter, 'listening');
    const { own = [], taken } = (await engine.listeners('alpha')) ?? {};
    t.is(own.length, 2);
    for (const port of [game!.port, echo]) t.true(own.includes(port), `${port} in ${own.join()}`);
    t.deepEqual(taken, [rcon!.port]);
    await engine.halt('alpha', 1_000);
    t.is(await engine.listeners('alpha'), undefined);
    t.is(await engine.listeners('beta'), undefined);
  });

  holds('concurrent boots start one game', async (t, { engine, again, spec }) => {
    const other = again();
    const boots = [engine, engine, engine, other].map((each) => each.boot(spec('alpha', { print: ['once'] }), never));
    const games = await Promise.all(boots);
    t.is(new Set(games.map((game) => game.startedAt)).size, 1);
    t.is((await engine.list()).length, 1);
    await printed(t, engine, 'alpha', ['once']);
  });

  holds('games of several servers run side by side', async (t, { engine, spec, listens }) => {
    const games = await Promise.all(['alpha', 'beta'].map((id) => engine.boot(spec(id), never)));
    t.deepEqual((await engine.list()).map((game) => game.serverId).sort(), ['alpha', 'beta']);
    if (listens) t.notDeepEqual(games[0]!.game, games[1]!.game);
    await engine.kill('alpha');
    t.true((await engine.inspect('beta'))?.up);
  });

  holds('halt lets a game end by itself, and does nothing without one', async (t, { engine, spec }) => {
    await engine.halt('alpha', 1_000);
    await engine.boot(spec('alpha', { print: ['hello'], farewell: 'saved' }), never);
    await printed(t, engine, 'alpha', ['hello']);
    await Promise.all([engine.halt('alpha', 20_000), engine.halt('alpha', 20_000)]);
    t.is(await engine.inspect('alpha'), undefined);
    t.deepEqual(await engine.list(), []);
    await printed(t, engine, 'alpha', ['hello', 'saved']);
    await engine.halt('alpha', 1_000);
    await engine.kill('alpha');
  });

  holds('a game that ignores its stop is killed after its grace period', async (t, { engine, spec }) => {
    await engine.boot(spec('alpha', { ignoreStop: true, print: ['deaf'] }), never);
    await printed(t, engine, 'alpha', ['deaf']);
    const began = Date.now();
    await engine.halt('alpha', 1_000);
    t.true(Date.now() - began >= 990);
    t.is(await engine.inspect('alpha'), undefined);
  });

  holds('kill shortens a halt', async (t, { engine, spec }) => {
    await engine.boot(spec('alpha', { ignoreStop: true, print: ['deaf'] }), never);
    await printed(t, engine, 'alpha', ['deaf']);
    const began = Date.now();
    const halted = engine.halt('alpha', 240_000);
    await sleep(100);
    await engine.kill('alpha');
    await halted;
    t.true(Date.now() - began < 200_000);
    t.is(await engine.inspect('alpha'), undefined);
  });

  holds('an aborted halt leaves the game running', async (t, { engine, spec }) => {
    await engine.boot(spec('alpha', { ignoreStop: true, print: ['deaf'] }), never);
    await printed(t, engine, 'alpha', ['deaf']);
    const stop = new AbortController();
    const halted = engine.halt('alpha', 240_000, stop.signal);
    // The request to stop may or may not have reached the game by then. Both must work.
    setTimeout(() => stop.abort(), 300);
    await t.throwsAsync(halted, { name: 'AbortError' });
    t.true((await engine.inspect('alpha'))?.up);
    await engine.kill('alpha');
    t.is(await engine.inspect('alpha'), undefined);
    await t.throwsAsync(engine.halt('alpha', 1_000, AbortSignal.abort()), { name: 'AbortError' });
  });

  holds('a crash keeps its exit code until the next boot', async (t, { engine, spec }) => {
    const began = Date.now();
    await engine.boot(spec('alpha', { exitCode: 3, print: ['boom'] }), never);
    const game = await until(async () => ended(await engine.inspect('alpha')));
    t.like(game, { up: false, game: null, rcon: null, management: null, exit: { code: 3, oomKilled: false } });
    t.true(game.exit!.at! > began - 1_000 && game.exit!.at! < Date.now() + 1_000);
    t.deepEqual(await engine.list(), [game]);
    t.is(await engine.stats('alpha'), undefined);
    const next = await engine.boot(spec('alpha', { print: ['again'] }), never);
    t.like(next, { up: true, exit: null });
    await printed(t, engine, 'alpha', ['boom', 'again']);
    await engine.halt('alpha', 20_000);
    t.is(await engine.inspect('alpha'), undefined);
  });

  holds('a game that exceeds its memory is killed with the reason', async (t, { engine, spec, enforcesMemory }) => {
    t.pass();
    if (!enforcesMemory) return;
    // With twenty such kills at once, Docker 20.10 reported one in twenty never, or only after the exit.
    const { events } = await watched(t, engine);
    let exit: Exit | null = null;
    for (let attempt = 0; attempt < 3 && !exit?.oomKilled; attempt++) {
      events.length = 0;
      await engine.boot(spec('alpha', { outOfMemory: true }), never);
      ({ exit } = (await until(() => events.find(({ type }) => type === 'down') as { game: Game } | undefined)).game);
      t.is(exit?.code, 137);
    }
    t.true(exit?.oomKilled);
    t.like(await engine.inspect('alpha'), { up: false, exit: { code: 137, oomKilled: true } });
  });

  holds('another instance adopts running games', async (t, { engine, again, spec }) => {
    const alpha = spec('alpha', { print: ['hello'], farewell: 'bye' });
    const game = await engine.boot(alpha, never);
    await printed(t, engine, 'alpha', ['hello']);
    const other = again();
    t.deepEqual(await other.list(), [game]);
    t.deepEqual(await other.inspect('alpha'), game);
    t.deepEqual(await other.boot(alpha, never), game);
    const { events } = await watched(t, other);
    await other.halt('alpha', 20_000);
    t.deepEqual(await engine.list(), []);
    await printed(t, other, 'alpha', ['hello', 'bye']);
    await until(() => events.some((event) => event.type === 'down' && event.game.serverId === 'alpha'));
  });

  holds('output is kept exactly, across boots and from any position', async (t, { engine, again, spec }) => {
    const first = Array.from({ length: 120 }, (_, n) => `first ${n} ${'é'.repeat(n)}`);
    const second = ['', 'second', ' with  blanks ', 'x'.repeat(40_000), 'last'];
    await engine.boot(spec('alpha', { print: first, farewell: 'bye 1' }), never);
    await printed(t, engine, 'alpha', first);
    await engine.halt('alpha', 20_000);
    await engine.boot(spec('alpha', { print: second, farewell: 'bye 2' }), never);
    const all = [...first, 'bye 1', ...second];
    await printed(t, engine, 'alpha', all);
    const lines = await collect(engine.logs('alpha'));
    t.is(new Set(lines.map((line) => line.position)).size, lines.length);
    for (const index of [0, 60, 119, 120, 121, lines.length - 1]) {
      const rest = await texts(again(), 'alpha', { after: lines[index]!.position });
      t.deepEqual(rest, all.slice(index + 1), `behind line ${index}`);
    }
    for (const tail of [0, 1, 5, 6, 7, 100, 1_000]) {
      t.deepEqual(await texts(engine, 'alpha', { tail }), tail === 0 ? [] : all.slice(-tail), `tail ${tail}`);
    }
    t.deepEqual(await texts(engine, 'alpha', { tail: 3, after: lines[2]!.position }), all.slice(-3));
    t.deepEqual(await texts(engine, 'alpha', { after: 'no position of ours' }), all);
    await engine.halt('alpha', 20_000);
    t.deepEqual(await texts(engine, 'alpha', { after: lines[121]!.position }), [...all.slice(122), 'bye 2']);
  });

  holds('a follower receives each line once and ends with the game', async (t, { engine, spec }) => {
    await engine.boot(spec('alpha', { print: ['old'], farewell: 'gone' }), never);
    await printed(t, engine, 'alpha', ['old']);
    await engine.halt('alpha', 20_000);
    await engine.boot(spec('alpha', { print: ['one', 'two'], farewell: 'bye' }), never);
    await printed(t, engine, 'alpha', ['old', 'gone', 'one', 'two']);
    const [{ position }] = (await collect(engine.logs('alpha', { tail: 1 }))) as [LogLine];
    const queries: LogQuery[] = [{}, { tail: 1 }, { tail: 0 }, { after: position }];
    const followers = queries.map((query) => follower(engine, 'alpha', query));
    await until(async () => followers[0]!.got.length === 4 && followers[1]!.got.length === 1);
    // No event shows that the other followers have started.
    await sleep(isDistant(engine) ? 5_000 : 1_000);
    await engine.halt('alpha', 20_000);
    for (const { done } of followers) await done;
    const [whole, last, none, behind] = followers.map(({ got }) => got.map((line) => line.text));
    t.deepEqual(whole, ['old', 'gone', 'one', 'two', 'bye']);
    t.deepEqual(last, ['two', 'bye']);
    t.deepEqual(none, ['bye']);
    t.deepEqual(behind, ['bye']);
    t.deepEqual(await texts(engine, 'alpha', { follow: true, tail: 1 }), ['bye'], 'nothing runs: it ends at once');
  });

  holds(
    'a follower that starts in an earlier run receives the next run as it is printed',
    async (t, { engine, spec }) => {
      await engine.boot(spec('alpha', { print: ['old'], farewell: 'bye' }), never);
      await printed(t, engine, 'alpha', ['old']);
      const [{ position }] = (await collect(engine.logs('alpha', { tail: 1 }))) as [LogLine];
      await engine.halt('alpha', 20_000);
      await engine.boot(spec('alpha', { print: ['new'] }), never);
      const stop = new AbortController();
      const { got, done } = follower(engine, 'alpha', { after: position, signal: stop.signal });
      // The lines arrive without further output that would push them out.
      await until(async () => got.length === 2);
      stop.abort();
      await done;
      t.deepEqual(
        got.map((line) => line.text),
        ['bye', 'new'],
      );
    },
  );

  holds('a follower can be aborted', async (t, { engine, spec }) => {
    await engine.boot(spec('alpha', { print: ['one'] }), never);
    const stop = new AbortController();
    const { got, done } = follower(engine, 'alpha', { signal: stop.signal });
    await until(async () => got.length === 1);
    stop.abort();
    await done;
    t.deepEqual(
      got.map((line) => line.text),
      ['one'],
    );
    t.deepEqual(await texts(engine, 'alpha', { follow: true, signal: stop.signal }), []);
  });

  holds('watchers are notified of games that start and end', async (t, { engine, spec }) => {
    const { events, stop } = await watched(t, engine);
    await engine.boot(spec('alpha', { print: ['up'] }), never);
    await until(async () => events.length === 1);
    await printed(t, engine, 'alpha', ['up']);
    await engine.halt('alpha', 20_000);
    await until(async () => events.length === 2);
    await engine.boot(spec('beta', { exitCode: 7 }), never);
    const crash = await until(async () =>
      events.find((event) => event.type === 'down' && event.game.serverId === 'beta'),
    );
    const heard = events.length;
    stop();
    await engine.boot(spec('alpha'), never);
    await engine.kill('alpha');
    t.like(events[0], { type: 'up', game: { serverId: 'alpha', up: true, installer: false } });
    t.like(events[1], { type: 'down', game: { serverId: 'alpha', up: false, exit: { code: 0, oomKilled: false } } });
    t.like(crash, { type: 'down', game: { game: null, exit: { code: 7 } } });
    t.is(events.length, heard);
  });

  holds('an installer runs to its end', async (t, { engine, spec }) => {
    await engine.install(spec('alpha', { print: ['downloaded'], exitCode: 0 }), never);
    t.deepEqual(await engine.list(), []);
    await printed(t, engine, 'alpha', ['downloaded']);
    const failed = { name: 'EngineError', code: 'install_failed' } as const;
    await t.throwsAsync(engine.install(spec('alpha', { print: ['no disk'], exitCode: 2 }), never), failed);
    t.like(await engine.inspect('alpha'), { up: false, installer: true, exit: { code: 2 } });
    await engine.install(spec('alpha', { print: ['retried'], exitCode: 0 }), never);
    await printed(t, engine, 'alpha', ['downloaded', 'no disk', 'retried']);
    await engine.boot(spec('alpha'), never);
    await t.throwsAsync(engine.install(spec('alpha', { exitCode: 0 }), never), failed);
    t.like(await engine.inspect('alpha'), { up: true, installer: false });
  });

  holds('an installer can be aborted, or awaited by another instance', async (t, { engine, again, spec }) => {
    const stop = new AbortController();
    const installing = engine.install(spec('alpha', { print: ['downloading'], ignoreStop: true }), stop.signal);
    const seen = t.throwsAsync(installing, { name: 'AbortError' });
    const game = await until(async () => {
      const now = await engine.inspect('alpha');
      return now?.up && now;
    });
    t.like(game, { up: true, installer: true, game: null, rcon: null, management: null });
    const adopted = again().install(spec('alpha', { print: ['downloading'], ignoreStop: true }), stop.signal);
    const adoptedSeen = t.throwsAsync(adopted, { name: 'AbortError' });
    await printed(t, engine, 'alpha', ['downloading']);
    stop.abort();
    await seen;
    await adoptedSeen;
    t.deepEqual(await engine.list(), []);
    await t.throwsAsync(engine.install(spec('alpha'), AbortSignal.abort()), { name: 'AbortError' });
  });

  holds('a boot that is aborted before it begins leaves no trace', async (t, { engine, spec, traces }) => {
    await t.throwsAsync(engine.boot(spec('alpha'), AbortSignal.abort()), { name: 'AbortError' });
    t.deepEqual(await engine.list(), []);
    t.deepEqual(await traces('alpha'), []);
  });

  holds('erase leaves no trace', async (t, { engine, spec, traces }) => {
    await engine.boot(spec('alpha', { print: ['first'] }), never);
    await printed(t, engine, 'alpha', ['first']);
    await engine.halt('alpha', 20_000);
    await engine.boot(spec('alpha', { ignoreStop: true, print: ['second'] }), never);
    await printed(t, engine, 'alpha', ['first', 'second']);
    await engine.erase('alpha');
    t.deepEqual(await engine.list(), []);
    t.deepEqual(await texts(engine, 'alpha'), []);
    t.deepEqual(await traces('alpha'), []);
    await engine.erase('alpha');
  });

  holds('an unknown server has no game, figures or output', async (t, { engine }) => {
    t.is(await engine.inspect('nobody'), undefined);
    t.is(await engine.stats('nobody'), undefined);
    t.deepEqual(await texts(engine, 'nobody', { follow: true }), []);
    await engine.kill('nobody');
    await engine.erase('nobody');
    t.deepEqual(await engine.list(), []);
  });

  holds('a running game reports memory and CPU', async (t, { engine, spec }) => {
    const { ramMb } = await engine.boot(spec('alpha'), never).then(() => spec('alpha'));
    const stats = await until(async () => await engine.stats('alpha'));
    t.is(stats.memLimitMb, ramMb);
    t.true(stats.memUsedMb > 0 && stats.memUsedMb <= ramMb);
    t.true(stats.cpuPercent >= 0);
  });
}

function isDistant({ kind }: Engine): boolean {
  return kind === 'docker' || kind === 'swarm';
}

/** Collects the events about games from now on, until `stop`. */
async function watched(t: ExecutionContext, engine: Engine): Promise<{ events: EngineEvent[]; stop: () => void }> {
  const events: EngineEvent[] = [];
  const listening = Promise.withResolvers<void>();
  const stop = engine.watch((event) => {
    if ('game' in event) events.push(event);
    if (event.type === 'resync') listening.resolve();
  });
  t.teardown(stop);
  // A remote engine begins to listen a little later, and reports it.
  if (isDistant(engine)) await listening.promise;
  return { events, stop };
}

export async function collect(lines: AsyncIterable<LogLine>): Promise<LogLine[]> {
  const all: LogLine[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

/** Formats an address as the test's program does. */
export function named({ host, port }: Address): string {
  return `${host} ${port}`;
}

/** Waits until a program listens at the address. */
export async function answers(address: Address): Promise<void> {
  await until(() => connects(address));
}

export function connects({ host, port }: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port, timeout: 2_000 });
    const settle = (open: boolean) => () => {
      socket.destroy();
      resolve(open);
    };
    socket.on('connect', settle(true)).on('error', settle(false)).on('timeout', settle(false));
  });
}

async function texts(engine: Engine, serverId: string, query?: LogQuery): Promise<string[]> {
  return (await collect(engine.logs(serverId, query))).map((line) => line.text);
}

/** Waits for as many lines as expected, then compares. */
async function printed(t: ExecutionContext, engine: Engine, serverId: string, lines: string[]): Promise<void> {
  const got = await until(async () => {
    const now = await texts(engine, serverId);
    return now.length >= lines.length && now;
  });
  t.deepEqual(got, lines);
}

function follower(engine: Engine, serverId: string, query: LogQuery): { got: LogLine[]; done: Promise<void> } {
  const got: LogLine[] = [];
  const follow = async () => {
    for await (const line of engine.logs(serverId, { ...query, follow: true })) got.push(line);
  };
  return { got, done: follow() };
}

function ended(game: Game | undefined): Game | undefined {
  return game?.exit ? game : undefined;
}

/** Returns whether a TCP port, by default of this machine, sends back what it receives. */
export function echoesTcp(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host }, () => socket.write('hello'));
    socket.setTimeout(10_000, () => socket.destroy());
    socket.once('data', (data) => {
      resolve(data.toString() === 'hello');
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}

/** Returns whether a UDP port of this machine sends back what it receives. */
export function echoesUdp(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const end = (echoed: boolean) => {
      clearTimeout(late);
      socket.close();
      resolve(echoed);
    };
    const late = setTimeout(end, 500, false);
    socket.once('message', (datagram) => end(datagram.toString() === 'hello'));
    socket.send('hello', port, '127.0.0.1');
  });
}

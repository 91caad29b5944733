import { GAME_PORT, RCON_PORT } from '../../src/engines/engine.ts';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTls } from 'node:tls';
import { mkdir } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { serviceName } from '../../src/engines/swarm/service-spec.ts';
import { type Task, isOver } from '../../src/engines/swarm/task.ts';
import { answers, collect, connects } from '../conformance/engine.ts';
import { DATABASE_PORT, type SwarmBench, swarmBenches } from '../conformance/swarm-bench.ts';
import { reaches } from '../support/reaches.ts';
import { isHere } from '../support/needs.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const never = new AbortController().signal;
const benches = swarmBenches(3);
test.after.always(() => benches.end());

function holds(title: string, body: (t: ExecutionContext, bench: SwarmBench) => Promise<void>): void {
  test.serial.runIf(isHere('swarm'))(title, async (t) => {
    t.timeout(300_000);
    await body(t, await benches.make(t));
  });
}

/** Returns the node of a server's game, and its container there. */
async function containerOf({ swarm, installation }: SwarmBench, serverId: string) {
  const filters = { service: [serviceName(installation, serverId)] };
  const [task] = (await swarm.manager.listTasks({ filters })) as {
    NodeID: string;
    Status: { ContainerStatus: { ContainerID: string } };
  }[];
  const { Description } = await swarm.manager.getNode(task!.NodeID).inspect();
  const node = swarm.nodes.find(({ name }) => name === Description.Hostname)!;
  return { node, nodeId: task!.NodeID, container: node.docker.getContainer(task!.Status.ContainerStatus.ContainerID) };
}

/** Whether all nodes have equally many tasks. Swarm spreads by this number, which includes tasks of earlier tests. */
async function isEven({ swarm }: SwarmBench): Promise<boolean> {
  const counts = new Map<string | undefined, number>();
  for (const task of (await swarm.manager.listTasks()) as Task[])
    if (!isOver(task)) counts.set(task.NodeID, (counts.get(task.NodeID) ?? 0) + 1);
  return counts.size === swarm.nodes.length && new Set(counts.values()).size === 1;
}

/**
 * Starts games until one is on another node than `nodeId`. Swarm counts the tasks that earlier tests leave for a moment,
 * so the next game may start on the same node. It stays there.
 */
async function bootElsewhere(bench: SwarmBench, nodeId: string) {
  for (const id of ['beta', 'gamma', 'delta']) {
    await mkdir(bench.spec(id).dataDir, { recursive: true });
    await bench.engine.boot(bench.spec(id), never);
    const at = await containerOf(bench, id);
    if (at.nodeId !== nodeId) return { id, at };
  }
  throw new Error('All games started on one node.');
}

holds('a container on a node has only the rights it needs', async (t, bench) => {
  for (const core of ['sandbox', 'paper']) {
    await bench.engine.boot({ ...bench.spec('alpha'), core, ramMb: 256, cpus: 0.5 }, never);
    const { container } = await containerOf(bench, 'alpha');
    const { HostConfig: host, Config: config, Mounts: mounts, NetworkSettings: network } = await container.inspect();
    t.like(config, { User: '1000:1000', Tty: false });
    t.deepEqual(host.CapDrop, ['ALL']);
    t.like(host, {
      Memory: 256 * 1024 * 1024,
      PidsLimit: 1024,
      NanoCpus: 500_000_000,
      Init: true,
      Privileged: false,
      ReadonlyRootfs: true,
      LogConfig: { Type: 'json-file', Config: { 'max-file': '3', 'max-size': '10m' } },
    });
    t.deepEqual(Object.values(network.Ports).filter(Boolean), []);
    t.deepEqual(Object.keys(network.Networks), [bench.network!]);
    const binds = mounts.filter((mount) => mount.Type === 'bind').map((mount) => [mount.Source, mount.Destination]);
    t.deepEqual(binds, [[bench.spec('alpha').dataDir, '/data']]);
    // Every writable mount is the server's folder or memory of limited size.
    const list = 'while read -r mount; do set -- $mount; test -w $2 && echo $mount; done < /proc/mounts';
    const exec = await container.exec({
      Cmd: ['/bin/busybox', 'sh', '-c', list],
      AttachStdout: true,
      Tty: true,
    });
    const written = (await (await exec.start({ Tty: true })).toArray()).join('').trim().split(/\r?\n/);
    for (const [, path = '', kind = '', options = ''] of written.map((line) => line.split(' '))) {
      const isNone = options.startsWith('ro') || ['mqueue', 'devtmpfs'].includes(kind) || path.startsWith('/proc/');
      if (path === '/data' || isNone) continue;
      t.is(kind, 'tmpfs', path);
      t.regex(options, /size=\d+k/, path);
    }
    const tmp = written.find((line) => line.split(' ')[1] === '/tmp') ?? '';
    t.is(tmp.includes('noexec'), core === 'sandbox', tmp);
    await bench.engine.kill('alpha');
  }
});

/** Returns the command prefix that runs a program in a game's network. */
async function inGame(bench: SwarmBench, serverId: string): Promise<string[]> {
  const { State } = await (await containerOf(bench, serverId)).container.inspect();
  return ['nsenter', `--net=/proc/${State.Pid}/ns/net`];
}

/** Listens in this process. Resolves with the port. */
async function listens(t: ExecutionContext, port = 0): Promise<number> {
  const server = createServer((socket) => socket.end()).listen(port, '0.0.0.0');
  t.teardown(() => server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

holds('a game reaches the internet, but not the overlay, its node or private networks', async (t, bench) => {
  const { engine, spec, swarm } = bench;
  const heard: string[] = [];
  t.teardown(engine.watch((event) => heard.push(event.type === 'down' ? event.game.serverId : event.type)));
  // Alpha and beta share a node. Gamma is on another one and listens on the port of the databases.
  const started = performance.now();
  await engine.boot(spec('alpha', { echo: RCON_PORT }), never);
  t.log(`a boot took ${Math.round(performance.now() - started)} ms`);
  const alpha = await containerOf(bench, 'alpha');
  const others = engine.nodes!.list().filter(({ id }) => id !== alpha.nodeId);
  for (const { id } of others) await engine.nodes!.setStarts(id, false);
  const resume = async () => {
    for (const { id } of others) await engine.nodes!.setStarts(id, true);
  };
  t.teardown(resume);
  await engine.boot(spec('beta', { echo: RCON_PORT }), never);
  await resume();
  await mkdir(spec('gamma').dataDir);
  await engine.boot(spec('gamma', { echo: DATABASE_PORT }), never);
  const beta = await containerOf(bench, 'beta');
  const gamma = await containerOf(bench, 'gamma');
  t.is(beta.nodeId, alpha.nodeId);
  t.not(gamma.nodeId, alpha.nodeId);

  const hosts = await Promise.all(['beta', 'gamma'].map(async (id) => (await engine.inspect(id))!.game!.host));
  const [onBeta, onGamma] = [
    { host: hosts[0]!, port: GAME_PORT },
    { host: hosts[1]!, port: GAME_PORT },
  ];
  const consoleOfBeta = { host: hosts[0]!, port: RCON_PORT };
  const databaseOfGamma = { host: hosts[1]!, port: DATABASE_PORT };
  const [port] = [await listens(t), await listens(t, DATABASE_PORT)];
  const subnet = onBeta.host.replace(/\d+$/, '');
  const service = (await engine.proxyAddresses()).find((address) => address.startsWith(subnet))!;
  const targets = [onBeta, onGamma, consoleOfBeta, { host: service, port }];

  // A container that is not a game reaches all of them, like a proxy.
  const place = await swarm.place(alpha.node, [bench.network!], []);
  for (const target of targets) await until(async () => (await reaches(place.command, target)) === 'connected');
  for (const target of targets) t.true(await connects(target), `the service reaches ${target.host}:${target.port}`);

  const inside = await inGame(bench, 'alpha');
  t.is(await reaches(await inGame(bench, 'gamma'), { host: '127.0.0.1', port: DATABASE_PORT }), 'connected');
  const answers = await Promise.all([...targets, databaseOfGamma].map((target) => reaches(inside, target)));
  t.deepEqual(new Set(answers), new Set(['silence']));
  // The games have a second network, shared with their node, that leads outside.
  const { stdout: cards } = await run('nsenter', [...(await inGame(bench, 'beta')).slice(1), 'ip', '-o', '-4', 'addr']);
  const besides = [...cards.matchAll(/inet ([\d.]+)/g)].map(([, address]) => address!);
  const byNode = besides.filter((address) => address !== onBeta.host && address !== '127.0.0.1');
  t.true(byNode.length > 0);
  for (const host of byNode) t.is(await reaches(inside, { host, port: GAME_PORT }), 'ECONNREFUSED', host);
  const gateway = alpha.node.address.replace(/\d+$/, '1');
  // An internet address (RFC 5737) at which this machine answers.
  const internet = '203.0.113.9';
  await run('ip', ['addr', 'add', `${internet}/32`, 'dev', 'lo']).catch(() => undefined);
  t.teardown(() => run('ip', ['addr', 'del', `${internet}/32`, 'dev', 'lo']));
  const onNode = (...args: string[]) => run('nsenter', [`--net=/proc/${alpha.node.networkPid}/ns/net`, ...args]);
  await onNode('ip', 'route', 'replace', internet, 'via', gateway);
  const multicast = { host: '224.0.2.60', port: 4_445 };
  const overlayPackets = { host: gamma.node.address, port: 4_789 };
  for (const target of [onBeta, onGamma, { host: service, port }, overlayPackets])
    t.is(await reaches(inside, target, 'udp'), 'EPERM', `no datagrams to ${target.host}:${target.port}`);
  t.is(await reaches(place.command, onGamma, 'udp'), 'sent');

  t.is(await reaches(inside, { host: '127.0.0.1', port: RCON_PORT }), 'connected', 'its own console');
  t.is(await reaches(inside, { host: internet, port }), 'connected');
  t.is(await reaches(inside, { host: internet, port }, 'udp'), 'sent');
  for (const host of [gateway, alpha.node.address]) t.is(await reaches(inside, { host, port }), 'ECONNREFUSED', host);
  t.is(await reaches(inside, multicast, 'udp'), 'EPERM');
  t.is(await reaches(inside, { host: service, port: DATABASE_PORT }), 'connected', 'the databases');

  // A restarted agent isolates the games already running on its node.
  const rules = (...args: string[]) => run(inside[0]!, [...inside.slice(1), 'iptables', '-w', ...args]);
  await rules('-F', 'OUTPUT');
  t.is(await reaches(inside, onBeta), 'connected');
  const filters = { label: [`dormouse.agent=${bench.installation}`] };
  const [agent] = await alpha.node.docker.listContainers({ filters });
  heard.length = 0;
  await alpha.node.docker.getContainer(agent!.Id).kill();
  await until(async () => (await reaches(inside, onBeta)) === 'silence');
  await until(async () => heard.includes('resync'));
  await engine.halt('alpha', 1_000);
  await until(async () => heard.includes('alpha'));
  for (const each of [alpha, gamma]) {
    const left = await each.node.docker.listContainers({ all: true, filters: { label: ['dormouse.isolates'] } });
    t.deepEqual(left, []);
  }
});

holds('a node that cannot isolate games runs none, and the error names it', async (t, bench) => {
  const { engine, spec, swarm, installation } = bench;
  t.teardown(engine.watch(() => {}));
  const [odd, ...others] = engine.nodes!.list();
  for (const { id } of others) await engine.nodes!.setStarts(id, false);
  t.teardown(async () => {
    for (const { id } of others) await engine.nodes!.setStarts(id, true);
  });
  const node = swarm.nodes.find(({ name }) => name === odd!.name)!;
  const inside = (...args: string[]) => run('nsenter', [`--mount=/proc/${node.networkPid}/ns/mnt`, ...args]);
  // The rules are applied with this shell. The engine itself does not need it.
  await inside('mount', '--bind', '/dev/null', '/usr/bin/dash');
  t.teardown(() => inside('umount', '/usr/bin/dash'));
  const error = await t.throwsAsync(engine.boot({ ...spec('alpha'), core: 'paper' }, never));
  t.regex(error.message, new RegExp(`^${node.name} could not isolate the game from other games: `));
  t.log(error.message);
  t.is(await engine.inspect('alpha'), undefined);
  t.deepEqual(await node.docker.listContainers({ filters: { label: [`dormouse.installation=${installation}`] } }), []);
});

holds('games spread over the nodes; drained nodes and other regions are skipped', async (t, bench) => {
  const { engine, spec } = bench;
  const stop = engine.watch(() => {});
  t.teardown(stop);
  await until(() => isEven(bench));
  await engine.boot(spec('alpha'), never);
  const alpha = await containerOf(bench, 'alpha');
  const { id: second, at: beta } = await bootElsewhere(bench, alpha.nodeId);
  const third = engine.nodes!.list().find(({ id }) => id !== alpha.nodeId && id !== beta.nodeId)!;
  await engine.nodes!.setStarts(third.id, false);
  t.teardown(() => engine.nodes!.setStarts(third.id, true));
  await engine.nodes!.setRegion(alpha.nodeId, 'eu');
  t.teardown(() => engine.nodes!.setRegion(alpha.nodeId, 'na'));
  t.true((await engine.inspect('alpha'))?.up, 'the game there keeps running');
  for (const id of ['alpha', second]) await engine.halt(id, 1_000);
  await engine.boot(spec('alpha'), never);
  t.is((await containerOf(bench, 'alpha')).nodeId, beta.nodeId);
  await engine.boot({ ...spec(second), region: 'eu' }, never);
  t.is((await containerOf(bench, second)).nodeId, alpha.nodeId);
  const views = engine.nodes!.list();
  t.is(views.find(({ id }) => id === alpha.nodeId)?.region, 'eu');
  t.false(views.find(({ id }) => id === third.id)?.takesStarts);
  const nowhere = engine.boot({ ...spec('alpha'), region: 'ap', serverId: 'epsilon' }, never);
  await t.throwsAsync(nowhere, { message: /No node of the swarm has room/ });
});

holds('a node that Swarm itself drains loses its games, which start elsewhere', async (t, bench) => {
  const { engine, spec, swarm } = bench;
  t.teardown(engine.watch(() => {}));
  await engine.boot(spec('alpha'), never);
  const before = await containerOf(bench, 'alpha');
  const node = swarm.manager.getNode(before.nodeId);
  const set = async (Availability: 'active' | 'drain') => {
    const { Version, Spec } = (await node.inspect()) as { Version: { Index: number }; Spec: object };
    const change = { version: Version.Index, ...Spec, Availability };
    await (node.update(change as never) as unknown as Promise<unknown>);
  };
  await set('drain');
  t.teardown(() => set('active'));
  await until(async () => (await engine.inspect('alpha'))?.up === false);
  const again = await engine.boot(spec('alpha'), never);
  await answers(again.game!);
  t.not((await containerOf(bench, 'alpha')).nodeId, before.nodeId);
});

test.serial.runIf(isHere('swarm'))(
  'without an overlay network a game publishes only its player port, and agents reject other secrets',
  async (t) => {
    t.timeout(300_000);
    const bench = await benches.make(t, { overlay: false });
    const { engine, spec, swarm, installation } = bench;
    const heard: string[] = [];
    t.teardown(engine.watch(({ type }) => heard.push(type)));
    await until(async () => heard.includes('resync'));
    const game = await engine.boot(spec('alpha', { print: ['one'], farewell: 'bye' }), never);
    const { node, container } = await containerOf(bench, 'alpha');
    t.is(game.game!.host, node.address);
    await answers(game.game!);
    t.like(game, { rcon: null, management: null });
    const { NetworkSettings: network } = await container.inspect();
    const published = Object.entries(network.Ports).filter(([, open]) => open !== null && open.length > 0);
    t.deepEqual(
      published.map(([port]) => port),
      ['25565/tcp'],
    );
    t.is(published[0]?.[1]?.[0]?.HostPort, String(game.game!.port));
    // The rule of docs/swarm.md, for a network that does not include this process.
    const rule = '-p tcp -m conntrack --ctstate NEW --ctorigdstport 32768:60999 ! -s 10.0.0.0/24 -j DROP'.split(' ');
    const iptables = (does: string) =>
      run('nsenter', [`--net=/proc/${node.networkPid}/ns/net`, 'iptables', '-w', does, 'DOCKER-USER', ...rule]);
    await iptables('-I');
    t.false(await connects(game.game!), 'the firewall blocks strangers');
    await iptables('-D');
    await answers(game.game!);

    await until(async () => (await collect(engine.logs('alpha'))).length === 1);
    t.true((await until(() => engine.stats('alpha'))).memUsedMb > 0);

    const filters = { service: [`dormouse-${installation}-agents`], 'desired-state': ['running'] };
    const [agent] = (await swarm.manager.listTasks({ filters })) as {
      NodeID: string;
      Status: { PortStatus: { Ports: { PublishedPort: number }[] } };
    }[];
    const { Status } = await swarm.manager.getNode(agent!.NodeID).inspect();
    const [{ PublishedPort: port } = { PublishedPort: 0 }] = agent!.Status.PortStatus.Ports;
    const ciphers = 'ECDHE-PSK-CHACHA20-POLY1305';
    const ask = (psk: Buffer | undefined) => {
      const stranger = connectTls({
        host: Status.Addr,
        port,
        ...(psk && { ciphers, maxVersion: 'TLSv1.2', pskCallback: () => ({ psk, identity: 'dormouse' }) }),
        checkServerIdentity: () => undefined,
      });
      t.teardown(() => stranger.destroy());
      return once(stranger, 'secureConnect');
    };
    await t.throwsAsync(ask(undefined), undefined, 'a caller without a secret');
    await t.throwsAsync(ask(createHash('sha256').update('another').digest()), undefined, 'a caller with a wrong one');
    await t.notThrowsAsync(ask(createHash('sha256').update(installation).digest()));

    await engine.halt('alpha', 5_000);
    await until(async () => heard.includes('down'));
    t.true((await collect(engine.logs('alpha'))).some(({ text }) => text === 'bye'));
  },
);

holds('a node without the servers’ folder runs no games, and the error names it', async (t, bench) => {
  const { swarm } = bench;
  const { dir, troubles } = await bench.checkFiles();
  t.true(
    [...troubles.values()].every((trouble) => trouble === undefined),
    [...troubles.values()].join(),
  );
  const odd = swarm.nodes[0]!;
  await run('nsenter', [`--mount=/proc/${odd.networkPid}/ns/mnt`, 'mount', '-t', 'tmpfs', 'none', dir]);
  const again = await bench.checkFiles();
  const found = [...again.troubles].filter(([, trouble]) => trouble !== undefined);
  t.is(again.troubles.size, 3);
  t.is(found.length, 1);
  t.regex(found[0]![1]!, /not mounted there/);
});

holds('a node that was marked as off but only unplugged returns without its games', async (t, bench) => {
  const { engine, spec, swarm } = bench;
  const heard: string[] = [];
  t.teardown(engine.watch(({ type }) => heard.push(type)));
  await until(async () => heard.includes('resync'));
  const manager = (await swarm.manager.listNodes()).find(({ ManagerStatus }) => ManagerStatus);
  await engine.nodes!.setStarts(manager!.ID, false);
  t.teardown(() => engine.nodes!.setStarts(manager!.ID, true));
  const alpha = spec('alpha', { print: ['one'] });
  await engine.boot(alpha, never);
  const before = await containerOf(bench, 'alpha');
  await before.node.unplug();
  await until(async () => engine.nodes!.list().find(({ id }) => id === before.nodeId)?.state === 'down');
  t.true(await engine.nodes!.fence(before.nodeId));
  const again = await engine.boot(alpha, never);
  const after = await containerOf(bench, 'alpha');
  t.not(after.nodeId, before.nodeId);
  t.is((await before.container.inspect()).State.Running, true, 'its power was not cut');
  await before.node.plug();
  const ended = await until({ despiteErrors: true }, async () => {
    const { State: state } = await before.container.inspect();
    return !state.Running && state;
  }).catch((error: unknown) => (/no such container/i.test(String(error)) ? undefined : Promise.reject(error)));
  t.log(`ended by ${ended?.ExitCode}`);
  await until(async () => engine.nodes!.list().find(({ id }) => id === before.nodeId)?.state === 'ready');
  await answers(again.game!);
  t.is((await containerOf(bench, 'alpha')).nodeId, after.nodeId);
});

holds('a game on a node that is cut off starts elsewhere only once the node is marked as off', async (t, bench) => {
  const { engine, spec, swarm } = bench;
  const heard: string[] = [];
  t.teardown(engine.watch(({ type }) => heard.push(type)));
  await until(async () => heard.includes('resync'));
  await until(() => isEven(bench));
  // Keep the game off the manager, which must stay reachable.
  const manager = (await swarm.manager.listNodes()).find(({ ManagerStatus }) => ManagerStatus);
  await engine.nodes!.setStarts(manager!.ID, false);
  t.teardown(() => engine.nodes!.setStarts(manager!.ID, true));
  const alpha = spec('alpha', { print: ['one'], farewell: 'bye' });
  await engine.boot(alpha, never);
  const before = await containerOf(bench, 'alpha');
  const { id: other } = await bootElsewhere(bench, before.nodeId);
  const otherGame = await engine.inspect(other);
  await until(async () => (await collect(engine.logs('alpha'))).length === 1);

  const cutAt = Date.now();
  await before.node.unplug();
  await until(async () => engine.nodes!.list().find(({ id }) => id === before.nodeId)?.state === 'down');
  t.log(`down after ${Date.now() - cutAt} ms`);
  t.is((await before.container.inspect()).State.Running, true, 'the game keeps running unseen');
  t.true((await engine.inspect('alpha'))?.up, 'the engine still reports the game as up');
  for (const end of [engine.halt('alpha', 1_000), engine.kill('alpha'), engine.erase('alpha')]) {
    await t.throwsAsync(end, { message: /does not respond and may still run/ });
  }
  t.is(engine.nodes!.whereIs('alpha')?.waitsSince !== null, true);
  // Removing the node from the swarm does not allow its games to start elsewhere either.
  await swarm.manager.getNode(before.nodeId).remove({ force: true });
  await until(async () => engine.nodes!.list().find(({ id }) => id === before.nodeId)?.state === 'gone');
  t.true((await engine.inspect('alpha'))?.up);
  await t.throwsAsync(engine.halt('alpha', 1_000), { message: /does not respond/ });
  t.deepEqual(await engine.inspect(other), otherGame, 'the other game is not affected');

  heard.length = 0;
  t.true(await engine.nodes!.fence(before.nodeId));
  await until(async () => heard.includes('resync'));
  t.like(await engine.inspect('alpha'), { up: false, exit: { code: null, oomKilled: false } });
  const again = await engine.boot(alpha, never);
  await answers(again.game!);
  t.not((await containerOf(bench, 'alpha')).nodeId, before.nodeId);
  await answers(otherGame!.game!);
  await before.container.kill();
});

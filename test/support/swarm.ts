import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import Docker from 'dockerode';
import { IMAGE } from '../conformance/busybox-image.ts';
import type { Belongings } from './belongings.ts';
import { ROOM_FOR_ENGINES, fastDir } from './fast-dir.ts';
import { type PrivateEngine, privateEngine } from './private-engine.ts';
import { until } from './until.ts';

const run = promisify(execFile);

/** One node of a swarm of real engines. */
export interface SwarmNode extends PrivateEngine {
  name: string;
  /** Its address, which this machine can reach. */
  address: string;
  /** Cuts the node off from all others. Its games keep running. */
  unplug(): Promise<void>;
  plug(): Promise<void>;
}

/** A Docker Swarm for tests, in network namespaces of this machine. The first node is its manager. */
export interface TestSwarm {
  nodes: SwarmNode[];
  manager: Docker;
  managerUrl: string;
  /** The path of each node's socket, with Swarm's placeholders. */
  nodeSocket: string;
  /** Gives this process an address in an attachable overlay network of the swarm, and resolves with it. */
  enter(network: string): Promise<string>;
  /**
   * Creates a container on a node in attachable networks of the swarm. A command can use the container's network. The
   * node forwards connections at these ports to it.
   */
  place(node: SwarmNode, networks: readonly string[], ports: readonly number[]): Promise<SwarmPlace>;
  /** Copies images of this machine's engine to every node. */
  load(images: string[]): Promise<void>;
}

/** The network of a container on a node. `command` is the beginning of commands that run in it. */
export interface SwarmPlace {
  command: readonly string[];
  /** Its addresses in the networks, in order. */
  addresses: readonly string[];
}

/** Machines with a network of their own. Each has an engine that is not started yet. They are in no swarm. */
export interface TestMachines {
  nodes: SwarmNode[];
  /** The number in their network addresses. */
  number: number;
  /** The folder of all machines. */
  within: string;
}

export async function testMachines(t: Omit<Belongings, 'end'>, hostnames: readonly string[]): Promise<TestMachines> {
  const within = await mkdtemp(join(await fastDir(ROOM_FOR_ENGINES), 'dms'));
  t.teardown(() => rm(within, { recursive: true, force: true }));
  const wire = await plugBoard(t);
  const nodes: SwarmNode[] = [];
  for (const [n, name] of hostnames.entries()) {
    const engine = await privateEngine(t, { hostname: name, within });
    const port = await wire.connect(engine.networkPid, n + 2);
    const set = (state: string) => wire.inside(['link', 'set', port, state]);
    const address = wire.addressOf(n + 2);
    nodes.push({ ...engine, name, address, unplug: () => set('down'), plug: () => set('up') });
  }
  return { nodes, number: wire.number, within };
}

export async function testSwarm(t: Omit<Belongings, 'end'>, count: number): Promise<TestSwarm> {
  const machines = await testMachines(
    t,
    Array.from({ length: count }, (_, n) => `node${n + 1}`),
  );
  const { nodes, number, within } = machines;
  await Promise.all(nodes.map((node) => node.start()));
  const [first, ...others] = nodes;
  const listen = `${first!.address}:2377`;
  await first!.docker.swarmInit({
    ListenAddr: listen,
    AdvertiseAddr: first!.address,
    DefaultAddrPool: [`10.${number}.0.0/16`],
    SubnetSize: 24,
  });
  const { JoinTokens: tokens } = (await first!.docker.swarmInspect()) as { JoinTokens: { Worker: string } };
  for (const { docker, address } of others) {
    const options = {
      ListenAddr: `${address}:2377`,
      AdvertiseAddr: address,
      RemoteAddrs: [listen],
      JoinToken: tokens.Worker,
    };
    await docker.swarmJoin(options);
  }
  await until(async () => (await first!.docker.listNodes()).length === count);
  return {
    nodes,
    manager: first!.docker,
    managerUrl: `unix://${first!.socketPath}`,
    nodeSocket: join(within, '{{.Node.Hostname}}', 's'),
    enter: (network) => enter(t, first!.docker, network),
    place,
    async load(images) {
      // Save the images once, to a file: a slow reader would delay the others.
      const file = join(within, 'images.tar');
      await pipeline(await saved(images), createWriteStream(file));
      await Promise.all(
        nodes.map(async ({ docker }) => {
          const answer = await docker.loadImage(createReadStream(file));
          for await (const _ of answer) continue;
        }),
      );
      await rm(file);
    },
  };
}

interface PlugBoard {
  /** The number in its network addresses, unique on this machine. */
  number: number;
  /** Gives a network namespace an address on the board. Resolves with the name of its port. */
  connect(pid: number, host: number): Promise<string>;
  addressOf(host: number): string;
  /** Runs `ip` in the board's namespace. */
  inside(args: string[]): Promise<void>;
}

/**
 * Creates a bridge in a namespace of its own, with one port to this machine. No rules of this machine's firewall apply
 * in it.
 */
async function plugBoard(t: Pick<Belongings, 'teardown'>): Promise<PlugBoard> {
  const board = spawn(
    'unshare',
    ['--net', 'sh', '-c', 'ip link add br0 type bridge && ip link set br0 up; echo; exec sleep infinity'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  await once(board.stdout, 'data');
  t.teardown(() => board.kill('SIGKILL'));
  const inside = async (args: string[]) =>
    void (await run('nsenter', [`--net=/proc/${board.pid}/ns/net`, 'ip', ...args]));
  // Several swarms run side by side, and this process has addresses in all of them, so take the first free number.
  let number = 101;
  const far = ['type', 'veth', 'peer', 'name', 'here', 'netns', String(board.pid)];
  const isTaken = () =>
    run('ip', ['link', 'add', `dms${number}`, ...far]).then(
      () => false,
      () => true,
    );
  while (await isTaken()) {
    if (number === 250) throw new Error('no network number is free');
    number += 1;
  }
  const addressOf = (host: number) => `10.99.${number}.${host}`;
  const here = `dms${number}`;
  t.teardown(() => run('ip', ['link', 'del', here]).catch(() => undefined));
  await inside(['link', 'set', 'here', 'master', 'br0', 'up']);
  await run('ip', ['addr', 'add', `${addressOf(1)}/24`, 'dev', here]);
  await run('ip', ['link', 'set', here, 'up']);
  return {
    number,
    addressOf,
    inside,
    async connect(pid, host) {
      const port = `port${host}`;
      const there = (args: string[]) => run('nsenter', [`--net=/proc/${pid}/ns/net`, 'ip', ...args]);
      await inside(['link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid)]);
      await inside(['link', 'set', port, 'master', 'br0', 'up']);
      await there(['link', 'set', 'lo', 'up']);
      await there(['addr', 'add', `${addressOf(host)}/24`, 'dev', 'eth0']);
      await there(['link', 'set', 'eth0', 'up']);
      return port;
    },
  };
}

/** Returns several images as one archive, which contains shared layers once. */
function saved(images: string[]): Promise<NodeJS.ReadableStream> {
  // The library's types lack this method.
  const docker = new Docker() as Docker & { getImages(query: { names: string[] }): Promise<NodeJS.ReadableStream> };
  return docker.getImages({ names: images });
}

async function place(
  { docker }: SwarmNode,
  networks: readonly string[],
  ports: readonly number[],
): Promise<SwarmPlace> {
  const keys = ports.map((port) => [`${port}/tcp`, port] as const);
  const container = await docker.createContainer({
    Image: IMAGE,
    Entrypoint: ['/bin/busybox', 'sleep', '1000000'],
    ExposedPorts: Object.fromEntries(keys.map(([key]) => [key, {}])),
    HostConfig: {
      NetworkMode: networks[0]!,
      PortBindings: Object.fromEntries(keys.map(([key, port]) => [key, [{ HostPort: String(port) }]])),
    },
  });
  for (const network of networks.slice(1)) await docker.getNetwork(network).connect({ Container: container.id });
  await container.start();
  const { State, NetworkSettings } = await container.inspect();
  return {
    command: ['nsenter', `--net=/proc/${State.Pid}/ns/net`],
    addresses: networks.map((network) => NetworkSettings.Networks[network]!.IPAddress),
  };
}

/** Moves the network card of a container in the network to this process, and returns its address. */
async function enter(t: Pick<Belongings, 'teardown'>, docker: Docker, network: string): Promise<string> {
  const container = await docker.createContainer({
    Image: IMAGE,
    HostConfig: { NetworkMode: network, AutoRemove: false },
  });
  await container.start();
  const { State, NetworkSettings } = await container.inspect();
  const { IPAddress: address, IPPrefixLen: bits } = NetworkSettings.Networks[network]!;
  // Several test files share this process, so the name is random. It has at most 15 characters.
  const card = `dme${randomBytes(6).toString('hex')}`;
  const there = (args: string[]) => run('nsenter', [`--net=/proc/${State.Pid}/ns/net`, 'ip', ...args]);
  const { stdout } = await there(['-o', '-4', 'addr']);
  const name = stdout
    .split('\n')
    .find((line) => line.includes(` ${address}/`))!
    .split(/\s+/)[1]!;
  await there(['link', 'set', name, 'down']);
  await there(['link', 'set', name, 'name', card]);
  await there(['link', 'set', card, 'netns', String(process.pid)]);
  t.teardown(() => run('ip', ['link', 'del', card]).catch(() => undefined));
  await run('ip', ['addr', 'add', `${address}/${bits}`, 'dev', card]);
  await run('ip', ['link', 'set', card, 'up']);
  return address;
}

import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DEFAULT_SANDBOX_IMAGE } from '../../src/engines/docker/sandbox-image.ts';
import { IMAGE, busyboxImage } from '../conformance/busybox-image.ts';
import type { Belongings } from './belongings.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { type Service, startService } from './service.ts';
import { type SwarmNode, type TestSwarm, testSwarm } from './swarm.ts';
import { until } from './until.ts';

const ROOT = join(import.meta.dirname, '../..');
const GAMES = 'dormouse-games';
const HTTP_PORT = 8_080;
const PLAYERS_PORT = 25_565;

/** A proxy on a node of a swarm. */
export interface SwarmProxy {
  name: string;
  node: SwarmNode;
  child: ChildProcess;
  /** The address to which players connect. */
  address: { host: string; port: number };
  /** The address from which games see its players. */
  from: string;
}

/** A whole service with proxies on a swarm of real engines. Each is in the networks of the swarm, on a chosen node. */
export interface SwarmService {
  swarm: TestSwarm;
  service: Service;
  proxies: SwarmProxy[];
  /**
   * Returns the server ids of the games on a node, as its own engine reports. Two games of one server are listed twice.
   */
  gamesOn(node: SwarmNode): Promise<string[]>;
  /** Returns the node that runs a server's game. */
  nodeOf(serverId: string): Promise<SwarmNode | undefined>;
}

export interface SwarmServiceOptions {
  nodes: number;
  /** The node of the service, counted from 0. */
  serviceOn: number;
  /** The nodes of the proxies, counted from 0. */
  proxiesOn: readonly number[];
  /** Further settings of the service. */
  settings: Record<string, string>;
}

/** Starts the swarm, the service and its proxies. They end with the test. */
export async function swarmService(t: Belongings, options: SwarmServiceOptions): Promise<SwarmService> {
  await busyboxImage();
  const swarm = await testSwarm(t, options.nodes);
  await swarm.load([IMAGE, DEFAULT_SANDBOX_IMAGE]);
  const networks = [GAMES, `${GAMES}-nodes`];
  for (const Name of networks) await swarm.manager.createNetwork({ Name, Driver: 'overlay', Attachable: true });

  const home = swarm.nodes[options.serviceOn]!;
  const { command, addresses } = await swarm.place(home, networks, [HTTP_PORT]);
  const settings = {
    ENGINE: 'swarm',
    DOCKER_HOST: swarm.managerUrl,
    SWARM_NODE_SOCKET: swarm.nodeSocket,
    PROXY: 'external',
    HTTP_HOST: '0.0.0.0',
    HTTP_PORT: String(HTTP_PORT),
    ...options.settings,
  };
  const baseUrl = `http://${home.address}:${HTTP_PORT}`;
  const timed = { ...t, timeout: () => {} };
  const service = await startService(timed, settings, ['src/start.js'], undefined, { command, baseUrl });

  const token = (await readFile(join(service.dataDir, 'proxy.token'), 'utf8')).trim();
  const proxies: SwarmProxy[] = [];
  for (const on of options.proxiesOn) {
    const node = swarm.nodes[on]!;
    const place = await swarm.place(node, [GAMES], [PLAYERS_PORT]);
    const name = `on ${node.name}`;
    const child = startProxy(place.command, {
      CONTROL_URL: `ws://${addresses[0]}:${HTTP_PORT}`,
      CONTROL_PLAIN: 'true',
      PROXY_TOKEN: token,
      PROXY_NAME: name,
      PROXY_PORT: String(PLAYERS_PORT),
    });
    t.teardown(() => child.kill('SIGKILL'));
    proxies.push({ name, node, child, address: { host: node.address, port: PLAYERS_PORT }, from: place.addresses[0]! });
  }
  const linked = async () => {
    const { proxies: views } = await service.call<{ proxies: { listening: boolean }[] }>('GET', '/v1/operator/proxies');
    return views.filter(({ listening }) => listening).length === proxies.length;
  };
  await until(linked);

  const gamesOn = async ({ docker }: SwarmNode) =>
    (await docker.listContainers({ filters: { label: ['dormouse.server'] } })).map(
      ({ Labels }) => Labels['dormouse.server']!,
    );
  return {
    swarm,
    service,
    proxies,
    gamesOn,
    async nodeOf(serverId) {
      for (const node of swarm.nodes) {
        // A node that is off has no games.
        if ((await gamesOn(node).catch(() => [] as string[])).includes(serverId)) return node;
      }
      return undefined;
    },
  };
}

function startProxy(command: readonly string[], env: Record<string, string>): ChildProcess {
  const [program, ...args] = [...command, process.execPath, 'proxy/main.ts'];
  const child = spawn(program, args, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], ...COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (process.env['TEST_LOG']) process.stderr.write(`${line}\n`);
  });
  return child;
}

import type Docker from 'dockerode';
import { networkInterfaces } from 'node:os';
import { createCache } from '../../kernel/cache.ts';
import { canonical } from '../../kernel/ip.ts';
import { unless, within } from '../docker/errors.ts';
import { LABEL } from '../docker/container.ts';
import { EngineError } from '../engine.ts';
import type { Manager } from './manager.ts';
import { addressIn, labelsOf } from './task.ts';

const CALL_MS = 30_000;
const PEERS_MS = 30_000;

/** Ids of networks. */
export interface NetworkIds {
  games: string;
  nodes: string;
}

/** The overlay networks of a swarm that this service uses. */
export interface SwarmNetworks {
  /**
   * Returns the ids of the games' network and of the nodes' network, and creates them if they are missing. Undefined if
   * no overlay is configured.
   */
  ensure(): Promise<NetworkIds | undefined>;
  /**
   * Returns the addresses from which games are reached: this process's own, and those of all tasks on their network
   * that are not games.
   */
  peers(): Promise<string[]>;
}

/**
 * Uses two overlays. The service, the proxies and the games share one. The service and its agents on the nodes share
 * the other, which no game sees. No port is published on either. Without a name there are none.
 */
export function swarmNetworks(docker: Docker, manager: Manager, name: string | undefined): SwarmNetworks {
  const ids = createCache<NetworkIds>({ most: 1, ttlMs: () => Infinity });
  const peers = createCache<string[]>({ most: 1, ttlMs: () => PEERS_MS });

  async function ensureOne(wanted: string): Promise<string> {
    const found = await find(wanted);
    if (found) return found.Id;
    const options = { Name: wanted, Driver: 'overlay', Attachable: true, CheckDuplicate: true };
    await unless([409], within(CALL_MS, docker.createNetwork(options)));
    const made = await find(wanted);
    if (!made) throw new EngineError('unknown', `The overlay network ${wanted} could not be created.`);
    return made.Id;
  }

  async function find(wanted: string): Promise<Docker.NetworkInspectInfo | undefined> {
    const found = await within(CALL_MS, docker.listNetworks({ filters: { name: [wanted] } }));
    const exact = found.find((network) => network.Name === wanted);
    // A network that was just created has no driver for a moment.
    if (exact?.Driver && (exact.Driver !== 'overlay' || exact.Scope !== 'swarm')) {
      throw new EngineError('unknown', `The Docker network ${wanted} is not an overlay network of the swarm.`, {
        suggestion: 'Ask the operator to remove it, or to set SWARM_NETWORK to another name.',
      });
    }
    return exact;
  }

  async function ensure(): Promise<NetworkIds | undefined> {
    if (name === undefined) return undefined;
    return await ids.get(name, 0, async () => {
      const [games, nodes] = await Promise.all([ensureOne(name), ensureOne(`${name}-nodes`)]);
      return { games, nodes };
    });
  }

  async function ofTasks(): Promise<string[]> {
    const games = (await ensure())?.games;
    // Without an overlay, only nodes reach games, at the addresses of their nodes.
    if (games === undefined) return (await manager.nodes()).map(({ Status }) => Status.Addr);
    return (await manager.runningTasks())
      .filter((task) => labelsOf(task)[LABEL.server] === undefined)
      .flatMap((task) => addressIn(games, task) ?? []);
  }

  return {
    ensure,
    async peers() {
      const others = await peers.get('', performance.now(), () => ofTasks());
      return [...new Set([...ownAddresses(), ...others])];
    },
  };
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address }) => canonical(address));
}

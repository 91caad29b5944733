import type Docker from 'dockerode';
import { EngineError } from '../engine.ts';
import { LABEL } from './container.ts';
import { unless, within } from './errors.ts';

const ISOLATED = 'com.docker.network.bridge.enable_icc';
const CALL_MS = 30_000;

/** The shared network of an installation's games. */
export interface GameNetwork {
  readonly name: string;
  /**
   * Creates the network if it is missing and returns its id. Rejects if a network of this name lets games reach each
   * other.
   */
  ensure(): Promise<string>;
  /** Returns this machine's addresses on the network. */
  gateways(): Promise<string[]>;
  /** Removes the network, unless a container is attached. */
  remove(): Promise<void>;
}

/**
 * Uses a bridge on which containers can reach the outside and are reachable from this machine, but not from each other:
 * inter-container communication is off (Docker manual, "Bridge network driver", options).
 */
export function gameNetwork(docker: Docker, installation: string): GameNetwork {
  const name = `dormouse-${installation}`;
  let making: Promise<string> | undefined;

  /** Returns the networks of our name, oldest first. Docker creates two for two concurrent calls. */
  async function found(): Promise<Docker.NetworkInspectInfo[]> {
    const networks = await within(CALL_MS, docker.listNetworks({ filters: { name: [name] } }));
    const ours = networks.filter((network) => network.Name === name);
    return ours.sort((a, b) => (`${a.Created} ${a.Id}` < `${b.Created} ${b.Id}` ? -1 : 1));
  }

  async function make(): Promise<string> {
    if ((await found()).length === 0) {
      const create = docker.createNetwork({
        Name: name,
        Driver: 'bridge',
        CheckDuplicate: true,
        Options: { [ISOLATED]: 'false' },
        Labels: { [LABEL.installation]: installation },
      });
      await unless([409], within(CALL_MS, create));
    }
    const [network, ...others] = await found();
    if (network?.Options?.[ISOLATED] !== 'false') {
      throw new EngineError('unknown', `The Docker network ${name} lets game servers reach one another.`, {
        suggestion: 'Ask the operator to remove that network. The service then creates a new one.',
      });
    }
    for (const other of others) await removeNetwork(other.Id);
    return network.Id;
  }

  async function removeNetwork(id: string): Promise<void> {
    await unless([403, 404, 409], within(CALL_MS, docker.getNetwork(id).remove()));
  }

  return {
    name,
    ensure: () => (making ??= make().finally(() => (making = undefined))),
    async gateways() {
      await this.ensure();
      const [network] = await found();
      return (network?.IPAM?.Config ?? []).flatMap(({ Gateway: gateway }) => (gateway === undefined ? [] : [gateway]));
    },
    async remove() {
      for (const network of await found()) await removeNetwork(network.Id);
    },
  };
}

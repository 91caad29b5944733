import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { BlockList, isIPv4 } from 'node:net';
import { join } from 'node:path';
import Docker from 'dockerode';
import { type Address, endpointKey } from '../../kernel/address.ts';
import { createCache } from '../../kernel/cache.ts';
import { MIB, MINUTE_MS } from '../../kernel/units.ts';
import { statusOf, unless, within } from '../docker/errors.ts';
import { EngineError, GAME_PORT, MANAGEMENT_PORT, RCON_PORT } from '../engine.ts';
import { INTERNAL, type Isolation } from './agent-rules.ts';
import type { Manager } from './manager.ts';
import type { SwarmNetworks } from './networks.ts';
import { AGENT_NONE, agentLabel, hostPort } from './service-spec.ts';
import { type Task, addressIn, publishedAt } from './task.ts';

const PORT = 8_475;
/** The agent's own program and its imports. */
const FILES = ['agent.ts', 'agent-isolation.ts', 'agent-rules.ts'];
/** Docker's default, for a swarm without a configured port. */
const DATA_PATH_PORT = 4_789;
const CALL_MS = 30_000;
const ANSWER_MS = 5_000;
const ISOLATE_MS = MINUTE_MS;
/** How long the list of agents is cached. */
const LIST_MS = 250;
const AGENT_LABEL = 'dormouse.agent';
const SPEC_LABEL = 'dormouse.spec';

/** The service's agents on the nodes of the swarm. They forward calls about its games there. */
export interface Agents {
  /** Deploys this version of the agent on every node. Returns false if Swarm already has it. */
  deploy(): Promise<boolean>;
  /**
   * Returns the engine of a node, limited to the calls that its agent allows. Rejects with `engine_unavailable` if no
   * agent runs there.
   */
  on(nodeId: string): Promise<Docker>;
  /**
   * Resolves once the game in a container of a node is isolated: on the games' network it can reach only clients that
   * have connected to it, and the database server. Rejects with NotIsolatedError if the node cannot do that, and with
   * another error if its agent does not respond or is older.
   */
  isolate(nodeId: string, containerId: string): Promise<void>;
  /** Returns the ids of nodes on which an agent runs. */
  nodes(): Promise<string[]>;
  /** Returns the ids of nodes whose agent responds. An agent accepts no calls for a moment after its start. */
  answering(): Promise<string[]>;
}

const internal = new BlockList();
for (const network of INTERNAL) {
  const [address = '', bits] = network.split('/');
  internal.addSubnet(address, Number(bits));
}
const isInternal = (address: string): boolean => internal.check(address);

/** Thrown if a node tried to isolate a game and failed. */
export class NotIsolatedError extends Error {}

export interface AgentsOptions {
  docker: Docker;
  manager: Manager;
  networks: SwarmNetworks;
  installation: string;
  /** The secret by which agents recognise the service. */
  secret: string;
  /** An image with Node at /usr/bin/node, on every node. */
  image: () => Promise<string>;
  /** The Docker socket of each node. May contain Swarm's placeholders for nodes. */
  nodeSocket: string;
  /** Same as in DockerEngineOptions. */
  database?: Address | undefined;
  reach?: 'internet' | 'everything';
}

/**
 * Returns the agents, which Swarm runs as a global service. They get their program as Swarm configs and the secret as a
 * Swarm secret.
 */
export function swarmAgents(options: AgentsOptions): Agents {
  const { docker, manager, networks, installation, secret } = options;
  const name = `dormouse-${installation}-agents`;
  const listed = createCache<Map<string, Address>>({ most: 1, ttlMs: () => LIST_MS });
  const tls = preShared(secret);
  const engines = new Map<string, Docker>();

  const addresses = () => listed.get('', performance.now(), () => list());

  async function list(): Promise<Map<string, Address>> {
    const overlay = (await networks.ensure())?.nodes;
    const tasks = await manager.tasks(`${AGENT_LABEL}=${installation}`);
    const running = tasks.filter(
      ({ Status, DesiredState }) => Status.State === 'running' && DesiredState === 'running',
    );
    if (overlay !== undefined) return placesOf(running, (task) => onNetwork(overlay, task));
    const hosts = new Map((await manager.nodes()).map(({ ID, Status }) => [ID, Status.Addr]));
    return placesOf(running, (task) => onNode(hosts.get(task.NodeID ?? ''), task));
  }

  function engineAt(address: Address): Docker {
    const key = endpointKey(address);
    const options = { protocol: 'https', ...address, agent: tls } as Docker.DockerOptions;
    const engine = engines.get(key) ?? new Docker(options);
    engines.set(key, engine);
    return engine;
  }

  async function isolation(network: string, image: string): Promise<Isolation> {
    const { Swarm: swarm } = (await within(CALL_MS, docker.info())) as {
      Swarm?: { Cluster?: { DataPathPort?: number } };
    };
    const dataPathPort = swarm?.Cluster?.DataPathPort || DATA_PATH_PORT;
    const answers = [GAME_PORT, RCON_PORT, MANAGEMENT_PORT];
    const { host = '', port: databasePort = 0 } = options.database ?? {};
    const databaseHost = isIPv4(host) ? host : '';
    const nodes = options.reach === 'internet' ? await publicNodes() : undefined;
    return { network, image, answers, databasePort, databaseHost, nodes, dataPathPort };
  }

  async function publicNodes(): Promise<string[]> {
    const addresses = (await manager.nodes()).map(({ Status }) => Status.Addr);
    return addresses.filter((address) => isIPv4(address) && !isInternal(address)).toSorted();
  }

  async function on(nodeId: string): Promise<Docker> {
    const address = (await addresses()).get(nodeId);
    if (address !== undefined) return engineAt(address);
    throw new EngineError('engine_unavailable', 'The machine of the server does not respond.', {
      suggestion: 'The service retries automatically. If this continues, ask the operator to check the nodes.',
    });
  }

  return {
    on,

    async deploy() {
      const { nodes: network, games } = (await networks.ensure()) ?? {};
      const image = await options.image();
      const configs = await Promise.all(FILES.map((file) => ensureProgram(docker, name, file)));
      const token = await ensureObject(docker, 'secrets', `${name}-${digest(secret)}`, Buffer.from(secret));
      const apart = games === undefined ? undefined : await isolation(games, image);
      const spec = agentSpec({ ...options, name, image, configs, token, network, apart });
      const there = await manager.service(name);
      if (there === undefined && (await manager.create(spec))) return true;
      if (there?.Spec.Labels[SPEC_LABEL] === spec.Labels[SPEC_LABEL]) return false;
      await manager.update(name, () => spec);
      return true;
    },

    async isolate(nodeId, containerId) {
      try {
        await within(ISOLATE_MS, dial((await on(nodeId)).modem, `/containers/${containerId}/isolate`));
      } catch (error) {
        if (statusOf(error) !== 500) throw error;
        const { json } = error as { json?: { message?: string } };
        throw new NotIsolatedError(json?.message ?? String(error), { cause: error });
      }
    },

    nodes: async () => [...(await addresses()).keys()],

    async answering() {
      const requests = [...(await addresses())].map(async ([id, address]) =>
        (await doesAnswer(engineAt(address))) ? [id] : [],
      );
      return (await Promise.all(requests)).flat();
    },
  };
}

/** Makes a call that dockerode does not support. */
function dial(modem: Docker['modem'], path: string): Promise<void> {
  const statusCodes = {
    204: true,
    404: 'no such container',
    500: 'server error',
    502: 'the Docker Engine does not respond',
  };
  return new Promise((resolve, reject) => {
    modem.dial({ path, method: 'POST', statusCodes }, (error: unknown) =>
      error instanceof Error ? reject(error) : resolve(),
    );
  });
}

/** Returns whether an agent responds. Agents refuse a ping, and that refusal counts as a response. */
function doesAnswer(engine: Docker): Promise<boolean> {
  return within(ANSWER_MS, engine.ping()).then(
    () => true,
    (error: unknown) => statusOf(error) !== undefined,
  );
}

/** Returns an HTTPS agent for connections on which both ends prove that they know the secret. */
function preShared(secret: string): Agent {
  const psk = createHash('sha256').update(secret).digest();
  const tls = { ciphers: 'ECDHE-PSK-CHACHA20-POLY1305', minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;
  const pskCallback = () => ({ psk, identity: 'dormouse' });
  // One connection for each call: an agent may close an idle connection just as the next call is sent on it.
  return new Agent({ keepAlive: false, ...tls, pskCallback, checkServerIdentity: () => undefined });
}

/** Returns the addresses of tasks by node id. */
function placesOf(tasks: Task[], placeOf: (task: Task) => Address | undefined): Map<string, Address> {
  const entry = (task: Task): [string, Address][] => {
    const place = placeOf(task);
    return task.NodeID === undefined || place === undefined ? [] : [[task.NodeID, place]];
  };
  return new Map(tasks.flatMap(entry));
}

function onNetwork(network: string, task: Task): Address | undefined {
  const host = addressIn(network, task);
  return host === undefined ? undefined : { host, port: PORT };
}

function onNode(host: string | undefined, task: Task): Address | undefined {
  const port = publishedAt(PORT, task);
  return host === undefined || port === undefined ? undefined : { host, port };
}

interface AgentSpec extends Pick<AgentsOptions, 'installation' | 'nodeSocket'> {
  name: string;
  image: string;
  configs: Named[];
  token: Named;
  network: string | undefined;
  /** Undefined: games share no network. */
  apart: Isolation | undefined;
}

function agentSpec({ name, installation, image, configs, token, network, nodeSocket, apart }: AgentSpec) {
  const socket = '/docker.sock';
  const args = [installation, String(PORT), '/run/secrets/token', socket, ...(apart ? [JSON.stringify(apart)] : [])];
  const file = (target: string) => ({ Name: target, UID: '0', GID: '0', Mode: 0o400 });
  const task = {
    ContainerSpec: {
      Image: image,
      Command: ['/usr/bin/node', '/agent.ts', ...args],
      User: '0:0',
      Labels: { [AGENT_LABEL]: installation },
      Init: true,
      ReadOnly: true,
      CapabilityDrop: ['ALL'],
      HealthCheck: { Test: ['NONE'] },
      Mounts: [{ Type: 'bind', Source: nodeSocket, Target: socket }],
      Configs: configs.map(({ id, name }, n) => ({ ConfigID: id, ConfigName: name, File: file(`/${FILES[n]}`) })),
      Secrets: [{ SecretID: token.id, SecretName: token.name, File: file('token') }],
    },
    Resources: { Limits: { MemoryBytes: 256 * MIB, Pids: 128 } },
    RestartPolicy: { Condition: 'any', Delay: 1_000_000_000 },
    Placement: { Constraints: [`node.labels.${agentLabel(installation)}!=${AGENT_NONE}`] },
    ...(network !== undefined && { Networks: [{ Target: network }] }),
    LogDriver: { Name: 'json-file', Options: { 'max-size': '1m', 'max-file': '2' } },
  };
  return {
    Name: name,
    Labels: { [AGENT_LABEL]: installation, [SPEC_LABEL]: digest(JSON.stringify([task, network === undefined])) },
    TaskTemplate: task,
    Mode: { Global: {} },
    // Updates all nodes at once, because games start on no node with an older agent.
    UpdateConfig: { Parallelism: 0 },
    EndpointSpec: { Mode: 'dnsrr', Ports: network === undefined ? [hostPort(PORT)] : [] },
  };
}

interface Named {
  id: string;
  name: string;
}

function ensureProgram(docker: Docker, agents: string, file: string): Promise<Named> {
  const program = readFileSync(join(import.meta.dirname, file));
  return ensureObject(docker, 'configs', `${agents}-${digest(file)}-${digest(program)}`, program);
}

/**
 * Returns a config or secret of the swarm, and creates it if it is missing. Its name contains the digest of its
 * content.
 */
async function ensureObject(docker: Docker, kind: 'configs' | 'secrets', name: string, data: Buffer): Promise<Named> {
  const filters = { name: [name] };
  const find = async () => {
    const all: Promise<object[]> =
      kind === 'configs' ? docker.listConfigs({ filters }) : docker.listSecrets({ filters });
    const found = (await within(CALL_MS, all)) as { ID: string; Spec?: { Name?: string } }[];
    return found.find(({ Spec }) => Spec?.Name === name)?.ID;
  };
  const there = await find();
  if (there !== undefined) return { id: there, name };
  const options = { Name: name, Labels: {}, Data: data.toString('base64') };
  const made = kind === 'configs' ? docker.createConfig(options) : docker.createSecret(options);
  await unless([409], within(CALL_MS, made as Promise<unknown>));
  const id = await find();
  if (id === undefined) throw new Error(`${name} was created but cannot be found`);
  return { id, name };
}

function digest(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex').slice(0, 12);
}

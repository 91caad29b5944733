import { setTimeout as sleep } from 'node:timers/promises';
import { abortable } from '../../kernel/timeout.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { LABEL, specDigest } from '../docker/container.ts';
import { handOver } from '../docker/containers.ts';
import { unless, within } from '../docker/errors.ts';
import { EngineError, type GameSpec } from '../engine.ts';
import type { Agents } from './agents.ts';
import { isolateTask } from './isolate-task.ts';
import { type Manager, type ServiceInfo, installationLabel, newestFirst } from './manager.ts';
import type { SwarmNetworks } from './networks.ts';
import type { SwarmNodes } from './nodes.ts';
import { type NodeImage, type SwarmHome, pinned, serviceName, serviceOptions } from './service-spec.ts';
import { type Task, containerOf, isOver, isUp } from './task.ts';

const CALL_MS = MINUTE_MS;
const ATTEMPTS = 50;
const PAUSE_MS = 100;
/** Time after which a boot fails if its task finds no node. Until then, the end of another game may make room. */
const UNPLACED_MS = 5_000;
/** Time limit for Swarm to record an end. It usually takes less than a second. */
const NOTED_MS = 30_000;

/** A server's service and its newest task. */
export interface Found {
  service: ServiceInfo;
  /** Undefined for a moment after the service was created. */
  task: Task | undefined;
}

/** The services of servers, one per server. Calls for one server must not overlap; the engine ensures that. */
export interface Services {
  find(serverId: string): Promise<Found | undefined>;
  /** Returns the newest task of each of our services. */
  all(): Promise<Task[]>;
  /** Runs a task for the specification, in place of an ended one, and returns it with its service. */
  run(spec: GameSpec, installer: boolean, signal: AbortSignal): Promise<FoundTask>;
  /**
   * Ends a running task: sends SIGTERM, then SIGKILL after `graceMs`, rounded up to whole seconds; SIGKILL immediately
   * if it is 0. `signal` ends the wait.
   */
  end(task: Task, graceMs: number, signal?: AbortSignal): Promise<void>;
  /** Kills a task whose service is gone. Its node was marked as off and has come back with it. */
  endStray(task: Task): Promise<void>;
  /** Removes a service and waits for the end of its task. Rejects if the task's state is unknown. */
  discard(found: Found): Promise<void>;
  /**
   * Resolves once a task is isolated from other games, or has ended. Rejects with EngineError if it cannot be isolated.
   */
  isolate(task: Task): Promise<void>;
  /** Resolves with the task once it has ended. */
  ended(task: Task, signal?: AbortSignal): Promise<Task>;
}

/** A service with its task. */
type FoundTask = Found & { task: Task };

interface Parts {
  manager: Manager;
  networks: SwarmNetworks;
  agents: Agents;
  nodes: Pick<SwarmNodes, 'offAt' | 'wasOff' | 'requireReachable' | 'nameOf'>;
  home: SwarmHome;
  /** Pulls or builds an image and returns its name for every node. */
  imageFor: (image: string) => Promise<NodeImage>;
  /** Called with a service that is about to be removed. */
  beforeDiscard: (found: Found) => Promise<void>;
}

/** Returns the services of one installation on one swarm. Calls reject with dockerode's errors, or with EngineError. */
export function swarmServices({ manager, networks, agents, nodes, home, imageFor, beforeDiscard }: Parts): Services {
  const label = installationLabel(home.installation);

  async function find(serverId: string): Promise<Found | undefined> {
    const service = await manager.service(serviceName(home.installation, serverId));
    return service && { service, task: await manager.taskOf(service.ID) };
  }

  /** Creates a service. Returns false if another instance has just created one. */
  async function create(spec: GameSpec, installer: boolean, signal: AbortSignal): Promise<boolean> {
    const image = await abortable(imageFor(spec.image), signal);
    const networkId = (await networks.ensure())?.games;
    if (!installer && spec.ports.length > 0) await requireFree(spec);
    await handOver(spec.dataDir, home.user);
    signal.throwIfAborted();
    const region = spec.region ?? home.region;
    return await manager.create(serviceOptions(spec, installer, home, { image, networkId, region }));
  }

  /**
   * Rejects if another server has one of these ports. In the whole swarm, a port belongs to one server, because players
   * know only its number.
   */
  async function requireFree({ serverId, ports }: GameSpec): Promise<void> {
    const wanted = new Set(ports.map(({ hostPort, proto }) => `${hostPort}/${proto}`));
    for (const service of await manager.services(label)) {
      const { Ports: taken = [] } = (service.Spec.EndpointSpec ?? {}) as { Ports?: PortConfig[] };
      const clash = taken.find(({ PublishedPort, Protocol }) => wanted.has(`${PublishedPort}/${Protocol}`));
      if (!clash || service.Spec.Labels[LABEL.server] === serverId) continue;
      const task = await manager.taskOf(service.ID);
      if (task === undefined || !isOver(task))
        throw new EngineError('port_in_use', `Port ${clash.PublishedPort} belongs to another server.`);
    }
  }

  /** Resolves with the task once it runs or has run. Binds its service to the node of the task. */
  async function up({ service, task: first }: Found, signal: AbortSignal): Promise<FoundTask> {
    const deadline = performance.now() + UNPLACED_MS;
    for (let task = first; task !== undefined; task = await manager.task(task.ID)) {
      signal.throwIfAborted();
      const refused =
        refusedTask(task, nodes.nameOf(task)) ?? (performance.now() > deadline ? unplaced(task) : undefined);
      if (refused) {
        await discard({ service, task });
        throw refused;
      }
      if (isOver(task) || isUp(task)) {
        await pin(service, task);
        await requireIsolated({ service, task });
        return { service, task };
      }
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
    throw new EngineError('unknown', 'The service of the server disappeared while it started.');
  }

  /** Isolates a task from other games, or removes it and rejects. */
  async function requireIsolated(found: FoundTask): Promise<void> {
    try {
      await isolate(found.task);
    } catch (error) {
      // If its agent is missing, Swarm ends the task instead.
      await end(found.task, 0).catch(() => undefined);
      await discard({ ...found, task: await manager.task(found.task.ID) });
      throw error;
    }
  }

  async function isolate(task: Task): Promise<void> {
    if ((await networks.ensure()) === undefined) return;
    await isolateTask({ agents, manager, node: nodes.nameOf(task) }, task);
  }

  /**
   * Binds a service to its task's node. If a node is removed from the swarm, Swarm starts its task again elsewhere,
   * although it may still run. A bound service stays unplaced instead. Swarm also ends a task whose node loses a
   * required label. A bound service requires only the node itself. The running task is not affected by the change,
   * because it still fits its node.
   */
  async function pin(service: ServiceInfo, { NodeID: node }: Task): Promise<void> {
    if (node === undefined || pinned(service.Spec, node) === undefined) return;
    await manager.update(service.ID, (spec) => pinned(spec, node) ?? spec);
  }

  async function discard(found: Found): Promise<void> {
    const { service, task } = found;
    if (task !== undefined && nodes.offAt(task) === undefined) {
      if (!isOver(task)) nodes.requireReachable(task);
      await beforeDiscard(found);
    }
    await manager.remove(service.ID);
    if (task !== undefined && nodes.offAt(task) === undefined) await ended(task, AbortSignal.timeout(NOTED_MS));
  }

  async function ended(task: Task, signal?: AbortSignal): Promise<Task> {
    for (let now: Task | undefined = task; now !== undefined; now = await manager.task(task.ID)) {
      if (isOver(now) || nodes.offAt(now) !== undefined) return now;
      nodes.requireReachable(now);
      await sleep(PAUSE_MS, undefined, signal && { signal });
    }
    return { ...task, Status: { ...task.Status, State: 'remove' } };
  }

  /**
   * Ends the server's tasks whose service is gone, and waits for their end. They may still write to the world, because
   * Swarm lets a game save first.
   */
  async function endStrays(serverId: string): Promise<void> {
    for (const task of await manager.tasks(label, `${LABEL.server}=${serverId}`)) {
      if (isOver(task) || task.NodeID === undefined || nodes.offAt(task) !== undefined) continue;
      nodes.requireReachable(task);
      await end(task, 0);
      await ended(task, AbortSignal.timeout(NOTED_MS));
    }
  }

  return {
    find,
    discard,
    isolate,
    ended,

    async endStray(task) {
      if ((await manager.service(task.ServiceID)) === undefined) await end(task, 0);
    },

    async all() {
      const newest = new Map<string, Task>();
      // Tasks outlive their service by a moment.
      const [tasks, present] = [await manager.tasks(label), await manager.services(label)];
      const there = new Set(present.map(({ ID: id }) => id));
      for (const task of tasks) {
        if (!there.has(task.ServiceID)) continue;
        const other = newest.get(task.ServiceID);
        if (!other || newestFirst(task, other) < 0) newest.set(task.ServiceID, task);
      }
      return [...newest.values()];
    },

    async run(spec, installer, signal) {
      const digest = specDigest(spec, installer);
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        signal.throwIfAborted();
        const found = await find(spec.serverId);
        const { task } = found ?? {};
        if (!found) {
          await endStrays(spec.serverId);
          const made = await create(spec, installer, signal);
          if (!made) await sleep(PAUSE_MS);
          continue;
        }
        const isSame = found.service.Spec.Labels[LABEL.installer] === String(installer);
        if (task === undefined && isSame) {
          await sleep(PAUSE_MS);
          continue;
        }
        const isLive = task !== undefined && !isOver(task) && nodes.offAt(task) === undefined;
        // A service without a node may have been created for an older specification.
        const isCurrent = isUp(task!) || found.service.Spec.Labels[LABEL.spec] === digest;
        // If a task's node was down, Swarm ends the task as soon as the node is back.
        if (isLive && isSame && isCurrent && !nodes.wasOff(task)) return await up(found, signal);
        if (isLive && isUp(task)) await end(task, 0);
        await discard({ ...found, task: task && (await manager.task(task.ID)) });
      }
      throw new EngineError('unknown', 'The service of the server keeps disappearing.');
    },

    end,
  };

  async function end(task: Task, graceMs: number, signal?: AbortSignal): Promise<void> {
    const id = containerOf(task);
    if (id === undefined || task.NodeID === undefined) return;
    nodes.requireReachable(task);
    const container = (await agents.on(task.NodeID)).getContainer(id);
    // A paused container handles no signals.
    const info = await unless([404], within(CALL_MS, container.inspect()));
    if (info?.State.Paused) await unless([404, 409, 500], within(CALL_MS, container.unpause()));
    const ending =
      graceMs > 0 ? container.stop({ t: Math.ceil(graceMs / 1000) }) : container.kill({ signal: 'SIGKILL' });
    await abortable(unless([304, 404, 409], within(graceMs + CALL_MS, ending)), signal);
    // Swarm no longer updates a task that it has given up.
    if (task.Status.State === 'orphaned') return;
    const noted = AbortSignal.timeout(NOTED_MS);
    await ended(task, signal ? AbortSignal.any([signal, noted]) : noted);
  }
}

interface PortConfig {
  PublishedPort?: number;
  Protocol?: string;
}

const PORT = /port already in use|port is already allocated|address already in use/i;

/** Returns why a node did not run a task; undefined if it has not refused it. */
function refusedTask(task: Task, node: string): EngineError | undefined {
  const { State: state, Err: reason = '', ContainerStatus: container } = task.Status;
  if (PORT.test(reason)) return new EngineError('port_in_use', 'A port of the server is taken.', { cause: reason });
  // `failed` without a container id: the task could not be started.
  if (state !== 'rejected' && !(state === 'failed' && !container?.ContainerID)) return undefined;
  if (/no such image|pull access denied|manifest unknown|not found: manifest/i.test(reason)) {
    return new EngineError('image_pull_failed', `The image is missing on ${node}, which could not pull it.`, {
      suggestion: 'Ask the operator to push it to a registry that all nodes can reach, or to load it on each node.',
      cause: reason,
    });
  }
  if (/bind source path does not exist/i.test(reason)) {
    return new EngineError('unknown', `The servers' folder is missing on ${node}.`, {
      suggestion: 'Ask the operator to mount DATA_DIR/servers on every node, at the same path.',
      cause: reason,
    });
  }
  return new EngineError('unknown', `${node} could not start the server: ${reason}`, { cause: reason });
}

/** Returns why Swarm finds no node for a task; undefined if the task does not wait for one. */
function unplaced({ Status: { State: state, Err: reason = '' } }: Task): EngineError | undefined {
  if (state !== 'pending') return undefined;
  return new EngineError('no_room', `No node of the swarm has room for this server now: ${reason || 'none answers'}.`, {
    suggestion: 'Try again when another server sleeps, or ask the operator for another node.',
    cause: reason,
  });
}

import { setTimeout as sleep } from 'node:timers/promises';
import Docker, { type ContainerInspectInfo } from 'dockerode';
import type { Logger } from 'pino';
import { createCache } from '../../kernel/cache.ts';
import { logArchive } from '../docker/archive.ts';
import { LABEL, specDigest } from '../docker/container.ts';
import type { DockerEngineOptions } from '../docker/docker.ts';
import { engineError, within } from '../docker/errors.ts';
import { imageKeeper } from '../docker/image.ts';
import { serverLogs } from '../docker/logs.ts';
import { createStatsReader } from '../docker/stats.ts';
import type { ContainerEvent } from '../docker/watch.ts';
import { type Driver, drivenEngine } from '../driven-engine.ts';
import type { Engine, EngineEvent, Game } from '../engine.ts';
import { type Agents, swarmAgents } from './agents.ts';
import { fencedManager, managerOf } from './manager.ts';
import { swarmNetworks } from './networks.ts';
import { type SwarmNodesOptions, openSwarmNodes } from './nodes.ts';
import type { NodeImage } from './service-spec.ts';
import { checkSharedFolder } from './shared-folder.ts';
import { type Found, swarmServices } from './services.ts';
import { type Task, containerOf, gameOf, isOver, isUp, labelsOf, placesIn, placesOn } from './task.ts';
import { watchSwarm } from './watch.ts';

/** Time limit for asking a node how a container ended. */
const EXIT_MS = 5_000;
/** Time limit for the swarm to record a change that a node has reported. */
const NOTED_MS = 10_000;
const MOST_EXITS = 10_000;
/** How long the start waits for agents on all nodes. */
const AGENTS_MS = 20_000;
const AGENTS_LOOK_MS = 250;

export interface SwarmEngineOptions
  extends
    Omit<DockerEngineOptions, 'docker'>,
    Pick<SwarmNodesOptions, 'region' | 'notes' | 'fenceNode' | 'lostAfterMs'> {
  /** The address of a manager of the swarm. */
  docker: Docker.DockerOptions | undefined;
  /**
   * The overlay network of the games; that of the nodes has the same name with `-nodes` appended. Undefined: there is
   * no overlay, and games are published at ports of their nodes. Their consoles are not published and cannot be
   * reached.
   */
  network: string | undefined;
  /** Resolves if this process may change the swarm; see `Lease.require`. */
  mayAct: () => Promise<void>;
  /** The secret shared with the service's agents on the nodes. */
  secret: string;
  /** The image of the agents. It has Node at /usr/bin/node. */
  agentImage: string;
  /** The folder of all servers, which all nodes share at the same path. Absent: nodes are not checked. */
  serversDir?: string;
  /** The Docker socket of each node. May contain Swarm's placeholders for nodes. */
  nodeSocket: string;
}

/**
 * Creates an engine that runs games on the nodes of a Docker Swarm (API 1.41 or later). Each boot gets one service,
 * with one task that Swarm places and never restarts. A manager creates and finds services. Our agent on a node handles
 * everything within it, including logs and statistics. A game that ended on its own stays known until the next boot,
 * halt or erase. Rejects with EngineError if the swarm cannot be used at all.
 */
export async function createSwarmEngine(options: SwarmEngineOptions): Promise<Engine> {
  const { installation, log } = options;
  const docker = new Docker(options.docker);
  const uid = options.uid ?? ((process.getuid?.() ?? 0) || 1000);
  const manager = fencedManager(managerOf(docker), options.mayAct);
  const networks = swarmNetworks(docker, manager, options.network);
  const ensureImage = imageKeeper(docker, options.provideImage);
  const imageFor = async (image: string) => {
    await ensureImage(image);
    return await sameEverywhere(docker, image);
  };
  const image = async () => (await imageFor(options.agentImage)).name;
  const agents = swarmAgents({ ...options, docker, manager, networks, image });
  const home = { installation, user: `${uid}:${uid}`, region: options.region };
  const { serversDir: dir } = options;
  const checkFiles =
    dir === undefined
      ? undefined
      : (ids: readonly string[]) => checkSharedFolder({ manager, installation, dir, user: home.user, image }, ids);
  const nodes = await openSwarmNodes({ ...options, manager, checkFiles });
  const services = swarmServices({ manager, networks, agents, nodes, home, imageFor, beforeDiscard: keepLogs });
  const logs = serverLogs(logArchive(options.logDir), async (serverId) => {
    const { task } = (await services.find(serverId)) ?? {};
    return task && (await printingOf(agents, task));
  });
  /** Containers in which an out-of-memory kill was announced; the container's own state may not show it. */
  const oomSeen = new Set<string>();
  /** How containers ended, by task. */
  const endings = createCache<ContainerInspectInfo | undefined>({
    most: MOST_EXITS,
    ttlMs: (end) => (end ? Infinity : 0),
  });
  const stats = createStatsReader();

  // A full disk must not prevent a game from being stopped or started.
  async function keepLogs({ service, task }: Found): Promise<void> {
    const serverId = service.Spec.Labels[LABEL.server] ?? '';
    const printing = task && (await printingOf(agents, task));
    if (!printing) return;
    await logs
      .keep(serverId, printing)
      .catch((err: unknown) => log.warn({ err, server: serverId }, 'could not store the log of a game'));
  }

  async function game(task: Task): Promise<Game> {
    const games = (await networks.ensure())?.games;
    const places = games === undefined ? placesOn(nodes.addressOf(task), task) : placesIn(games, task);
    const container = containerOf(task);
    const seen = container !== undefined && oomSeen.has(container);
    return gameOf(task, places, { offAt: nodes.offAt(task), info: await endingOf(task), oomSeen: seen });
  }

  /**
   * Returns the container of a failed task, from its node's engine, because Swarm does not report out-of-memory kills.
   */
  async function endingOf(task: Task): Promise<ContainerInspectInfo | undefined> {
    const id = containerOf(task);
    const { NodeID: node, Status: status } = task;
    if (id === undefined || node === undefined || !isOver(task) || !status.ContainerStatus?.ExitCode) return undefined;
    return await endings.get(task.ID, 0, async () => {
      const inspected = agents.on(node).then((engine) => within(EXIT_MS, engine.getContainer(id).inspect()));
      const info = await inspected.catch(() => undefined);
      return info?.State.Running ? undefined : info;
    });
  }

  /**
   * Waits until the swarm has recorded a change that a node reported. Returns the server's task; undefined if another
   * container has replaced it.
   */
  async function noted(serverId: string, id: string, over: boolean): Promise<Task | undefined> {
    const deadline = performance.now() + NOTED_MS;
    for (;;) {
      const { task } = (await services.find(serverId)) ?? {};
      if (task === undefined || (containerOf(task) ?? id) !== id) return undefined;
      if (over ? isOver(task) : isUp(task) || isOver(task)) return task;
      if (performance.now() > deadline) throw new Error('the swarm has not recorded the change');
      await sleep(50);
    }
  }

  async function toEvent({ action, containerId, labels, at }: ContainerEvent): Promise<EngineEvent | undefined> {
    const serverId = labels[LABEL.server] ?? '';
    if (action === 'start') {
      const task = await noted(serverId, containerId, false);
      return task && isUp(task) ? { type: 'up', game: await game(task) } : undefined;
    }
    if (action !== 'die') return undefined;
    const task = await noted(serverId, containerId, true);
    const code = Number(labels.exitCode);
    const seen = task ? await game(task) : undefined;
    const oomKilled = code !== 0 && (oomSeen.has(containerId) || (seen?.exit?.oomKilled ?? false));
    const none = { game: null, rcon: null, management: null };
    const installer = labels[LABEL.installer] === 'true';
    const startedAt = seen?.startedAt ?? null;
    const down: Game = { serverId, up: false, installer, ...none, startedAt, exit: { code, oomKilled, at } };
    return { type: 'down', game: down };
  }

  /** Isolates the running games of a node, which may have started before this release or while there was no agent. */
  async function isolateAll(nodeId: string): Promise<void> {
    const there = (await services.all().catch(() => [])).filter((task) => task.NodeID === nodeId && isUp(task));
    for (const task of there) {
      const server = labelsOf(task)[LABEL.server];
      await services
        .isolate(task)
        .catch((err: unknown) => log.error({ err, server }, 'a running game is not isolated from others; stop it'));
    }
  }

  /** Whether the task runs, unless its node was switched off. */
  const runs = (task: Task) => isUp(task) && nodes.offAt(task) === undefined;

  const driver: Driver<Found> = {
    kind: 'swarm',
    nodes,
    withoutConsoles: options.network === undefined,
    find: (serverId) => services.find(serverId),
    gameOf: ({ task }) => task && game(task),
    list: async () => Promise.all((await services.all()).map(game)),

    runsGame: ({ service, task }) =>
      task !== undefined && isUp(task) && service.Spec.Labels[LABEL.installer] !== 'true',

    isSame: ({ service }, other) => service.ID === other.service.ID,

    boot: async (spec, signal) => game((await services.run(spec, false, signal)).task),

    async startInstaller(spec, signal) {
      const found = await services.find(spec.serverId);
      // It may have succeeded while no service watched it.
      const isDone =
        found?.task?.Status.State === 'complete' && found.service.Spec.Labels[LABEL.spec] === specDigest(spec, true);
      return isDone ? found : await services.run(spec, true, signal);
    },

    async ended({ task }, signal) {
      const { exit } = await game(await services.ended(task!, signal));
      return exit?.code ?? null;
    },

    async stop({ task }, graceMs, signal) {
      if (task && runs(task)) await services.end(task, Math.max(1, graceMs), signal);
    },

    async kill({ task }) {
      if (task && runs(task)) await services.end(task, 0);
    },

    discard: (found) => services.discard(found),

    async erase(serverId, found) {
      if (found) await services.discard(found);
      await logs.forget(serverId);
      stats.forget(serverId);
    },

    proxyAddresses: () => networks.peers(),

    watch: (listener) =>
      watchSwarm(
        {
          agents,
          nodes,
          services,
          installation,
          log,
          toEvent,
          reached: (nodeId) => void isolateAll(nodeId),
          observe({ action, containerId }) {
            if (action === 'oom') oomSeen.add(containerId);
            if (action === 'destroy') oomSeen.delete(containerId);
          },
        },
        listener,
      ),

    async stats(serverId, { task }) {
      const printing = task && isUp(task) ? await printingOf(agents, task) : undefined;
      if (!task || !printing) return undefined;
      return stats.read(serverId, printing.docker.getContainer(printing.id), Date.parse(task.CreatedAt));
    },

    logs: (serverId, query = {}) => logs.read(serverId, query),
    toError: engineError,
  };
  try {
    await nodes.refresh();
    // Swarm may report a dead node as ready for ten more seconds, so only new nodes are checked here. The results of an
    // earlier run apply until the watch finds otherwise.
    await nodes.admitNodes('new');
    if (await agents.deploy()) await untilThere(() => agents.answering(), nodes.ready(), log);
  } catch (error) {
    throw engineError(error);
  }
  return drivenEngine(driver, log);
}

/**
 * Waits for the agents on the wanted nodes, for a limited time: a node may be unable to run the agent, for example
 * because the image is missing.
 */
async function untilThere(answering: () => Promise<string[]>, wanted: string[], log: Logger): Promise<void> {
  const deadline = performance.now() + AGENTS_MS;
  for (;;) {
    const there = new Set(await answering());
    const missing = wanted.filter((id) => !there.has(id));
    if (missing.length === 0) return;
    if (performance.now() > deadline)
      return log.error({ nodes: missing }, 'the agent of this service does not run on these nodes');
    await sleep(AGENTS_LOOK_MS);
  }
}

/** Returns the container of a task; undefined if none exists or its node cannot be reached. */
async function printingOf(agents: Agents, task: Task) {
  const id = containerOf(task);
  if (id === undefined || task.NodeID === undefined) return undefined;
  const docker = await agents.on(task.NodeID).catch(() => undefined);
  return docker && { docker, id, running: isUp(task), createdAt: task.CreatedAt };
}

/**
 * Returns an image by its digest in a registry, or by its id if it is in none. An image without a registry must have
 * been loaded on each node.
 */
async function sameEverywhere(docker: Docker, image: string): Promise<NodeImage> {
  const { RepoDigests: digests, Id: id, Config: config } = await within(30_000, docker.getImage(image).inspect());
  const name = image.replace(/(?::[\w.-]+|@.*)$/, '');
  const { Entrypoint: entry, Cmd: args } = config as { Entrypoint?: string[] | null; Cmd?: string[] | null };
  const program = [...(entry ?? []), ...(args ?? [])];
  return { name: digests?.find((digest) => digest.startsWith(`${name}@`)) ?? id, program };
}

import type { Logger } from 'pino';
import { MIB } from '../../kernel/units.ts';
import { LABEL } from '../docker/container.ts';
import { EngineError, type EngineNode, type EngineNodes } from '../engine.ts';
import { NO_REGION } from '../regions.ts';
import { type CheckFiles, createAdmission } from './admission.ts';
import { type FenceNode, type FenceNotes, openFences } from './fences.ts';
import { type Manager, type NodeInfo, installationLabel } from './manager.ts';
import { AGENT_NONE, HOST_LABEL, REGION_LABEL, agentLabel } from './service-spec.ts';
import { type Task, isOver, labelsOf } from './task.ts';

export interface SwarmNodesOptions {
  manager: Manager;
  installation: string;
  region: string;
  notes: FenceNotes;
  /** Absent: all nodes see the servers' folder. */
  checkFiles?: CheckFiles | undefined;
  /** Absent: only operators mark nodes as off. */
  fenceNode?: FenceNode | undefined;
  /** A node that has been down for this long counts as off; 0: never. */
  lostAfterMs: number;
  /** Counts ms, regardless of the machine's clock. Default: `performance.now`. */
  countMs?: () => number;
  log: Logger;
}

/** The nodes of a swarm, and which of them are certainly off. */
export interface SwarmNodes extends EngineNodes {
  /**
   * Reads the current state. Returns true if a node has been fenced since the last call. Rejects if no manager
   * responds.
   */
  refresh(): Promise<boolean>;
  /**
   * Returns when the node of a task was switched off while the task was on it. Undefined if the task may run, or if its
   * node is back and reports the task's state itself.
   */
  offAt(task: Task): number | undefined;
  /**
   * Returns whether a task was on a node that was marked as off and may be back. Such a task is no server's game any
   * more.
   */
  wasOff(task: Task): boolean;
  /** Returns such tasks that still run, on nodes that are back. */
  strays(): Task[];
  /** Throws `engine_unavailable` if the node of a task is not responding and the task's state is unknown. */
  requireReachable(task: Task): void;
  nameOf(task: Task): string;
  /** Returns the address of a task's node; '' if unknown. */
  addressOf(task: Task): string;
  /** Returns the ids of responding nodes that may have games. */
  ready(): string[];
  /** Lets games start on responding nodes that see the servers' folder; see `Admission.admit`. */
  admitNodes(which: 'new' | 'all'): Promise<void>;
}

interface Seen {
  views: Map<string, EngineNode>;
  /** The nodes of games, by server. */
  places: Map<string, EngineNode>;
}

/** Minimum time between two tries of a fencing command. */
const FENCE_EVERY_MS = 10_000;

/**
 * Opens the nodes of a swarm. Two games must never run on one world. A node that is down for Swarm may still run its
 * games, so they count as running until the node is back and reports otherwise, or is certainly off: on the word of an
 * operator, after an operator's command has succeeded, or after a time that an operator has accepted.
 */
export async function openSwarmNodes(options: SwarmNodesOptions): Promise<SwarmNodes> {
  const { manager, installation, region, notes, checkFiles, fenceNode, lostAfterMs, log } = options;
  const { countMs = () => performance.now() } = options;
  const fences = await openFences({ notes, log });
  const admission = createAdmission({ manager, installation, checkFiles, log });
  let nodes = new Map<string, NodeInfo>();
  let tasks: Task[] = [];
  let isNews = false;
  /** The answers of `list` and `whereIs`; rebuilt on demand after a change. */
  let seen: Seen | undefined;
  /** Since when nodes do not respond: in epoch ms, and by `countMs`. */
  const downSince = new Map<string, { at: number; countedMs: number }>();
  const lastTry = new Map<string, number>();
  /** Running fencing commands, by node. */
  const fencing = new Map<string, AbortController>();

  /** The last certain states of nodes. A manager that has just become the leader knows none of them for some seconds. */
  const lastStates = new Map<string, string>();

  const isReady = (id: string | undefined) => id === undefined || lastStates.get(id) === 'ready';
  // Only a node that is back knows what runs on it.
  const offAt = (task: Task) => (isReady(task.NodeID) && !isOver(task) ? undefined : fences.offAt(task));
  /** Returns the tasks that may run on a node that does not respond. */
  const lostOn = (id: string) =>
    isReady(id) ? [] : tasks.filter((task) => task.NodeID === id && !isOver(task) && offAt(task) === undefined);

  async function refresh(): Promise<boolean> {
    await readAll();
    const news = isNews;
    isNews = false;
    return news;
  }

  async function readAll(): Promise<void> {
    nodes = new Map((await manager.nodes()).map((node) => [node.ID, node]));
    for (const id of lastStates.keys()) if (!nodes.has(id)) lastStates.delete(id);
    for (const [id, { Status: status }] of nodes) if (status.State !== 'unknown') lastStates.set(id, status.State);
    tasks = await manager.tasks(installationLabel(installation));
    seen = undefined;
    await fences.heed(nodes, tasks);
    for (const node of nodes.values()) await label(node);
    for (const id of new Set([...nodes.keys(), ...tasks.flatMap(({ NodeID }) => NodeID ?? [])])) await heed(id);
    seen = undefined;
  }

  /**
   * Sets a node's labels. A node without a region gets that of the installation. A node kept free of games needs no
   * agent, once it has no more games.
   */
  async function label({ ID: id, Spec: spec, Description: description }: NodeInfo): Promise<void> {
    const { [REGION_LABEL]: said, [agentLabel(installation)]: agent } = spec.Labels ?? {};
    const wanted = said === NO_REGION && !hasGames(id) ? AGENT_NONE : undefined;
    if (said !== undefined && agent === wanted) return;
    if (said === undefined)
      log.info({ node: description.Hostname, region }, 'a node has no region; it gets that of this installation');
    await manager.updateNode(id, (now) => {
      const before: Record<string, string> = { [REGION_LABEL]: region, ...now.Labels };
      const { [agentLabel(installation)]: _, ...labels } = before;
      return { ...now, Labels: { ...labels, ...(wanted !== undefined && { [agentLabel(installation)]: wanted }) } };
    });
  }

  const hasGames = (id: string) => tasks.some((task) => task.NodeID === id && !isOver(task));

  const answering = () => [...nodes.values()].filter(({ ID: id }) => isReady(id));

  async function heed(id: string): Promise<void> {
    if (isReady(id)) {
      fencing.get(id)?.abort();
      if (!downSince.delete(id)) return;
      log.info({ node: nodeName(id) }, 'the node is back');
      // The node may have restarted, and its mounts may be missing.
      admission.doubt(id);
      return;
    }
    // The manager has not heard from its nodes yet.
    if (nodes.get(id)?.Status.State === 'unknown') return;
    const since = downSince.get(id) ?? { at: Date.now(), countedMs: countMs() };
    const games = lostOn(id).length;
    if (!downSince.has(id))
      log.error({ node: nodeName(id), games }, 'a node does not respond; its games wait until it is back or off');
    downSince.set(id, since);
    if (games === 0) return;
    if (lostAfterMs > 0 && countMs() - since.countedMs >= lostAfterMs) await fence(id, 'SWARM_LOST_AFTER_S has passed');
    else void command(id);
  }

  async function command(id: string): Promise<void> {
    if (!fenceNode || fencing.has(id) || countMs() - (lastTry.get(id) ?? -Infinity) < FENCE_EVERY_MS) return;
    const back = new AbortController();
    fencing.set(id, back);
    lastTry.set(id, countMs());
    try {
      const { name, address } = fences.known(id) ?? { name: '', address: '' };
      if (name === '') throw new Error('the name of the node is unknown, so only an operator can mark it as off');
      // No write precedes this power cut, so the lease is checked here.
      await fences.requireSole();
      const isOff = await fenceNode({ id, name, address }, back.signal);
      // The node may have come back while the command ran. It then reports its tasks itself.
      if (isOff && !isReady(id)) await fence(id, 'FENCE_COMMAND has succeeded');
    } catch (err) {
      log.error({ err, node: nodeName(id) }, 'a node could not be fenced; trying again');
    } finally {
      fencing.delete(id);
    }
  }

  async function fence(id: string, why: string): Promise<void> {
    await fences.fence(id, lostOn(id));
    seen = undefined;
    isNews = true;
    log.warn({ node: nodeName(id), why }, 'a node counts as switched off: its games start elsewhere');
  }

  const nodeName = (id: string) => nodes.get(id)?.Description.Hostname || fences.known(id)?.name || id;

  function compile(): Seen {
    const elsewhere = [...new Set(tasks.flatMap(({ NodeID: id }) => id ?? []))].filter((id) => !nodes.has(id));
    const ids = [...nodes.keys(), ...elsewhere.filter((id) => lostOn(id).length > 0)];
    const views = new Map(ids.map((id) => [id, view(id)]));
    const places = new Map<string, EngineNode>();
    for (const task of tasks) {
      const serverId = labelsOf(task)[LABEL.server];
      if (serverId === undefined || task.NodeID === undefined || isOver(task)) continue;
      places.set(serverId, views.get(task.NodeID) ?? view(task.NodeID));
    }
    return { views, places };
  }

  function view(id: string): EngineNode {
    const node = nodes.get(id);
    const ours = tasks.filter((task) => task.NodeID === id && !isOver(task) && offAt(task) === undefined);
    const bytes = ours.reduce((sum, { Spec }) => sum + (Spec.Resources?.Reservations?.MemoryBytes ?? 0), 0);
    const drained = node !== undefined && node.Spec.Availability !== 'active';
    const trouble = node !== undefined && isReady(id) ? admission.troubleOf(node) : '';
    const address = node?.Status.Addr ?? fences.known(id)?.address ?? '';
    return {
      id,
      name: nodeName(id),
      address,
      publicHost: node?.Spec.Labels?.[HOST_LABEL] ?? address,
      region: node?.Spec.Labels?.[REGION_LABEL] ?? region,
      state: node === undefined ? 'gone' : isReady(id) ? 'ready' : 'down',
      takesStarts: node !== undefined && isReady(id) && !drained && trouble === '',
      drained,
      trouble,
      cores: Math.floor((node?.Description.Resources.NanoCPUs ?? 0) / 1e9),
      ramMb: Math.floor((node?.Description.Resources.MemoryBytes ?? 0) / MIB),
      usedRamMb: Math.ceil(bytes / MIB),
      games: ours.length,
      waitsSince: lostOn(id).length > 0 ? (downSince.get(id)?.at ?? null) : null,
      fencedAt: isReady(id) || lostOn(id).length > 0 ? null : fences.fencedAt(id),
    };
  }

  return {
    refresh,
    offAt,
    wasOff: (task) => fences.offAt(task) !== undefined,
    strays: () => tasks.filter((task) => fences.offAt(task) !== undefined && isReady(task.NodeID) && !isOver(task)),
    nameOf: ({ NodeID: id }) => (id === undefined ? 'the node' : nodeName(id)),
    addressOf: ({ NodeID: id }) => nodes.get(id ?? '')?.Status.Addr ?? '',
    ready: () =>
      answering().flatMap(({ ID: id, Spec }) =>
        Spec.Labels?.[REGION_LABEL] !== NO_REGION || hasGames(id) ? [id] : [],
      ),
    admitNodes: (which) => admission.admit(answering(), which),
    requireReachable(task) {
      if (isReady(task.NodeID) || nodes.size === 0) return;
      throw new EngineError(
        'engine_unavailable',
        `${nodeName(task.NodeID ?? '')} does not respond and may still run the server.`,
        {
          suggestion: 'The server continues when that machine is back or marked as off.',
        },
      );
    },
    list: () => [...(seen ??= compile()).views.values()],
    whereIs: (serverId) => (seen ??= compile()).places.get(serverId),
    async fence(id) {
      await readAll();
      if (nodes.has(id) && isReady(id)) return false;
      await fence(id, 'an operator marked it as off');
      return true;
    },
    async setStarts(id, on) {
      await manager.updateNode(id, (spec) => ({ ...spec, Availability: on ? 'active' : 'pause' }));
      await readAll();
    },
    async setRegion(id, to) {
      await manager.updateNode(id, (spec) => ({ ...spec, Labels: { ...spec.Labels, [REGION_LABEL]: to } }));
      await readAll();
    },
  };
}

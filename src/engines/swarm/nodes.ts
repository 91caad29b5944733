import type { Logger } from 'pino';
import { MIB } from '../../kernel/units.ts';
import { LABEL } from '../docker/container.ts';
import { EngineError, type EngineNode, type EngineNodes } from '../engine.ts';
import { NO_REGION } from '../regions.ts';
import { type Manager, type NodeInfo, installationLabel } from './manager.ts';
import { REGION_LABEL, filesLabel } from './service-spec.ts';
import { type Task, isOver, labelsOf } from './task.ts';

/** When nodes were surely off, by node id, epoch ms: kept over restarts. */
export interface FenceNotes {
  read(): Promise<Record<string, number>>;
  write(notes: Record<string, number>): Promise<void>;
}

/** Switches a node off. Resolves to whether it surely is. */
export type FenceNode = (node: Pick<EngineNode, 'id' | 'name' | 'address'>) => Promise<boolean>;

export interface SwarmNodesOptions {
  manager: Manager;
  installation: string;
  region: string;
  notes: FenceNotes;
  /** Which nodes see the servers' folder; what is wrong on the others. Absent: all do. */
  checkFiles?: ((nodeIds: readonly string[]) => Promise<Map<string, string | undefined>>) | undefined;
  /** Absent: only people fence. */
  fenceNode?: FenceNode | undefined;
  /** A node that has been down for so long counts as off; 0: never. */
  lostAfterMs: number;
  log: Logger;
}

/** The nodes of a swarm, and which of them are surely off. */
export interface SwarmNodes extends EngineNodes {
  /** Reads everything anew; true where a node has been fenced since. Rejects where no manager answers. */
  look(): Promise<boolean>;
  /** When the node of a task was switched off after the task was made; undefined: it may run. */
  offAt(task: Task): number | undefined;
  /** Throws `engine_unavailable` where the node of a task does not answer and nobody knows what it does. */
  requireReachable(task: Task): void;
  nameOf(task: Task): string;
  /** The address of a task's node; '' where it is not known. */
  addressOf(task: Task): string;
  /** Ids of nodes that answer and are given to games. */
  ready(): string[];
  /** Lets games start on those nodes that see the servers' folder. Rejects with EngineError where none does. */
  admitNodes(): Promise<void>;
}

interface Seen {
  views: Map<string, EngineNode>;
  /** By server: the node that its game is on. */
  places: Map<string, EngineNode>;
}

/** Between two tries of a fencing command. */
const FENCE_EVERY_MS = 10_000;
/** After this a node that did not share the servers' folder is asked again. */
const RECHECK_MS = 30_000;

/**
 * Two games on one world must never be. What ran on a node that Swarm calls down may run on, so it counts as running until
 * the node is back and says otherwise, or was surely switched off: by the word of an operator, by a command of theirs that
 * succeeded, or because somebody has accepted a time after which it counts as off.
 */
export async function openSwarmNodes(options: SwarmNodesOptions): Promise<SwarmNodes> {
  const { manager, installation, region, notes, checkFiles, fenceNode, lostAfterMs, log } = options;
  let fenced = await notes.read();
  let nodes = new Map<string, NodeInfo>();
  let tasks: Task[] = [];
  let isNews = false;
  /** What `list` and `whereIs` say; made anew when they are asked after something has changed. */
  let seen: Seen | undefined;
  const downSince = new Map<string, number>();
  const lastTry = new Map<string, number>();
  const fencing = new Set<string>();
  /** Nodes whose folder has been checked since this process began, and when. */
  const checked = new Map<string, number>();
  /** Why nodes do not share the servers' folder. */
  const unshared = new Map<string, string>();
  let checking = false;

  const isReady = (id: string | undefined) => id === undefined || nodes.get(id)?.Status.State === 'ready';
  const offAt = ({ NodeID: id, CreatedAt: made }: Task) => {
    const at = id === undefined ? undefined : fenced[id];
    return at !== undefined && Date.parse(made) < at ? at : undefined;
  };
  /** Tasks that may run on a node which does not answer. */
  const lostOn = (id: string) =>
    isReady(id) ? [] : tasks.filter((task) => task.NodeID === id && !isOver(task) && offAt(task) === undefined);

  async function look(): Promise<boolean> {
    await readAll();
    const news = isNews;
    isNews = false;
    return news;
  }

  async function readAll(): Promise<void> {
    nodes = new Map((await manager.nodes()).map((node) => [node.ID, node]));
    tasks = await manager.tasks(installationLabel(installation));
    seen = undefined;
    for (const node of nodes.values()) await label(node);
    for (const id of new Set([...nodes.keys(), ...tasks.flatMap(({ NodeID }) => NodeID ?? [])])) await heed(id);
    await forget();
    seen = undefined;
  }

  /** A node without a region stands in that of the installation. */
  async function label({ ID: id, Spec: spec, Description: description }: NodeInfo): Promise<void> {
    if (spec.Labels?.[REGION_LABEL] !== undefined) return;
    log.info({ node: description.Hostname, region }, 'a node without a region is labelled with ours');
    await manager.updateNode(id, (now) => ({ ...now, Labels: { [REGION_LABEL]: region, ...now.Labels } }));
  }

  /**
   * Lets games start on nodes that see the servers' folder, and on no others: asked of each once, and again where it did
   * not. Rejects where it was asked of some and none does.
   */
  async function admitNodes(): Promise<void> {
    const asked = ready().filter((id) => Date.now() - (checked.get(id) ?? 0) > RECHECK_MS);
    if (checking || asked.length === 0) return;
    checking = true;
    try {
      const troubles = (await checkFiles?.(asked)) ?? new Map<string, string | undefined>();
      for (const id of asked) {
        const trouble = troubles.get(id);
        checked.set(id, trouble === undefined ? Infinity : Date.now());
        if (trouble === undefined) unshared.delete(id);
        else unshared.set(id, trouble);
        if (trouble !== undefined)
          log.error(
            { node: nodeName(id) },
            `no games start on ${nodeName(id)}, which does not share the servers' folder: ${trouble}`,
          );
        await manager.updateNode(id, (spec) => ({ ...spec, Labels: labelled(spec.Labels, trouble === undefined) }));
      }
      const first = asked[0]!;
      if (asked.some((id) => troubles.get(id) === undefined)) return;
      throw new EngineError(
        'unknown',
        `No node shares the servers' folder; ${nodeName(first)}: ${troubles.get(first)}.`,
        {
          suggestion: 'Mount DATA_DIR/servers on this machine and on every node, at the same path.',
        },
      );
    } finally {
      checking = false;
    }
  }

  function labelled(labels: Record<string, string> = {}, shares: boolean): Record<string, string> {
    const { [filesLabel(installation)]: _, ...others } = labels;
    return shares ? { ...others, [filesLabel(installation)]: 'shared' } : others;
  }

  /** Nodes that answer and are given to games. */
  const ready = () =>
    [...nodes.values()]
      .filter((node) => isReady(node.ID) && node.Spec.Labels?.[REGION_LABEL] !== NO_REGION)
      .map(({ ID: id }) => id);

  async function heed(id: string): Promise<void> {
    if (isReady(id)) {
      if (downSince.delete(id)) log.info({ node: nodeName(id) }, 'the node is back');
      return;
    }
    // A manager that has just begun has not heard of its nodes yet.
    if (nodes.get(id)?.Status.State === 'unknown') return;
    const since = downSince.get(id) ?? Date.now();
    const games = lostOn(id).length;
    if (!downSince.has(id))
      log.error({ node: nodeName(id), games }, 'a node does not answer; its games wait until it is surely off');
    downSince.set(id, since);
    if (games === 0) return;
    if (lostAfterMs > 0 && Date.now() - since >= lostAfterMs) await fence(id, 'SWARM_LOST_AFTER_S has passed');
    else void command(id);
  }

  async function command(id: string): Promise<void> {
    if (!fenceNode || fencing.has(id) || Date.now() - (lastTry.get(id) ?? 0) < FENCE_EVERY_MS) return;
    fencing.add(id);
    lastTry.set(id, Date.now());
    try {
      const address = nodes.get(id)?.Status.Addr ?? '';
      const isOff = await fenceNode({ id, name: nodeName(id), address });
      // It may have come back while the command ran, and then says itself what runs.
      if (isOff && !isReady(id)) await fence(id, 'FENCE_COMMAND has succeeded');
    } catch (err) {
      log.error({ err, node: nodeName(id) }, 'a node could not be fenced; trying again');
    } finally {
      fencing.delete(id);
    }
  }

  async function fence(id: string, why: string): Promise<void> {
    fenced = { ...fenced, [id]: Date.now() };
    await notes.write(fenced);
    seen = undefined;
    isNews = true;
    log.warn({ node: nodeName(id), why }, 'a node counts as switched off: its games start elsewhere');
  }

  /** Notes of which no task is left that they are about. */
  async function forget(): Promise<void> {
    const kept = Object.entries(fenced).filter(
      ([id, at]) =>
        !nodes.has(id) || !isReady(id) || tasks.some((task) => task.NodeID === id && Date.parse(task.CreatedAt) < at),
    );
    if (kept.length === Object.keys(fenced).length) return;
    fenced = Object.fromEntries(kept);
    await notes.write(fenced);
  }

  const nodeName = (id: string) => nodes.get(id)?.Description.Hostname ?? id;

  /** Why no game starts on a node that answers; '' where some may, or where it is drained. */
  function troubleOf(id: string, labels: Record<string, string> = {}): string {
    if (labels[REGION_LABEL] === NO_REGION) return `It is kept free of games (${REGION_LABEL}=${NO_REGION}).`;
    if (checkFiles === undefined || labels[filesLabel(installation)] !== undefined) return '';
    const trouble = unshared.get(id);
    if (trouble === undefined) return 'Whether it shares the servers’ folder has not been found out yet.';
    return `It does not share the servers’ folder: ${trouble}`;
  }

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
    const trouble = node !== undefined && isReady(id) ? troubleOf(id, node.Spec.Labels) : '';
    return {
      id,
      name: nodeName(id),
      address: node?.Status.Addr ?? '',
      region: node?.Spec.Labels?.[REGION_LABEL] ?? region,
      state: node === undefined ? 'gone' : isReady(id) ? 'ready' : 'down',
      takesStarts: node !== undefined && isReady(id) && !drained && trouble === '',
      drained,
      trouble,
      cores: Math.floor((node?.Description.Resources.NanoCPUs ?? 0) / 1e9),
      ramMb: Math.floor((node?.Description.Resources.MemoryBytes ?? 0) / MIB),
      usedRamMb: Math.ceil(bytes / MIB),
      games: ours.length,
      waitsSince: lostOn(id).length > 0 ? (downSince.get(id) ?? null) : null,
      fencedAt: isReady(id) || lostOn(id).length > 0 ? null : (fenced[id] ?? null),
    };
  }

  return {
    look,
    offAt,
    nameOf: ({ NodeID: id }) => (id === undefined ? 'the node' : nodeName(id)),
    addressOf: ({ NodeID: id }) => nodes.get(id ?? '')?.Status.Addr ?? '',
    ready,
    admitNodes,
    requireReachable(task) {
      if (isReady(task.NodeID) || nodes.size === 0) return;
      throw new EngineError(
        'engine_unavailable',
        `${nodeName(task.NodeID ?? '')} does not answer, and may still run the server.`,
        {
          suggestion: 'It goes on elsewhere as soon as that machine is back, or surely off.',
        },
      );
    },
    list: () => [...(seen ??= compile()).views.values()],
    whereIs: (serverId) => (seen ??= compile()).places.get(serverId),
    async fence(id) {
      await readAll();
      if (nodes.has(id) && isReady(id)) return false;
      await fence(id, 'an operator has said so');
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

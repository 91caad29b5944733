import type Docker from 'dockerode';
import { type Exit, GAME_PORT, type Game, MANAGEMENT_PORT, RCON_PORT } from '../engine.ts';
import { LABEL, exitOf } from '../docker/container.ts';

/** The fields read of a Swarm task (Docker Engine API, "Task"). */
export interface Task {
  ID: string;
  ServiceID: string;
  CreatedAt: string;
  NodeID?: string;
  DesiredState: string;
  Status: {
    Timestamp: string;
    State: string;
    Message?: string;
    Err?: string;
    ContainerStatus?: { ContainerID?: string; ExitCode?: number };
    PortStatus?: { Ports?: { Protocol: string; TargetPort: number; PublishedPort: number }[] };
  };
  Spec: {
    ContainerSpec?: { Labels?: Record<string, string> };
    Resources?: { Reservations?: { MemoryBytes?: number; NanoCPUs?: number } };
  };
  NetworksAttachments?: { Network: { ID: string }; Addresses?: string[] }[];
}

/** States of an ended task. `orphaned` is not among them: its node's state is unknown. */
const OVER = new Set(['complete', 'failed', 'shutdown', 'rejected', 'remove']);

/** Returns whether a task has ended, as reported by its node. */
export function isOver({ Status: { State: state } }: Task): boolean {
  return OVER.has(state);
}

/** Returns whether a task runs, as far as is known. */
export function isUp({ Status: { State: state, ContainerStatus: container } }: Task): boolean {
  return state === 'orphaned' || (state === 'running' && container?.ContainerID !== undefined);
}

export function labelsOf({ Spec: { ContainerSpec: spec } }: Task): Record<string, string> {
  return spec?.Labels ?? {};
}

/** Returns the id of a task's container; undefined if it has none yet. */
export function containerOf({ Status: { ContainerStatus: status } }: Task): string | undefined {
  return status?.ContainerID || undefined;
}

/** Returns a task's address in a network; undefined if it has none. */
export function addressIn(networkId: string, { NetworksAttachments: attachments = [] }: Task): string | undefined {
  return attachments.find(({ Network }) => Network.ID === networkId)?.Addresses?.[0]?.split('/')[0];
}

/** Returns the port of the node that leads to a TCP port of a task; undefined if none exists. */
export function publishedAt(port: number, { Status: { PortStatus: status } }: Task): number | undefined {
  return status?.Ports?.find(({ Protocol, TargetPort }) => Protocol === 'tcp' && TargetPort === port)?.PublishedPort;
}

/** The addresses of a running game; null for a port that cannot be reached. */
export type Places = Pick<Game, 'game' | 'rcon' | 'management'>;

/** Returns a game's addresses on a network shared with the service. */
export function placesIn(networkId: string, task: Task): Places | undefined {
  const host = addressIn(networkId, task);
  const at = (port: number) => ({ host: host!, port });
  return host === undefined ? undefined : { game: at(GAME_PORT), rcon: at(RCON_PORT), management: at(MANAGEMENT_PORT) };
}

/** Returns a game's addresses at its node, where only the game's own port is published. */
export function placesOn(nodeAddress: string, task: Task): Places | undefined {
  const port = publishedAt(GAME_PORT, task);
  return port === undefined ? undefined : { game: { host: nodeAddress, port }, rcon: null, management: null };
}

/**
 * Returns the game of a task. `places`: its addresses while it is up. `offAt`: when its node was certainly switched
 * off, whatever Swarm shows. `info`: its container, if its node responded. A game counts as started when its task was
 * created, because Swarm later forgets when it came up.
 */
export function gameOf(
  task: Task,
  places: Places | undefined,
  {
    offAt,
    info,
    oomSeen = false,
  }: { offAt?: number | undefined; info?: Docker.ContainerInspectInfo | undefined; oomSeen?: boolean },
): Game {
  const labels = labelsOf(task);
  const up = isUp(task) && offAt === undefined;
  const installer = labels[LABEL.installer] === 'true';
  return {
    serverId: labels[LABEL.server] ?? '',
    up,
    installer,
    ...(up && !installer && places !== undefined ? places : { game: null, rcon: null, management: null }),
    startedAt: Date.parse(task.CreatedAt),
    exit: up ? null : ending(task, offAt, info, oomSeen),
  };
}

function ending(
  task: Task,
  offAt: number | undefined,
  info: Docker.ContainerInspectInfo | undefined,
  oom: boolean,
): Exit {
  if (offAt !== undefined && !isOver(task)) return { code: null, oomKilled: false, at: offAt };
  if (!isOver(task)) return { code: null, oomKilled: false, at: null };
  if (info) return exitOf(info.State, oom)!;
  const { ContainerStatus: container, Timestamp: at } = task.Status;
  const code = container?.ContainerID === undefined ? null : (container.ExitCode ?? 0);
  return { code, oomKilled: oom && code !== 0, at: Date.parse(at) };
}

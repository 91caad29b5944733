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

/** Whether a task has come to its end, by the word of its node. */
export function isOver({ Status: { State: state } }: Task): boolean {
  return OVER.has(state);
}

/** Whether it runs, as far as anybody knows. */
export function isUp({ Status: { State: state, ContainerStatus: container } }: Task): boolean {
  return state === 'orphaned' || (state === 'running' && container?.ContainerID !== undefined);
}

export function labelsOf({ Spec: { ContainerSpec: spec } }: Task): Record<string, string> {
  return spec?.Labels ?? {};
}

/** Its container on its node; undefined where it has had none yet. */
export function containerOf({ Status: { ContainerStatus: status } }: Task): string | undefined {
  return status?.ContainerID || undefined;
}

/** Its address in a network; undefined where it has none. */
export function addressIn(networkId: string, { NetworksAttachments: attachments = [] }: Task): string | undefined {
  return attachments.find(({ Network }) => Network.ID === networkId)?.Addresses?.[0]?.split('/')[0];
}

/** The port of its node that leads to a port (TCP) of it; undefined where none does. */
export function publishedAt(port: number, { Status: { PortStatus: status } }: Task): number | undefined {
  return status?.Ports?.find(({ Protocol, TargetPort }) => Protocol === 'tcp' && TargetPort === port)?.PublishedPort;
}

/** The addresses of a running game; null if it does not run there. */
export type Places = Pick<Game, 'game' | 'rcon' | 'management'>;

/** On a network that the service is on too. */
export function placesIn(networkId: string, task: Task): Places | undefined {
  const host = addressIn(networkId, task);
  const at = (port: number) => ({ host: host!, port });
  return host === undefined ? undefined : { game: at(GAME_PORT), rcon: at(RCON_PORT), management: at(MANAGEMENT_PORT) };
}

/** At its node's own address, where the game alone is published. */
export function placesOn(nodeAddress: string, task: Task): Places | undefined {
  const port = publishedAt(GAME_PORT, task);
  return port === undefined ? undefined : { game: { host: nodeAddress, port }, rcon: null, management: null };
}

/**
 * The game of a task, and where it is reached while it is up. `offAt`: its node was surely switched off then, whatever Swarm
 * shows. `info`: its container, where its node could be asked. A game began when its task was made: Swarm forgets later when it
 * came up.
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

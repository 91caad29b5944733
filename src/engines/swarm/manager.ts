import type Docker from 'dockerode';
import { LABEL } from '../docker/container.ts';
import { unless, within } from '../docker/errors.ts';
import { type Task, isOver, isUp } from './task.ts';

const CALL_MS = 30_000;
const OUT_OF_SEQUENCE = /update out of sequence/;
const UPDATE_TRIES = 10;

/** The fields read of a Swarm service. */
export interface ServiceInfo {
  ID: string;
  Version: { Index: number };
  Spec: { Name: string; Labels: Record<string, string> } & Record<string, unknown>;
  Endpoint?: unknown;
}

/** The fields read of a Swarm node (Docker Engine API, "Node"). */
export interface NodeInfo {
  ID: string;
  Version: { Index: number };
  Spec: { Labels?: Record<string, string>; Availability: 'active' | 'pause' | 'drain'; Role: string };
  Description: { Hostname: string; Resources: { NanoCPUs?: number; MemoryBytes?: number } };
  Status: { State: string; Message?: string; Addr: string };
}

/** Calls to a manager of the swarm. They reject with dockerode's errors, or if no answer arrives in time. */
export interface Manager {
  service(idOrName: string): Promise<ServiceInfo | undefined>;
  /** Returns services with a label (`name=value`). */
  services(label: string): Promise<ServiceInfo[]>;
  /** Creates a service. Returns false if there is already one with that name. */
  create(spec: object): Promise<boolean>;
  /** Changes a service's specification. `change` may be called several times if others change it too. */
  update(id: string, change: (spec: ServiceInfo['Spec']) => object): Promise<void>;
  remove(id: string): Promise<void>;
  /** Returns the newest task of a service; undefined if it has none or does not exist. */
  taskOf(service: string): Promise<Task | undefined>;
  /** Returns all tasks of a service. */
  tasksOf(service: string): Promise<Task[]>;
  /** Returns the tasks of services with all of these labels. */
  tasks(...labels: string[]): Promise<Task[]>;
  task(id: string): Promise<Task | undefined>;
  /** Returns all running tasks of the swarm, including containers that others attached to its networks. */
  runningTasks(): Promise<Task[]>;
  nodes(): Promise<NodeInfo[]>;
  updateNode(id: string, change: (spec: NodeInfo['Spec']) => NodeInfo['Spec']): Promise<void>;
}

export function managerOf(docker: Docker): Manager {
  const service = (idOrName: string) =>
    unless([404], within(CALL_MS, docker.getService(idOrName).inspect())) as Promise<ServiceInfo | undefined>;
  const listServices = async (filters: Record<string, string[]>) =>
    (await within(CALL_MS, docker.listServices({ filters }))) as unknown as ServiceInfo[];
  const listTasks = (filters: Record<string, string[]>) =>
    within(CALL_MS, docker.listTasks({ filters })) as Promise<Task[]>;

  const tasksOf = async (name: string) => (await unless([404], listTasks({ service: [name] }))) ?? [];

  return {
    service,
    services: (label) => listServices({ label: [label] }),
    async create(spec) {
      // If two calls run at once, the second is refused with 409, or with 500 by an older manager.
      try {
        return (await unless([409], within(CALL_MS, docker.createService(spec as never)))) !== undefined;
      } catch (error) {
        if (/name conflicts with an existing object|already exists/i.test(String(error))) return false;
        throw error;
      }
    },
    async update(id, change) {
      await retried(async () => {
        const now = await service(id);
        if (now === undefined) return;
        const options = { version: now.Version.Index, ...change(now.Spec) };
        await unless([404], within(CALL_MS, docker.getService(now.ID).update(options)));
      });
    },
    async remove(id) {
      await unless([404], within(CALL_MS, docker.getService(id).remove()));
    },
    tasksOf,
    taskOf: async (name) => (await tasksOf(name)).toSorted(newestFirst)[0],
    tasks: (...labels) => listTasks({ label: labels }),
    task: (id) => unless([404], within(CALL_MS, docker.getTask(id).inspect())) as Promise<Task | undefined>,
    runningTasks: () => listTasks({ 'desired-state': ['running'], runtime: ['', 'container', 'attachment'] }),
    nodes: () => within(CALL_MS, docker.listNodes()) as Promise<NodeInfo[]>,
    async updateNode(id, change) {
      await retried(async () => {
        const now = (await within(CALL_MS, docker.getNode(id).inspect())) as NodeInfo;
        const options = { version: now.Version.Index, ...change(now.Spec) };
        await within(CALL_MS, docker.getNode(id).update(options as never) as unknown as Promise<unknown>);
      });
    },
  };
}

/** Wraps a manager so that it changes the swarm only while this process may act. Methods that only read always work. */
export function fencedManager(manager: Manager, mayAct: () => Promise<void>): Manager {
  return {
    ...manager,
    async create(...given) {
      await mayAct();
      return await manager.create(...given);
    },
    async update(...given) {
      await mayAct();
      await manager.update(...given);
    },
    async remove(...given) {
      await mayAct();
      await manager.remove(...given);
    },
    async updateNode(...given) {
      await mayAct();
      await manager.updateNode(...given);
    },
  };
}

/** Returns the label by which services name the installation of their games. */
export function installationLabel(installation: string): string {
  return `${LABEL.installation}=${installation}`;
}

// Retries a change that was based on an outdated version. A change names the version that was read, and the
// orchestrator writes a new version soon after each change.
async function retried(change: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await change();
    } catch (error) {
      if (attempt === UPDATE_TRIES || !OUT_OF_SEQUENCE.test(String(error))) throw error;
    }
  }
}

/**
 * Sorts tasks: running or possibly running ones first, then planned ones, then ended ones; newest first within each.
 */
export function newestFirst(one: Task, other: Task): number {
  return rank(one) - rank(other) || (one.CreatedAt < other.CreatedAt ? 1 : -1);
}

function rank(task: Task): number {
  return isUp(task) ? 0 : isOver(task) ? 2 : 1;
}

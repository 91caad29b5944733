import { createHash } from 'node:crypto';
import { MIB } from '../../kernel/units.ts';
import { LABEL, SYSCTLS, containerName, specDigest, temporary } from '../docker/container.ts';
import { GAME_PORT, type GameSpec } from '../engine.ts';
import { WAITS } from './agent-rules.ts';

/** The label that names a node's region. */
export const REGION_LABEL = 'dormouse.region';

/** The label that names a node's public name or address, if that is not the swarm's own. */
export const HOST_LABEL = 'dormouse.host';

/** Returns the label of nodes that share the servers' folder of an installation. */
export function filesLabel(installation: string): string {
  return `dormouse.files.${installation}`;
}

/** Returns the label whose value AGENT_NONE marks nodes that need no agent of an installation. */
export function agentLabel(installation: string): string {
  return `dormouse.agent.${installation}`;
}
export const AGENT_NONE = 'none';

/** An image that means the same on every node. */
export interface NodeImage {
  /** An id, or a name with its digest. */
  name: string;
  /** Its command, with the first arguments. */
  program: readonly string[];
}

/** Settings shared by the services of one installation. */
export interface SwarmHome {
  installation: string;
  /** `uid:gid` inside the container. */
  user: string;
  /** The region of nodes without a label. */
  region: string;
}

/** The node and image of one service. */
export interface Placing {
  image: NodeImage;
  /** Undefined without a network: the game is then published at a port of its node that Docker chooses. */
  networkId: string | undefined;
  /** The game runs only on nodes with this region's label. */
  region: string;
}

/** Maximum length of a service's name (Swarm: a DNS label). */
const MOST_NAME = 63;
/** A game reserves a quarter of its CPU limit, which games seldom reach. */
const CEILINGS_A_CORE = 4;
const SECOND_NS = 1_000_000_000;

/** Returns the name of a server's service. If the id is too long for a name, a digest replaces its end. */
export function serviceName(installation: string, serverId: string): string {
  const name = containerName(installation, serverId);
  if (name.length <= MOST_NAME) return name;
  const digest = createHash('sha256').update(serverId).digest('hex').slice(0, 12);
  return `${name.slice(0, MOST_NAME - 13)}-${digest}`;
}

/**
 * Returns a service for one boot: one task, which Swarm never restarts, limited and hardened like a container of the
 * docker engine, as far as Swarm supports it. It supports no-new-privileges only from API 1.44 on, and no swap limits:
 * docs/swarm.md describes what a node needs for that. Directories in memory are volumes of tmpfs, because Swarm's own
 * tmpfs mounts must not contain programs.
 */
export function serviceOptions(spec: GameSpec, installer: boolean, home: SwarmHome, placing: Placing): object {
  const memory = spec.ramMb * MIB;
  const nanoCpus = Math.round(spec.cpus * SECOND_NS);
  const labels = {
    [LABEL.installation]: home.installation,
    [LABEL.server]: spec.serverId,
    [LABEL.installer]: String(installer),
    [LABEL.spec]: specDigest(spec, installer),
  };
  const published = installer ? [] : spec.ports;
  // The sandbox runs no code of its owner, and its image has no shell.
  const waits = placing.networkId !== undefined && spec.core !== 'sandbox';
  return {
    Name: serviceName(home.installation, spec.serverId),
    Labels: labels,
    TaskTemplate: {
      ContainerSpec: {
        Image: placing.image.name,
        ...(waits && { Command: afterALine(placing.image.program) }),
        User: home.user,
        Env: Object.entries(spec.env).map(([name, value]) => `${name}=${value}`),
        Labels: { ...labels, ...(waits && { [WAITS]: 'true' }) },
        TTY: false,
        OpenStdin: true,
        Init: true,
        ReadOnly: true,
        CapabilityDrop: ['ALL'],
        HealthCheck: { Test: ['NONE'] },
        Sysctls: SYSCTLS,
        StopGracePeriod: 120 * SECOND_NS,
        Mounts: [{ Type: 'bind', Source: spec.dataDir, Target: '/data' }, ...memoryMounts(spec, installer, home.user)],
      },
      Resources: {
        Limits: { MemoryBytes: memory, NanoCPUs: nanoCpus, Pids: 1024 },
        Reservations: { MemoryBytes: memory, NanoCPUs: Math.round(nanoCpus / CEILINGS_A_CORE) },
      },
      RestartPolicy: { Condition: 'none' },
      Placement: {
        Constraints: [
          `node.labels.${REGION_LABEL}==${placing.region}`,
          `node.labels.${filesLabel(home.installation)}==shared`,
        ],
        Preferences: [{ Spread: { SpreadDescriptor: 'node.id' } }],
      },
      ...(placing.networkId !== undefined && { Networks: [{ Target: placing.networkId }] }),
      LogDriver: { Name: 'json-file', Options: { 'max-size': '10m', 'max-file': '3' } },
    },
    Mode: { Replicated: { Replicas: 1 } },
    EndpointSpec: {
      Mode: 'dnsrr',
      Ports: [
        ...(placing.networkId === undefined && !installer ? [hostPort(GAME_PORT)] : []),
        ...published.map(({ hostPort, containerPort, proto }) => ({
          Protocol: proto,
          TargetPort: containerPort,
          PublishedPort: hostPort,
          PublishMode: 'host',
        })),
      ],
    },
  };
}

/**
 * Wraps a program so that it starts once a line has arrived on its standard input. The program does not see that line.
 */
function afterALine(program: readonly string[]): string[] {
  return ['/bin/sh', '-c', 'read -r _ && exec "$@"', 'sh', ...program];
}

/** Publishes a TCP port of a task at a free port of its node. */
export function hostPort(port: number): object {
  return { Protocol: 'tcp', TargetPort: port, PublishMode: 'host' };
}

/** Returns a service's specification bound to one node; undefined if it is already. */
export function pinned<Spec extends object>(spec: Spec & { TaskTemplate?: unknown }, nodeId: string): Spec | undefined {
  const template = spec.TaskTemplate as { Placement?: { Constraints?: string[] } };
  const constraint = `node.id==${nodeId}`;
  if (template.Placement?.Constraints?.includes(constraint)) return undefined;
  const placement = { ...template.Placement, Constraints: [constraint] };
  return { ...spec, TaskTemplate: { ...template, Placement: placement } };
}

function memoryMounts(spec: GameSpec, installer: boolean, user: string): object[] {
  return Object.entries(temporary(spec, installer, user)).map(([target, options]) => ({
    Type: 'volume',
    Target: target,
    VolumeOptions: {
      NoCopy: true,
      DriverConfig: { Name: 'local', Options: { type: 'tmpfs', device: 'tmpfs', o: options.replace(/^rw,/, '') } },
    },
  }));
}

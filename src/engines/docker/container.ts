import { createHash } from 'node:crypto';
import type { ContainerCreateOptions, ContainerInspectInfo } from 'dockerode';
import { MIB } from '../../kernel/units.ts';
import { GAME_PORT, type Game, type GameSpec, MANAGEMENT_PORT, type PublishedPort, RCON_PORT } from '../engine.ts';
import { checkedServerId } from '../server-id.ts';

/** Labels that identify our containers. */
export const LABEL = {
  installation: 'dormouse.installation',
  server: 'dormouse.server',
  installer: 'dormouse.installer',
  spec: 'dormouse.spec',
} as const;

/** Settings shared by the containers of one installation. */
export interface ContainerHome {
  installation: string;
  /** `uid:gid` inside the container. */
  user: string;
}

export function containerName(installation: string, serverId: string): string {
  return `dormouse-${installation}-${checkedServerId(serverId)}`;
}

/**
 * NFS and other services treat ports below 1024 as the administrator's. By default, Docker lets any user of a container
 * open them.
 */
export const SYSCTLS = { 'net.ipv4.ip_unprivileged_port_start': '1024' };

/** The place of `GameSpec.readable` in a container. */
export const READABLE = '/dormouse';

/** Part of the digest. Change it together with `containerOptions`, so that existing containers are replaced. */
const RULES = 'everything read-only, no low ports';

/**
 * Returns a digest that is equal for equal specifications. It shows whether a container was created for an older one.
 */
export function specDigest(spec: GameSpec, installer: boolean): string {
  const { env, region: _, ...rest } = spec;
  const entries = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([RULES, Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)), entries, installer]))
    .digest('hex')
    .slice(0, 16);
}

/**
 * Returns the options of a container for one boot. Mods and plugins are arbitrary code, so the container has no root,
 * no capabilities and no new privileges. Its memory (without swap), processes and logs are limited. Only the ports that
 * the owner requested are published. Docker does not restart it, and the image's health check, which would run a file
 * of the data root, is off. Only the data root is written to a disk, and its quota is watched. All else is read-only,
 * or in the container's own memory.
 */
export function containerOptions(
  spec: GameSpec,
  installer: boolean,
  home: ContainerHome,
  networkId: string,
): ContainerCreateOptions {
  const memory = spec.ramMb * MIB;
  const published = installer ? [] : spec.ports;
  return {
    name: containerName(home.installation, spec.serverId),
    Image: spec.image,
    User: home.user,
    Tty: false,
    OpenStdin: true,
    Env: Object.entries(spec.env).map(([name, value]) => `${name}=${value}`),
    Labels: {
      [LABEL.installation]: home.installation,
      [LABEL.server]: spec.serverId,
      [LABEL.installer]: String(installer),
      [LABEL.spec]: specDigest(spec, installer),
    },
    ExposedPorts: Object.fromEntries(published.map((port) => [portKey(port), {}])),
    Healthcheck: { Test: ['NONE'] },
    StopTimeout: 120,
    HostConfig: {
      Init: true,
      Memory: memory,
      MemorySwap: memory,
      // A quota, because Docker refuses NanoCpus above the machine's number of processors.
      CpuPeriod: 100_000,
      CpuQuota: Math.round(100_000 * spec.cpus),
      PidsLimit: 1024,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Mounts: [
        { Type: 'bind', Source: spec.dataDir, Target: '/data' },
        ...(spec.readable === undefined
          ? []
          : [{ Type: 'bind' as const, Source: spec.readable, Target: READABLE, ReadOnly: true }]),
      ],
      ReadonlyRootfs: true,
      Tmpfs: temporary(spec, installer, home.user),
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
      NetworkMode: networkId,
      Sysctls: SYSCTLS,
      PublishAllPorts: false,
      PortBindings: Object.fromEntries(published.map((port) => [portKey(port), [{ HostPort: String(port.hostPort) }]])),
    },
  };
}

/**
 * Returns the directories in memory. The game image unpacks its downloads in /tmp, and plugins load native libraries
 * from there, so /tmp must be executable. Java uses /home/minecraft as the user's home, because the image keeps its own
 * in /data. Each directory is given to the user explicitly, because it would otherwise keep the mode of the image's
 * directory.
 */
export function temporary({ core, ramMb }: GameSpec, installer: boolean, user: string): Record<string, string> {
  const [uid, gid] = user.split(':');
  const common = `rw,nosuid,nodev,mode=1777,uid=${uid},gid=${gid}`;
  if (core === 'sandbox') return { '/tmp': `${common},noexec,size=64m` };
  const tmpMb = Math.min(512, Math.max(64, Math.floor(ramMb / (installer ? 2 : 4))));
  const small = `${common},noexec,size=16m`;
  return {
    '/tmp': `${common},exec,size=${tmpMb}m`,
    '/run': small,
    '/var/tmp': small,
    '/home/minecraft': small,
  };
}

function portKey({ containerPort, proto }: PublishedPort): string {
  return `${containerPort}/${proto}`;
}

/** Returns the game in a container. `oomSeen`: Docker announced an out-of-memory kill in it. */
export function gameOf(info: ContainerInspectInfo, network: string, oomSeen = false): Game {
  const { State: state, Config: config } = info;
  const up = state.Running;
  const installer = config.Labels[LABEL.installer] === 'true';
  const ip = up && !installer ? info.NetworkSettings.Networks[network]?.IPAddress : undefined;
  return {
    serverId: config.Labels[LABEL.server] ?? '',
    up,
    installer,
    game: ip ? { host: ip, port: GAME_PORT } : null,
    rcon: ip ? { host: ip, port: RCON_PORT } : null,
    management: ip ? { host: ip, port: MANAGEMENT_PORT } : null,
    startedAt: instant(state.StartedAt),
    exit: up ? null : exitOf(state, oomSeen),
  };
}

/** Returns how a container ended, as reported by its engine. */
export function exitOf(state: ContainerInspectInfo['State'], oomSeen: boolean): Game['exit'] {
  const at = instant(state.FinishedAt);
  const code = at === null ? null : state.ExitCode;
  return { code, oomKilled: code !== 0 && (state.OOMKilled || oomSeen), at };
}

// Docker writes the year 1 for "never".
function instant(text: string): number | null {
  const at = Date.parse(text);
  return at > 0 ? at : null;
}

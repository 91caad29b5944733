import Docker, { type ContainerInspectInfo, type DockerOptions } from 'dockerode';
import type { Logger } from 'pino';
import { createKeyedMutex } from '../../kernel/mutex.ts';
import { abortable } from '../../kernel/timeout.ts';
import { type Engine, EngineError, type EngineEvent, type Game, type LogLine } from '../engine.ts';
import { logArchive } from './archive.ts';
import { LABEL, gameOf, specDigest } from './container.ts';
import { dockerContainers } from './containers.ts';
import { engineError, translated } from './errors.ts';
import { type ImageProvider, imageKeeper } from './image.ts';
import { serverLogs } from './logs.ts';
import { gameNetwork } from './network.ts';
import { createStatsReader } from './stats.ts';
import { type ContainerListener, watchContainers } from './watch.ts';

const INSPECTED_AT_ONCE = 8;

export interface DockerEngineOptions {
  /** Where the Docker Engine is; by default as Docker itself finds it (`DOCKER_HOST`, else the local socket). */
  docker?: DockerOptions;
  /** A short id, `[a-z0-9-]`, that marks everything of ours, so that several installations can share an engine. */
  installation: string;
  /** Directory for the last lines of removed containers. */
  logDir: string;
  log: Logger;
  /** The user games run as; by default this process's own, or 1000 where that is root. */
  uid?: number;
  /** Asked for images that are not there, before they are pulled. */
  provideImage?: ImageProvider;
}

/**
 * Games in containers of a Docker Engine (API 1.41 or later): one container a boot, named and labelled by our ids, on one
 * network of the installation where games cannot reach each other and nothing is published. A container that ended by
 * itself stays until the next boot, halt or erase, so that its exit and output can be read; `halt` removes it.
 */
export function createDockerEngine(options: DockerEngineOptions): Engine {
  const { installation, log } = options;
  const docker = new Docker(options.docker);
  const uid = options.uid ?? ((process.getuid?.() ?? 0) || 1000);
  const network = gameNetwork(docker, installation);
  const home = { installation, user: `${uid}:${uid}` };
  const logs = serverLogs(logArchive(options.logDir), async (serverId) => {
    const found = await containers.find(serverId);
    return found && { docker, id: found.Id, running: found.State.Running, createdAt: found.Created };
  });
  const containers = dockerContainers({
    docker,
    home,
    network,
    ensureImage: imageKeeper(docker, options.provideImage),
    beforeDiscard: keepLogs,
  });
  /** Calls that change a server's container, one at a time for each server. */
  const withLock = createKeyedMutex();
  /** Containers in which Docker announced an out-of-memory kill; the container's own state may not show it. */
  const oomSeen = new Set<string>();
  /** The last reading of each server. */
  const stats = createStatsReader();
  let booting = 0;

  const game = (info: ContainerInspectInfo) => gameOf(info, network.name, oomSeen.has(info.Id));

  async function run(...[spec, installer, signal]: Parameters<typeof containers.run>): Promise<ContainerInspectInfo> {
    booting += 1;
    try {
      return await containers.run(spec, installer, signal);
    } finally {
      booting -= 1;
    }
  }

  // Neither a full disk nor an engine that says nothing more must keep a game from being stopped or started.
  async function keepLogs(serverId: string, id: string): Promise<void> {
    await logs
      .keep(serverId, { docker, id })
      .catch((err: unknown) => log.warn({ err, server: serverId }, 'a log was not kept'));
  }

  async function discard(serverId: string, id: string): Promise<void> {
    await keepLogs(serverId, id);
    await containers.discard(id);
  }

  async function killNow(serverId: string): Promise<string | undefined> {
    const found = await containers.find(serverId);
    if (found?.State.Running) {
      await containers.resume(found);
      await containers.kill(found.Id);
    }
    return found?.Id;
  }

  /** Waits until a container ends; resolves with its exit code. */
  async function ended(id: string, signal: AbortSignal): Promise<number> {
    const waiting = docker.getContainer(id).wait({ abortSignal: signal }) as Promise<{ StatusCode: number }>;
    return (await abortable(waiting, signal)).StatusCode;
  }

  /** Whether the container is an installer that ended well for this specification while no service watched it. */
  const isDone = (found: ContainerInspectInfo, digest: string) =>
    found.State.Status === 'exited' && found.State.ExitCode === 0 && found.Config.Labels[LABEL.spec] === digest;

  async function events(event: Parameters<ContainerListener>[0], emit: (event: EngineEvent) => void): Promise<void> {
    if (event === 'away') return emit({ type: 'away' });
    if (event === 'missed') return emit({ type: 'resync' });
    const { action, containerId, labels, at } = event;
    if (action === 'oom') oomSeen.add(containerId);
    if (action === 'destroy') oomSeen.delete(containerId);
    if (action !== 'start' && action !== 'die') return;
    const info = await containers.inspect(containerId).catch(() => undefined);
    if (action === 'start') return info?.State.Running ? emit({ type: 'up', game: game(info) }) : undefined;
    const code = Number(labels.exitCode);
    const oomKilled = code !== 0 && (oomSeen.has(containerId) || (info?.State.OOMKilled ?? false));
    const down: Game = {
      serverId: labels[LABEL.server] ?? '',
      up: false,
      installer: labels[LABEL.installer] === 'true',
      game: null,
      rcon: null,
      management: null,
      startedAt: info ? game(info).startedAt : null,
      exit: { code, oomKilled, at },
    };
    emit({ type: 'down', game: down });
  }

  return {
    kind: 'docker',

    boot: (spec, signal) =>
      translated(() => withLock(spec.serverId, async () => game(await run(spec, false, signal))), signal),

    install: (spec, signal) =>
      translated(async () => {
        const { serverId } = spec;
        const digest = specDigest(spec, true);
        const id = await withLock(serverId, async () => {
          const found = await containers.find(serverId);
          if (found?.State.Running && !game(found).installer) {
            throw new EngineError('install_failed', 'The server is running.', {
              suggestion: 'Stop it, then try again.',
            });
          }
          return found && isDone(found, digest) ? found.Id : (await run(spec, true, signal)).Id;
        });
        try {
          const code = await ended(id, signal);
          if (code !== 0) {
            throw new EngineError('install_failed', `The installer ended with code ${code}.`, {
              suggestion: 'Read the log, then try again.',
            });
          }
        } catch (error) {
          if (signal.aborted) {
            await containers.kill(id);
            await withLock(serverId, () => discard(serverId, id));
          }
          throw error;
        }
        await withLock(serverId, () => discard(serverId, id));
      }, signal),

    halt: (serverId, graceMs) =>
      translated(() =>
        withLock(serverId, async () => {
          const found = await containers.find(serverId);
          if (!found) return;
          await containers.resume(found);
          if (found.State.Running) await containers.stop(found.Id, graceMs);
          await discard(serverId, found.Id);
        }),
      ),

    // First outside the lock, so that it cuts a waiting halt short; then inside, to remove just the container that it
    // killed.
    kill: (serverId) =>
      translated(async () => {
        const id = await killNow(serverId);
        if (id === undefined) return;
        await withLock(serverId, async () => {
          if (await containers.inspect(id)) await discard(serverId, id);
        });
      }),

    erase: (serverId) =>
      translated(async () => {
        await killNow(serverId);
        await withLock(serverId, async () => {
          const found = await containers.find(serverId);
          if (found) await containers.discard(found.Id);
          await logs.forget(serverId);
        });
        stats.forget(serverId);
        if (booting === 0 && (await containers.all()).length === 0) await network.remove();
      }),

    proxyAddresses: () => translated(() => network.gateways()),

    list: () =>
      translated(async () => {
        const ids = await containers.all();
        const games: Game[] = [];
        const next = async () => {
          for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
            const info = await containers.inspect(id);
            if (info) games.push(game(info));
          }
        };
        await Promise.all(Array.from({ length: INSPECTED_AT_ONCE }, next));
        return games;
      }),

    inspect: (serverId) =>
      translated(async () => {
        const found = await containers.find(serverId);
        return found && game(found);
      }),

    watch: (listener) =>
      watchContainers(docker, installation, log, async (event) => {
        await events(event, (told) => {
          try {
            listener(told);
          } catch (err) {
            log.error({ err }, 'a listener of the engine failed');
          }
        });
      }),

    stats: (serverId) =>
      translated(async () => {
        const found = await containers.find(serverId);
        if (!found?.State.Running) return undefined;
        return stats.read(serverId, docker.getContainer(found.Id), Date.parse(found.State.StartedAt));
      }),

    async *logs(serverId, query = {}): AsyncGenerator<LogLine> {
      try {
        yield* logs.read(serverId, query);
      } catch (error) {
        throw engineError(error);
      }
    },
  };
}

import Docker, { type ContainerInspectInfo, type DockerOptions } from 'dockerode';
import type { Logger } from 'pino';
import type { Address } from '../../kernel/address.ts';
import { createKeyedMutex } from '../../kernel/mutex.ts';
import { abortable } from '../../kernel/timeout.ts';
import {
  type Engine,
  EngineError,
  type EngineEvent,
  type Game,
  type GameSpec,
  type LogLine,
  type LogQuery,
} from '../engine.ts';
import { logArchive } from './archive.ts';
import { LABEL, gameOf, specDigest } from './container.ts';
import { type Containers, dockerContainers } from './containers.ts';
import { gameEgress } from './egress.ts';
import { engineError, translated } from './errors.ts';
import { type ImageProvider, imageKeeper } from './image.ts';
import { type ServerLogs, serverLogs } from './logs.ts';
import { type GameNetwork, gameNetwork } from './network.ts';
import { createStatsReader } from './stats.ts';
import { type ContainerListener, watchContainers } from './watch.ts';

const INSPECTED_AT_ONCE = 8;

export interface DockerEngineOptions {
  /** The address of the Docker Engine. Default: as Docker itself finds it (`DOCKER_HOST`, else the local socket). */
  docker?: DockerOptions;
  /** A short id, `[a-z0-9-]`, that marks all our objects, so that several installations can share an engine. */
  installation: string;
  /** Directory for the last lines of removed containers. */
  logDir: string;
  log: Logger;
  /**
   * `internet`: games connect only to the internet and their database. Default: `everything` that their machine can
   * reach.
   */
  reach?: 'internet' | 'everything';
  /** The database server for games; absent if they have none. */
  database?: Address | undefined;
  /** The user id of games. Default: this process's own, or 1000 if that is root. */
  uid?: number;
  /** Called for missing images before they are pulled. */
  provideImage?: ImageProvider;
}

/**
 * Creates an engine that runs games in containers of a Docker Engine (API 1.41 or later). Each boot gets one container,
 * named and labelled with our ids. All containers are on one network of the installation, where games cannot reach each
 * other. Only the ports that owners requested are published. A container that ended on its own stays until the next
 * boot, halt or erase, so that its exit and output can be read; `halt` removes it.
 */
export function createDockerEngine(options: DockerEngineOptions): Engine {
  return new DockerEngine(options);
}

/** Public members are own properties and bound, so that a wrapper of the engine can spread it. */
class DockerEngine implements Engine {
  readonly kind = 'docker';
  readonly #docker: Docker;
  readonly #installation: string;
  readonly #log: Logger;
  readonly #network: GameNetwork;
  readonly #logs: ServerLogs;
  readonly #containers: Containers;
  /** Runs calls that change a server's container one at a time per server. */
  readonly #withLock = createKeyedMutex();
  /** Containers in which Docker announced an out-of-memory kill; the container's own state may not show it. */
  readonly #oomSeen = new Set<string>();
  /** The last reading of each server. */
  readonly #stats = createStatsReader();
  #booting = 0;

  constructor(options: DockerEngineOptions) {
    const { installation, log } = options;
    const docker = new Docker(options.docker);
    const uid = options.uid ?? ((process.getuid?.() ?? 0) || 1000);
    this.#docker = docker;
    this.#installation = installation;
    this.#log = log;
    this.#network = gameNetwork(docker, installation);
    this.#logs = serverLogs(logArchive(options.logDir), async (serverId) => {
      const found = await this.#containers.find(serverId);
      return found && { docker, id: found.Id, running: found.State.Running, createdAt: found.Created };
    });
    this.#containers = dockerContainers({
      docker,
      home: { installation, user: `${uid}:${uid}` },
      network: this.#network,
      egress:
        options.reach === 'internet' ? gameEgress({ docker, installation, database: options.database }) : undefined,
      ensureImage: imageKeeper(docker, options.provideImage),
      beforeDiscard: (serverId, id) => this.#keepLogs(serverId, id),
    });
  }

  readonly boot: Engine['boot'] = (spec, signal) =>
    translated(
      () => this.#withLock(spec.serverId, async () => this.#game(await this.#run(spec, false, signal))),
      signal,
    );

  readonly install: Engine['install'] = (spec, signal) =>
    translated(async () => {
      const { serverId } = spec;
      const id = await this.#withLock(serverId, () => this.#installing(spec, signal));
      try {
        const code = await this.#ended(id, signal);
        if (code !== 0) {
          throw new EngineError('install_failed', `The installer ended with code ${code}.`, {
            suggestion: 'Read the log, then try again.',
          });
        }
      } catch (error) {
        if (signal.aborted) {
          await this.#containers.kill(id);
          await this.#withLock(serverId, () => this.#discard(serverId, id));
        }
        throw error;
      }
      await this.#withLock(serverId, () => this.#discard(serverId, id));
    }, signal);

  readonly halt: Engine['halt'] = (serverId, graceMs, signal) =>
    translated(() => {
      const work = async () => {
        const found = await this.#containers.find(serverId);
        if (!found) return;
        signal?.throwIfAborted();
        await this.#containers.resume(found);
        // Docker completes the stop of this container even if the caller no longer waits.
        if (found.State.Running) await abortable(this.#containers.stop(found.Id, graceMs), signal);
        await this.#discard(serverId, found.Id);
      };
      return this.#withLock(serverId, work, signal);
    }, signal);

  // First kills outside the lock, which cuts a waiting halt short. Then removes just the killed container, inside the
  // lock.
  readonly kill: Engine['kill'] = (serverId) =>
    translated(async () => {
      const id = await this.#killNow(serverId);
      if (id === undefined) return;
      await this.#withLock(serverId, async () => {
        if (await this.#containers.inspect(id)) await this.#discard(serverId, id);
      });
    });

  readonly erase: Engine['erase'] = (serverId) =>
    translated(async () => {
      await this.#killNow(serverId);
      await this.#withLock(serverId, async () => {
        const found = await this.#containers.find(serverId);
        if (found) await this.#containers.discard(found.Id);
        await this.#logs.forget(serverId);
      });
      this.#stats.forget(serverId);
      if (this.#booting === 0 && (await this.#containers.all()).length === 0) await this.#network.remove();
    });

  readonly proxyAddresses: Engine['proxyAddresses'] = () => translated(() => this.#network.gateways());

  readonly list: Engine['list'] = () =>
    translated(async () => {
      const ids = await this.#containers.all();
      const games: Game[] = [];
      const next = async () => {
        for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
          const info = await this.#containers.inspect(id);
          if (info) games.push(this.#game(info));
        }
      };
      await Promise.all(Array.from({ length: INSPECTED_AT_ONCE }, next));
      return games;
    });

  readonly inspect: Engine['inspect'] = (serverId) =>
    translated(async () => {
      const found = await this.#containers.find(serverId);
      return found && this.#game(found);
    });

  readonly watch: Engine['watch'] = (listener) =>
    watchContainers(this.#docker, this.#installation, this.#log, async (event) => {
      await this.#events(event, (told) => {
        try {
          listener(told);
        } catch (err) {
          this.#log.error({ err }, 'a listener of the engine failed');
        }
      });
    });

  readonly stats: Engine['stats'] = (serverId) =>
    translated(async () => {
      const found = await this.#containers.find(serverId);
      if (!found?.State.Running) return undefined;
      return this.#stats.read(serverId, this.#docker.getContainer(found.Id), Date.parse(found.State.StartedAt));
    });

  readonly logs: Engine['logs'] = (serverId, query = {}) => this.#readLogs(serverId, query);

  async *#readLogs(serverId: string, query: LogQuery): AsyncGenerator<LogLine> {
    try {
      yield* this.#logs.read(serverId, query);
    } catch (error) {
      throw engineError(error);
    }
  }

  #game(info: ContainerInspectInfo): Game {
    return gameOf(info, this.#network.name, this.#oomSeen.has(info.Id));
  }

  async #run(...[spec, installer, signal]: Parameters<Containers['run']>): Promise<ContainerInspectInfo> {
    this.#booting += 1;
    try {
      return await this.#containers.run(spec, installer, signal);
    } finally {
      this.#booting -= 1;
    }
  }

  /**
   * Returns the id of the installer's container: one that succeeded for this specification while no service watched it,
   * or a running one.
   */
  async #installing(spec: GameSpec, signal: AbortSignal): Promise<string> {
    const found = await this.#containers.find(spec.serverId);
    if (found?.State.Running && !this.#game(found).installer) {
      throw new EngineError('install_failed', 'The server is running.', { suggestion: 'Stop it, then try again.' });
    }
    const isDone =
      found?.State.Status === 'exited' &&
      found.State.ExitCode === 0 &&
      found.Config.Labels[LABEL.spec] === specDigest(spec, true);
    return isDone ? found.Id : (await this.#run(spec, true, signal)).Id;
  }

  // A full disk or an unresponsive engine must not prevent a game from being stopped or started.
  async #keepLogs(serverId: string, id: string): Promise<void> {
    await this.#logs
      .keep(serverId, { docker: this.#docker, id })
      .catch((err: unknown) => this.#log.warn({ err, server: serverId }, 'could not store the log of a game'));
  }

  async #discard(serverId: string, id: string): Promise<void> {
    await this.#keepLogs(serverId, id);
    await this.#containers.discard(id);
  }

  async #killNow(serverId: string): Promise<string | undefined> {
    const found = await this.#containers.find(serverId);
    if (found?.State.Running) {
      await this.#containers.resume(found);
      await this.#containers.kill(found.Id);
    }
    return found?.Id;
  }

  /** Waits until a container ends; resolves with its exit code. */
  async #ended(id: string, signal: AbortSignal): Promise<number> {
    const waiting = this.#docker.getContainer(id).wait({ abortSignal: signal }) as Promise<{ StatusCode: number }>;
    return (await abortable(waiting, signal)).StatusCode;
  }

  async #events(event: Parameters<ContainerListener>[0], emit: (event: EngineEvent) => void): Promise<void> {
    if (event === 'away') return emit({ type: 'away' });
    if (event === 'missed') return emit({ type: 'resync' });
    const { action, containerId, labels, at } = event;
    if (action === 'oom') this.#oomSeen.add(containerId);
    if (action === 'destroy') this.#oomSeen.delete(containerId);
    if (action !== 'start' && action !== 'die') return;
    const info = await this.#containers.inspect(containerId).catch(() => undefined);
    if (action === 'start') return info?.State.Running ? emit({ type: 'up', game: this.#game(info) }) : undefined;
    const code = Number(labels.exitCode);
    const oomKilled = code !== 0 && (this.#oomSeen.has(containerId) || (info?.State.OOMKilled ?? false));
    const down: Game = {
      serverId: labels[LABEL.server] ?? '',
      up: false,
      installer: labels[LABEL.installer] === 'true',
      game: null,
      rcon: null,
      management: null,
      startedAt: info ? this.#game(info).startedAt : null,
      exit: { code, oomKilled, at },
    };
    emit({ type: 'down', game: down });
  }
}

import Docker, { type ContainerInspectInfo, type DockerOptions } from 'dockerode';
import type { Logger } from 'pino';
import type { Address } from '../../kernel/address.ts';
import { abortable } from '../../kernel/timeout.ts';
import { type Driver, drivenEngine } from '../driven-engine.ts';
import type { Engine, EngineEvent, Game, GameSpec, GameStats, LogLine, LogQuery } from '../engine.ts';
import { logArchive } from './archive.ts';
import type { ContainerStarts, ImageHost } from './container-starts.ts';
import { LABEL, gameOf, specDigest } from './container.ts';
import { type Containers, dockerContainers } from './containers.ts';
import { gameEgress } from './egress.ts';
import { engineError } from './errors.ts';
import { type ImageProvider, imageKeeper } from './image.ts';
import { imageFacts, runImage } from './image-run.ts';
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
  /** Makes starts of Java games quicker. Absent: each start is a plain one. */
  starts?: ContainerStarts;
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
  return drivenEngine(new DockerDriver(options), options.log);
}

class DockerDriver implements Driver<ContainerInspectInfo> {
  readonly kind = 'docker';
  readonly #docker: Docker;
  readonly #installation: string;
  readonly #log: Logger;
  readonly #network: GameNetwork;
  readonly #logs: ServerLogs;
  readonly #containers: Containers;
  readonly #starts: ContainerStarts | undefined;
  readonly #host: ImageHost;
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
    const home = { installation, user: `${uid}:${uid}` };
    const egress = options.reach === 'internet' ? gameEgress(docker, installation, options.database) : undefined;
    this.#starts = options.starts;
    this.#host = {
      factsOf: (image) => imageFacts(docker, image),
      run: async (run) => {
        const networkId = await this.#network.ensure();
        await egress?.restrict(networkId, run.image);
        return await runImage(docker, home, networkId, run);
      },
    };
    this.#containers = dockerContainers({
      docker,
      home,
      network: this.#network,
      egress,
      ensureImage: imageKeeper(docker, options.provideImage),
      beforeDiscard: (serverId, id) => this.#keepLogs(serverId, id),
    });
  }

  find(serverId: string): Promise<ContainerInspectInfo | undefined> {
    return this.#containers.find(serverId);
  }

  gameOf(info: ContainerInspectInfo): Game {
    return gameOf(info, this.#network.name, this.#oomSeen.has(info.Id));
  }

  async list(): Promise<Game[]> {
    const ids = await this.#containers.all();
    const games: Game[] = [];
    const next = async () => {
      for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
        const info = await this.#containers.inspect(id);
        if (info) games.push(this.gameOf(info));
      }
    };
    await Promise.all(Array.from({ length: INSPECTED_AT_ONCE }, next));
    return games;
  }

  runsGame(info: ContainerInspectInfo): boolean {
    return info.State.Running && !this.gameOf(info).installer;
  }

  isSame(info: ContainerInspectInfo, other: ContainerInspectInfo): boolean {
    return info.Id === other.Id;
  }

  async boot(spec: GameSpec, signal: AbortSignal): Promise<Game> {
    const quick = (await this.#starts?.quicken(spec, this.#host)) ?? spec;
    return this.gameOf(await this.#run(quick, false, signal));
  }

  async startInstaller(spec: GameSpec, signal: AbortSignal): Promise<ContainerInspectInfo> {
    const found = await this.#containers.find(spec.serverId);
    // It may have succeeded while no service watched it.
    const isDone =
      found?.State.Status === 'exited' &&
      found.State.ExitCode === 0 &&
      found.Config.Labels[LABEL.spec] === specDigest(spec, true);
    return isDone ? found : await this.#run(spec, true, signal);
  }

  async ended({ Id: id }: ContainerInspectInfo, signal: AbortSignal): Promise<number> {
    const waiting = this.#docker.getContainer(id).wait({ abortSignal: signal }) as Promise<{ StatusCode: number }>;
    return (await abortable(waiting, signal)).StatusCode;
  }

  async stop(info: ContainerInspectInfo, graceMs: number, signal?: AbortSignal): Promise<void> {
    await this.#containers.resume(info);
    // Docker completes the stop of this container even if the caller no longer waits.
    if (info.State.Running) await abortable(this.#containers.stop(info.Id, graceMs), signal);
  }

  async kill(info: ContainerInspectInfo): Promise<void> {
    if (!info.State.Running) return;
    await this.#containers.resume(info);
    await this.#containers.kill(info.Id);
  }

  async discard(info: ContainerInspectInfo): Promise<void> {
    await this.#keepLogs(info.Config.Labels[LABEL.server] ?? '', info.Id);
    await this.#containers.discard(info.Id);
  }

  async erase(serverId: string, info: ContainerInspectInfo | undefined): Promise<void> {
    if (info) await this.#containers.discard(info.Id);
    await this.#logs.forget(serverId);
    this.#stats.forget(serverId);
    if (this.#booting === 0 && (await this.#containers.all()).length === 0) await this.#network.remove();
  }

  async stats(serverId: string, info: ContainerInspectInfo): Promise<GameStats | undefined> {
    if (!info.State.Running) return undefined;
    return this.#stats.read(serverId, this.#docker.getContainer(info.Id), Date.parse(info.State.StartedAt));
  }

  watch(listener: (event: EngineEvent) => void): () => void {
    const emit: typeof listener = (event) => {
      this.#starts?.note(event);
      listener(event);
    };
    return watchContainers(this.#docker, this.#installation, this.#log, (event) => this.#events(event, emit));
  }

  logs(serverId: string, query: LogQuery = {}): AsyncIterable<LogLine> {
    return this.#logs.read(serverId, query);
  }

  proxyAddresses(): Promise<readonly string[]> {
    return this.#network.gateways();
  }

  toError(error: unknown): Error {
    return engineError(error);
  }

  async #run(...[spec, installer, signal]: Parameters<Containers['run']>): Promise<ContainerInspectInfo> {
    this.#booting += 1;
    try {
      return await this.#containers.run(spec, installer, signal);
    } finally {
      this.#booting -= 1;
    }
  }

  // A full disk or an unresponsive engine must not prevent a game from being stopped or started.
  async #keepLogs(serverId: string, id: string): Promise<void> {
    await this.#logs
      .keep(serverId, { docker: this.#docker, id })
      .catch((err: unknown) => this.#log.warn({ err, server: serverId }, 'could not store the log of a game'));
  }

  async #events(event: Parameters<ContainerListener>[0], emit: (event: EngineEvent) => void): Promise<void> {
    if (event === 'away') return emit({ type: 'away' });
    if (event === 'missed') return emit({ type: 'resync' });
    const { action, containerId, labels, at } = event;
    if (action === 'oom') this.#oomSeen.add(containerId);
    if (action === 'destroy') this.#oomSeen.delete(containerId);
    if (action !== 'start' && action !== 'die') return;
    const info = await this.#containers.inspect(containerId).catch(() => undefined);
    if (action === 'start') return info?.State.Running ? emit({ type: 'up', game: this.gameOf(info) }) : undefined;
    const code = Number(labels.exitCode);
    const oomKilled = code !== 0 && (this.#oomSeen.has(containerId) || (info?.State.OOMKilled ?? false));
    const down: Game = {
      serverId: labels[LABEL.server] ?? '',
      up: false,
      installer: labels[LABEL.installer] === 'true',
      game: null,
      rcon: null,
      management: null,
      startedAt: info ? this.gameOf(info).startedAt : null,
      exit: { code, oomKilled, at },
    };
    emit({ type: 'down', game: down });
  }
}

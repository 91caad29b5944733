import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type EngineSetting, chooseEngine } from './choose.ts';
import { type Console, withStandardInput } from './console/console.ts';
import { type ConsolePasswords, openConsolePasswords } from './console/passwords.ts';
import type { Management } from './console/management-port.ts';
import { createManagement } from './console/management.ts';
import { createRconConsole } from './console/rcon.ts';
import { containerName } from './docker/container.ts';
import { dockerOptions } from './docker/host.ts';
import { type ImageProvider, renewImage } from './docker/image.ts';
import { engineAfter, noteEngine } from './engine-change.ts';
import type { Engine } from './engine.ts';
import { fencedConsole, fencedEngine } from './fenced.ts';
import { type TrustedWithCode, openConfinement } from './process/confined.ts';
import { type CoreBuilds, createCoreBuilds } from './process/cores/core-builds.ts';
import { openCoreStore } from './process/cores/core-store.ts';
import { createJavaDownloads } from './process/cores/java-downloads.ts';
import { type SourceUrls, openCoreSources } from './process/cores/sources.ts';
import { type JavaPlaces, createJavas } from './process/java-homes.ts';
import { createJavaVersions } from './process/java-versions.ts';
import { createProcessEngine, searchPath } from './process/process.ts';
import { QuickStarts } from './process/quick-starts.ts';
import { processTrainer } from './process/training.ts';
import { SANDBOX_ENTRY, SANDBOX_PATHS, isOutdated } from './sandbox.ts';
import type { Address } from '../kernel/address.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';
import { getMeta, setMeta } from '../store/meta.ts';
import type { Secret } from '../store/secret.ts';
import type { Store } from '../store/store.ts';

/** Runs games and gives access to them. */
export interface GameHost {
  /** The consoles of games (RCON). */
  console: Console;
  /** For typed commands: like `console`, but uses standard input if a game opens no console. */
  typed: Console;
  management: Management;
  passwords: ConsolePasswords;
  engine: Engine;
  /** The owner of servers' files; undefined: this process's own user. */
  owner: FileOwner | undefined;
  /** The users whose servers may run uploaded code. */
  trusted: TrustedWithCode;
  /** Returns the name of a server's container. Undefined if games do not run in containers. */
  containerOf: ((serverId: string) => string) | undefined;
  /** Returns whether this machine can get a core without an upload. */
  canGet: (core: string) => boolean;
  /** The builds of cores from public sources. */
  builds: CoreBuilds;
}

/** The settings that select and configure the engine. */
export interface GameHostSettings extends SourceUrls {
  dataDir: string;
  engine: EngineSetting;
  /** Whether the engine may change while servers are awake. */
  engineChange: 'refuse' | 'accept';
  dockerHost: string;
  sandboxImage: string;
  /** The region of servers that request none. */
  region: string;
  /**
   * For a swarm: its overlay network, its nodes' Docker sockets, the command that switches a node off ('' if people
   * do), and the time after which a node counts as off.
   */
  swarmNetwork: string;
  /** Whether the swarm has an overlay network. */
  swarmOverlay: boolean;
  swarmNodeSocket: string;
  fenceCommand: string;
  swarmLostAfterSeconds: number;
  /** For containers: the destinations that games may connect to. */
  gamesReach: 'internet' | 'everything';
  /** The database server for games. `mysqlAdminUrl` is null if none exists. */
  mysqlAdminUrl: string | null;
  mysqlAddress: Address;
  /** For processes: whether to run uploaded code of tenants as well as that of operators. */
  trustTenants: boolean;
  /**
   * For processes: Java homes. If empty, the places are `javaHome`, the `java` of the search path, and the
   * distribution's Java homes.
   */
  javaHomes: readonly string[];
  javaHome: readonly string[];
  /** For processes: whether to download Java if none is suitable, and from which address. */
  javaDownload: boolean;
  adoptiumUrl: string;
  /** Address of this installation, which the sources of cores see. */
  baseUrl: string;
}

export interface GameHostOptions {
  store: Store;
  secret: Secret;
  settings: GameHostSettings;
  /** Resolves if this process may change games; see `Lease.require`. */
  mayAct: () => Promise<void>;
  /** Returns the last known number of servers that are not at rest. */
  awake: () => Promise<number>;
  clock: Clock;
  log: Log;
  onClose: OnClose;
}

/** The user of the game image. */
const GAME_USER: FileOwner = { uid: 1_000, gid: 1_000 };

/** Key of the stored fact that games have run in containers. */
const USED_DOCKER = 'engine.docker';

/** Opens the configured engine, or the best available one for `auto`. Rejects with StatusError if it cannot be used. */
export async function openGameHost(options: GameHostOptions): Promise<GameHost> {
  const { store, secret, mayAct, onClose } = options;
  const console = fencedConsole(createRconConsole(), mayAct);
  onClose(() => console.close());
  const management = createManagement();
  onClose(() => management.close());
  const passwords = await openConsolePasswords(store, secret);
  const { engine: open, ...opened } = await openEngine(options, installationOf(secret));
  const engine = fencedEngine(open, mayAct);
  // The game image gets every core.
  const canGet = () => true;
  const builds = opened.builds ?? createCoreBuilds(coreSources(options), options.clock);
  const typed = withStandardInput(console, engine);
  return { console, typed, management, passwords, engine, canGet, ...opened, builds };
}

/**
 * Loads the code of an engine in advance. Loading takes a second on a busy machine, so a standby does it before it
 * takes over.
 */
export async function preloadEngine(engine: EngineSetting): Promise<void> {
  if (engine === 'swarm') await import('./swarm/open.ts');
  if (engine === 'docker') await import('./docker/docker.ts');
}

type Opened = Pick<GameHost, 'engine' | 'owner' | 'trusted' | 'containerOf'> &
  Partial<Pick<GameHost, 'canGet' | 'builds'>>;

async function openEngine(options: GameHostOptions, installation: string): Promise<Opened> {
  const { settings, store, secret, mayAct, log } = options;
  const docker = dockerOptions(settings.dockerHost);
  const image = settings.sandboxImage;
  const provideImage: ImageProvider = async (docker, wanted) => {
    if (wanted !== image) return false;
    // Imported here, so that starts without a build do not spend time on it.
    const { buildSandboxImage } = await import('./docker/sandbox-image.ts');
    await buildSandboxImage(docker, image, (line) => log.info({ image }, line));
    return true;
  };
  const logDir = join(settings.dataDir, 'logs');
  const usedDocker = (await getMeta(store, USED_DOCKER)) !== undefined;
  const chosen = await chooseEngine(settings.engine, { docker, image, provideImage, usedDocker, log });
  const accepted = settings.engineChange === 'accept';
  const kind = await engineAfter({ store, setting: settings.engine, chosen, awake: options.awake, accepted, log });
  await noteEngine(store, kind);
  if (kind === 'swarm') {
    const [{ openSwarm }, { serviceName }] = await Promise.all([
      import('./swarm/open.ts'),
      import('./swarm/service-spec.ts'),
    ]);
    const swarm = { store, secret, settings, docker, installation, mayAct, logDir, provideImage, log };
    const engine = await openSwarm(swarm);
    return { engine, owner: rootsGames(), trusted: 'everybody', containerOf: (id) => serviceName(installation, id) };
  }
  if (kind === 'docker') {
    const [{ createDockerEngine }, { ContainerStarts }] = await Promise.all([
      import('./docker/docker.ts'),
      import('./docker/container-starts.ts'),
    ]);
    await renewImage(docker, { image, isOutdated, provide: provideImage, log });
    const { mysqlAdminUrl, mysqlAddress, gamesReach: reach } = settings;
    const database = mysqlAdminUrl === null ? undefined : mysqlAddress;
    const starts = new ContainerStarts(join(settings.dataDir, 'start-caches'), rootsGames(), log);
    options.onClose(() => starts.close());
    const games = createDockerEngine({ docker, installation, logDir, log, provideImage, reach, database, starts });
    let isNoted = usedDocker;
    const engine: Engine = {
      ...games,
      async boot(...given) {
        if (!isNoted) await store.write((tx) => setMeta(tx, USED_DOCKER, 'true'));
        isNoted = true;
        return await games.boot(...given);
      },
    };
    return { engine, owner: rootsGames(), trusted: 'everybody', containerOf: (id) => containerName(installation, id) };
  }
  return await openProcesses(options, installation);
}

/**
 * Returns the user of games in containers; undefined if this process is not root and cannot give files to other users.
 */
function rootsGames(): FileOwner | undefined {
  return process.getuid?.() === 0 ? GAME_USER : undefined;
}

function coreSources({ settings, clock }: GameHostOptions) {
  return openCoreSources(settings, { clock, contact: settings.baseUrl });
}

async function openProcesses(options: GameHostOptions, installation: string): Promise<Opened> {
  const { settings, log, clock, onClose } = options;
  const { dataDir, versionManifestUrl: manifestUrl, javaHomes: homes, baseUrl: contact } = settings;
  const coresDir = join(dataDir, 'cores');
  const sources = coreSources(options);
  const cores = openCoreStore(coresDir, sources, log);
  const javaDir = join(dataDir, 'java');
  const javaDownloads = { apiUrl: settings.adoptiumUrl, dir: javaDir, clock, contact };
  const { confinement, trusted } = await openConfinement({
    dataDir,
    trustTenants: settings.trustTenants,
    installation: Number.parseInt(installation, 16),
    programs: [process.execPath, SANDBOX_ENTRY],
    log,
  });
  const quickStarts = new QuickStarts({ coresDir, trainer: processTrainer(confinement, searchPath()), log });
  onClose(() => quickStarts.close());
  const engine = createProcessEngine({
    installation,
    runDir: join(dataDir, 'run'),
    log,
    clock,
    sandboxEntry: SANDBOX_ENTRY,
    sandboxPaths: SANDBOX_PATHS,
    confinement,
    javas: createJavas(homes.length > 0 ? { homes } : javaPlaces(settings.javaHome)),
    javaOf: createJavaVersions({ manifestUrl, clock }),
    downloadedJavas: createJavas({ roots: [javaDir] }),
    fetchJava: settings.javaDownload ? createJavaDownloads(javaDownloads) : undefined,
    cores,
    quickStarts,
  });
  const canGet = (core: string) => core === 'sandbox' || cores.offers(core);
  const builds = createCoreBuilds(sources, clock, cores);
  return { engine, owner: confinement.user, trusted, containerOf: undefined, canGet, builds };
}

/**
 * Returns the places to look for Java if no home is configured: JAVA_HOME, the search path, and the folders of Linux
 * distributions.
 */
function javaPlaces(homes: readonly string[]): JavaPlaces {
  return { homes, command: 'java', searchPath: searchPath(), roots: ['/usr/lib/jvm'] };
}

/** Returns an id that distinguishes this installation's games from others on the same machine or Docker engine. */
export function installationOf(secret: Secret): string {
  return createHash('sha256').update(secret.derive('installation', '')).digest('hex').slice(0, 10);
}

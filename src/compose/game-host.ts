import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { chooseEngine } from '../engines/choose.ts';
import type { Console } from '../engines/console/console.ts';
import type { Management } from '../engines/console/management-port.ts';
import { createManagement } from '../engines/console/management.ts';
import { createRconConsole } from '../engines/console/rcon.ts';
import { withStandardInput } from '../engines/console/typed-console.ts';
import { dockerOptions } from '../engines/docker/host.ts';
import { type ImageProvider, renewImage } from '../engines/docker/image.ts';
import type { Engine } from '../engines/engine.ts';
import { createFabricDownloads } from '../engines/process/fabric-downloads.ts';
import { type JavaPlaces, createJavas } from '../engines/process/java-homes.ts';
import { createJavaVersions } from '../engines/process/java-versions.ts';
import { createProcessEngine, searchPath } from '../engines/process/process.ts';
import { createVanillaDownloads } from '../engines/process/vanilla-downloads.ts';
import { SANDBOX_ENTRY, SANDBOX_PATHS, isOutdated } from '../engines/sandbox.ts';
import type { TrustedWithCode } from '../game/core-rules.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { getMeta, setMeta } from '../store/meta.ts';
import type { Secret } from '../store/secret.ts';
import type { Store } from '../store/store.ts';
import { openConfinement } from './confinement.ts';
import type { Startup } from './startup.ts';

/** What games run on, and how they are talked to. */
export interface GameHost {
  /** The consoles that games open. */
  console: Console;
  /** For commands of people: the same, and the standard input of games that open none. */
  typed: Console;
  management: Management;
  engine: Engine;
  /** Whom servers' files are handed over to; undefined: they stay this process's own. */
  owner: FileOwner | undefined;
  /** Whose servers may run what was uploaded. */
  trusted: TrustedWithCode;
}

/** The user of the game image. */
const GAME_USER: FileOwner = { uid: 1_000, gid: 1_000 };

/** That games have been containers, among what is known of the installation. */
const USED_DOCKER = 'engine.docker';

/** Opens the engine that is set, or that is there. Rejects with StatusError where neither can be had. */
export async function openGameHost(
  startup: Startup,
  { store, secret }: { store: Store; secret: Secret },
): Promise<GameHost> {
  const console = createRconConsole();
  startup.onClose(() => console.close());
  const management = createManagement();
  startup.onClose(() => management.close());
  const opened = await openEngine(startup, { store, installation: installationOf(secret) });
  return { console, typed: withStandardInput(console, opened.engine), management, ...opened };
}

type Opened = Pick<GameHost, 'engine' | 'owner' | 'trusted'>;

async function openEngine(
  startup: Startup,
  { store, installation }: { store: Store; installation: string },
): Promise<Opened> {
  const { config, log } = startup;
  const docker = dockerOptions(config.dockerHost);
  const image = config.sandboxImage;
  const provideImage: ImageProvider = async (docker, wanted) => {
    if (wanted !== image) return false;
    // Only here, so that nobody else pays for it.
    const { buildSandboxImage } = await import('../engines/docker/sandbox-image.ts');
    await buildSandboxImage({ docker, tag: image, progress: (line) => log.info({ image }, line) });
    return true;
  };
  const logDir = join(config.dataDir, 'logs');
  // Earlier versions left no note, but only Docker's logs of ended games lie there.
  const usedDocker = (await getMeta(store, USED_DOCKER)) !== undefined || existsSync(logDir);
  const kind = await chooseEngine(config.engine, { docker, image, provideImage, usedDocker, log });
  if (kind === 'docker') {
    await store.write((tx) => setMeta(tx, USED_DOCKER, 'true'));
    const { createDockerEngine } = await import('../engines/docker/docker.ts');
    await renewImage(docker, { image, isOutdated, provide: provideImage, log });
    const engine = createDockerEngine({ docker, installation, logDir, log, provideImage });
    return { engine, owner: process.getuid?.() === 0 ? GAME_USER : undefined, trusted: 'everybody' };
  }
  return await openProcesses(startup, installation);
}

async function openProcesses(startup: Startup, installation: string): Promise<Opened> {
  const { config, log, clock } = startup;
  const fetchVanilla = createVanillaDownloads({ manifestUrl: config.versionManifestUrl, clock });
  const fetchFabric = createFabricDownloads({ metaUrl: config.fabricMetaUrl, fetchVanilla, clock });
  const { confinement, trusted } = await openConfinement(startup, {
    installation: Number.parseInt(installation, 16),
    programs: [process.execPath, SANDBOX_ENTRY],
  });
  const engine = createProcessEngine({
    runDir: join(config.dataDir, 'run'),
    log,
    clock,
    sandboxEntry: SANDBOX_ENTRY,
    sandboxPaths: SANDBOX_PATHS,
    confinement,
    javas: createJavas(config.javaHomes.length > 0 ? { homes: config.javaHomes } : javaPlaces(config.javaHome)),
    javaOf: createJavaVersions({ manifestUrl: config.versionManifestUrl, clock }),
    fetchCore: async (coresDir, core, version, signal, loader) => {
      await fetchVanilla(coresDir, core, version, signal);
      await fetchFabric(coresDir, core, version, signal, loader);
    },
  });
  return { engine, owner: confinement.user, trusted };
}

/** Where a Java is that nobody has named: where it says, where a shell finds it, and where Linux distributions put them. */
function javaPlaces(homes: readonly string[]): JavaPlaces {
  return { homes, command: 'java', searchPath: searchPath(), roots: ['/usr/lib/jvm'] };
}

/** Tells this installation's containers from those of others on the same Docker engine. */
function installationOf(secret: Secret): string {
  return createHash('sha256').update(secret.derive('installation', '')).digest('hex').slice(0, 10);
}

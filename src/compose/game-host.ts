import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Secret } from '../access/secrets.ts';
import { dockerOptions } from '../adapters/docker-host.ts';
import { type ImageProvider, renewImage } from '../adapters/docker-image.ts';
import { chooseEngine } from '../adapters/engine-auto.ts';
import { createFabricDownloads } from '../adapters/fabric-downloads.ts';
import { createManagement } from '../adapters/management.ts';
import { createProcessEngine } from '../adapters/process.ts';
import { createRconConsole } from '../adapters/rcon.ts';
import { withStandardInput } from '../adapters/typed-console.ts';
import { createVanillaDownloads } from '../adapters/vanilla-downloads.ts';
import type { FileOwner } from '../hosting/properties.ts';
import type { Console, Engine, Management } from '../ports.ts';
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
}

/** The user of the game image. */
const GAME_USER: FileOwner = { uid: 1_000, gid: 1_000 };

/** Opens the engine that is set, or that is there. Rejects with StatusError where neither can be had. */
export async function openGameHost(startup: Startup, { secret }: { secret: Secret }): Promise<GameHost> {
  const console = createRconConsole();
  startup.onClose(() => console.close());
  const management = createManagement();
  startup.onClose(() => management.close());
  const engine = await openEngine(startup, installationOf(secret));
  const owner = engine.kind === 'docker' && process.getuid?.() === 0 ? GAME_USER : undefined;
  return { console, typed: withStandardInput(console, engine), management, engine, owner };
}

async function openEngine({ config, log, clock }: Startup, installation: string): Promise<Engine> {
  const docker = dockerOptions(config.dockerHost);
  const image = config.sandboxImage;
  const provideImage: ImageProvider = async (docker, wanted) => {
    if (wanted !== image) return false;
    // Only here, so that nobody else pays for it.
    const { buildSandboxImage } = await import('../sandbox/image.ts');
    await buildSandboxImage({ docker, tag: image, progress: (line) => log.info({ image }, line) });
    return true;
  };
  const kind = await chooseEngine(config.engine, { docker, image, provideImage, log });
  if (kind === 'docker') {
    const { createDockerEngine } = await import('../adapters/docker.ts');
    const isOutdated = async (labels: Readonly<Record<string, string>>) =>
      (await import('../sandbox/image-content.ts')).isOutdated(labels);
    await renewImage(docker, { image, isOutdated, provide: provideImage, log });
    const logDir = join(config.dataDir, 'logs');
    return createDockerEngine({ docker, installation, logDir, log, provideImage });
  }
  const fetchVanilla = createVanillaDownloads({ manifestUrl: config.versionManifestUrl, clock });
  const fetchFabric = createFabricDownloads({ metaUrl: config.fabricMetaUrl, fetchVanilla, clock });
  const sandboxEntry = join(import.meta.dirname, '../sandbox/main.ts');
  return createProcessEngine({
    runDir: join(config.dataDir, 'run'),
    log,
    clock,
    sandboxEntry,
    fetchCore: async (...core) => {
      await fetchVanilla(...core);
      await fetchFabric(...core);
    },
  });
}

/** Tells this installation's containers from those of others on the same Docker engine. */
function installationOf(secret: Secret): string {
  return createHash('sha256').update(secret.derive('installation', '')).digest('hex').slice(0, 10);
}

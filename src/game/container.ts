import { isAbsolute } from 'node:path';
import {
  EngineError,
  GAME_PORT,
  type GameSpec,
  type JavaRange,
  type PublishedPort,
  RCON_PORT,
} from '../engines/engine.ts';
import { heapMb } from '../engines/java-heap.ts';
import { ownFlags, presetFlags } from '../engines/jvm-options.ts';
import { CORES, CUSTOM, SANDBOX, arclightLoader, coreOf, isBukkit, isForge, isProxy } from './cores.ts';
import { buildEnv, isOneJar } from './installed-build.ts';
import { compareVersions } from './minecraft-version.ts';
import { modpackEnv } from './modpack-env.ts';
import type { OwnerSettings } from './settings.ts';

/** Seconds the image waits for the game after SIGTERM before it kills it; an engine's grace must be longer. */
const STOP_SECONDS = 90;

/** The part of a server's row that determines its specification. */
export type GameRow = OwnerSettings & { id: string };

/** The other inputs of a specification. */
export interface GameSettings {
  /** The server's data root on this machine, absolute. */
  dataDir: string;
  /** `itzg/minecraft-server` or a compatible image. Without a tag, the Java version determines it. */
  gameImage: string;
  /** Image of the sandbox core; `dormouse/sandbox:latest` by default. */
  sandboxImage?: string;
  /** CPU limit in cores. */
  cpus: number;
  rconPassword: string;
  /** Mojang's EULA is accepted for this server. */
  eulaAccepted: boolean;
  /** The core's build of the previous run. Absent: the image installs the newest. */
  build?: string | undefined;
  /** Published ports. */
  ports: readonly PublishedPort[];
}

/**
 * Returns the engine's specification of a server. Throws EngineError for a row with an unknown core, version or pack.
 */
export function gameSpec(row: GameRow, settings: GameSettings): GameSpec {
  if (!isAbsolute(settings.dataDir)) throw new TypeError(`the data root must be absolute: ${settings.dataDir}`);
  if (!CORES.includes(row.type)) throw new EngineError('core_unavailable', `There is no core called "${row.type}".`);
  // The version reaches the image's shell scripts, so it must not contain characters special to a shell or a path.
  if (row.version !== '' && !/^[0-9A-Za-z][0-9A-Za-z._+-]{0,63}$/.test(row.version)) {
    throw new EngineError('core_unavailable', `"${row.version}" is not a Minecraft version.`);
  }
  const sandbox = row.type === SANDBOX;
  return {
    serverId: row.id,
    core: row.type,
    version: row.version,
    ...(settings.build !== undefined && { build: settings.build }),
    ramMb: row.ramMb,
    ...(!sandbox && { java: javaRange(row.version, row.type), ...jvmOf(row) }),
    ...(isOneJar(row, settings.build) && { isOneJar: true }),
    ...(isProxy(row.type) && { isProxy: true }),
    ports: settings.ports.map(({ hostPort, containerPort, proto }) => ({ hostPort, containerPort, proto })),
    cpus: settings.cpus,
    image: sandbox
      ? (settings.sandboxImage ?? 'dormouse/sandbox:latest')
      : imageFor(settings.gameImage, javaTag(row.version, row.type)),
    dataDir: settings.dataDir,
    env: sandbox ? sandboxEnv(row, settings) : imageEnv(row, settings),
  };
}

/**
 * Returns a specification that only installs: downloads, packs and loaders, then exit code 0 without starting the game.
 */
export function installSpec(row: GameRow, settings: GameSettings): GameSpec {
  const spec = gameSpec(row, settings);
  return { ...spec, env: { ...spec.env, SETUP_ONLY: 'true' } };
}

/** Returns the tag of the game image whose Java runs this version. */
export function javaTag(version: string, core: string): string {
  return `java${javaFor(version, core)}`;
}

// `name`, `name:release` and `name:latest` get a tag for the Java version; a digest or a tag that names its Java stays.
function imageFor(image: string, java: string): string {
  const [, name = image, tag = ''] = /^(.*?)(?::([^:/]+))?$/.exec(image) ?? [];
  if (image.includes('@') || tag.includes('java')) return image;
  return ['', 'latest', 'stable'].includes(tag) ? `${name}:${java}` : `${name}:${tag}-${java}`;
}

function sandboxEnv(row: OwnerSettings, settings: GameSettings): Record<string, string> {
  return {
    VERSION: row.version,
    SKIP_SERVER_PROPERTIES: 'true',
    SERVER_PORT: String(GAME_PORT),
    RCON_PORT: String(RCON_PORT),
    RCON_PASSWORD: settings.rconPassword,
  };
}

function jvmOf({ jvmPreset: preset, jvmOptions: options }: OwnerSettings): Pick<GameSpec, 'jvm'> {
  return preset === 'default' && options === '' ? {} : { jvm: { preset, options } };
}

// The variables must not contain user text: the image expands `%…%` in property values, downloads entries of lists and
// sources env files. The options for Java are the exception: `checkJvmOptions` admits no character special to a shell.
function imageEnv(row: OwnerSettings, settings: GameSettings): Record<string, string> {
  const heap = heapMb(row.ramMb);
  const pack = modpackEnv(row);
  return {
    ...(settings.eulaAccepted && { EULA: 'TRUE' }),
    TYPE: row.type.toUpperCase(),
    // LATEST would upgrade the world on a later start; only a pack, which brings its own version, may use it.
    VERSION: pack.VERSION ?? concrete(row.version),
    INIT_MEMORY: `${Math.floor(heap / 4)}M`,
    MAX_MEMORY: `${heap}M`,
    JVM_XX_OPTS: [
      ...presetFlags(row.jvmPreset, javaFor(row.version, row.type)),
      ...ownFlags(row.jvmOptions),
      '-XX:+ExitOnOutOfMemoryError',
    ].join(' '),
    SKIP_SERVER_PROPERTIES: 'true',
    SKIP_CHOWN_DATA: 'true',
    EXISTING_OPS_FILE: 'SKIP',
    EXISTING_WHITELIST_FILE: 'SKIP',
    STOP_DURATION: String(STOP_SECONDS),
    ENABLE_AUTOPAUSE: 'false',
    ENABLE_AUTOSTOP: 'false',
    DISABLE_HEALTHCHECK: 'true',
    ENABLE_RCON: 'true',
    RCON_PORT: String(RCON_PORT),
    RCON_PASSWORD: settings.rconPassword,
    BROADCAST_RCON_TO_OPS: 'false',
    GUI: 'FALSE',
    TZ: 'UTC',
    ...(row.type === CUSTOM && { CUSTOM_SERVER: '/data/server.jar' }),
    ...(row.type === 'arclight' && { ARCLIGHT_TYPE: arclightLoader(row.version).toUpperCase() }),
    ...buildEnv(row, settings.build),
    ...pack,
  };
}

function concrete(version: string): string {
  if (version === '' || /^(latest|snapshot)$/i.test(version)) {
    throw new EngineError('core_unavailable', 'The server has no Minecraft version.', {
      suggestion: 'Choose a version, then start.',
    });
  }
  return version;
}

/**
 * Returns the best Java for a version of the game: 8 up to 1.16 (16 for Paper's last 1.16.5), 17 up to 1.20.4, 21 up to
 * 1.21, 25 from 26.1, according to Mojang's version data. Weekly snapshots are decided by year. 21 for an unknown or
 * empty version, and for proxies.
 */
function javaFor(version: string, core: string): number {
  const week = /^(\d\d)w\d\d/.exec(version);
  if (week) return javaOfYear(Number(week[1]));
  if (isProxy(core)) return 21;
  const [major = NaN, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  if (version === '' || Number.isNaN(major)) return 21;
  if (major > 1) return 25;
  if (minor > 20 || (minor === 20 && patch >= 5)) return 21;
  if (minor >= 17) return 17;
  return coreOf(core)?.runs1165OnJava16 && minor === 16 && patch === 5 ? 16 : 8;
}

/**
 * Returns the Java versions that a core can run on. A newer Java runs code made for an older one, with two exceptions:
 * Forge needs exactly Java 8 up to 1.12.2, and less than 16 up to 1.16.5 (its loader uses internals closed by Java 9
 * and 16); Bukkit cores refuse more than 16 up to 1.16.5.
 */
export function javaRange(version: string, core: string): JavaRange {
  const isUpTo = (last: string) => (compareVersions(version, last) ?? 1) <= 0;
  const least = javaFor(version, isProxy(core) ? core : 'vanilla');
  if (isForge(core) && isUpTo('1.12.2')) return { least, most: 8 };
  if (isForge(core) && isUpTo('1.16.5')) return { least, most: 15 };
  if (isBukkit(core) && isUpTo('1.16.5')) return { least, most: 16 };
  return { least, most: Infinity };
}

function javaOfYear(year: number): number {
  if (year >= 26) return 25;
  if (year >= 24) return 21;
  return year >= 21 ? 17 : 8;
}

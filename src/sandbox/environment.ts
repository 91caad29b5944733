import { type Faults, readFaults } from './faults.ts';
import { parseProperties } from './properties.ts';
import { type GameVersion, findVersion, sandboxVersions } from './versions.ts';

/** The settings of one start, from the environment. */
export interface Launch {
  version: GameVersion;
  /** Prepare the data directory, print the command of a start, and exit. */
  setupOnly: boolean;
  /** False: another program manages `server.properties`, so the file is only read. */
  writeProperties: boolean;
  /** Properties to write to `server.properties`. */
  written: Record<string, string>;
  /** Properties for this run only, which are not written to the file. */
  overrides: Record<string, string>;
  faults: Faults;
}

/** A start that is refused. The program prints `lines` for the operator and exits with code 1. */
export class LaunchRefused extends Error {
  readonly lines: string[];
  constructor(...lines: string[]) {
    super(lines.join('\n'));
    this.name = 'LaunchRefused';
    this.lines = lines;
  }
}

/** The property of each variable, as in the property definitions of the `itzg/minecraft-server` image. */
const PROPERTY_OF: Record<string, string> = {
  ALLOW_FLIGHT: 'allow-flight',
  BROADCAST_CONSOLE_TO_OPS: 'broadcast-console-to-ops',
  BROADCAST_RCON_TO_OPS: 'broadcast-rcon-to-ops',
  DIFFICULTY: 'difficulty',
  ENABLE_RCON: 'enable-rcon',
  ENABLE_STATUS: 'enable-status',
  ENABLE_WHITELIST: 'white-list',
  ENFORCE_WHITELIST: 'enforce-whitelist',
  FORCE_GAMEMODE: 'force-gamemode',
  HARDCORE: 'hardcore',
  HIDE_ONLINE_PLAYERS: 'hide-online-players',
  LEVEL: 'level-name',
  LEVEL_TYPE: 'level-type',
  MANAGEMENT_SERVER_ENABLED: 'management-server-enabled',
  MANAGEMENT_SERVER_HOST: 'management-server-host',
  MANAGEMENT_SERVER_PORT: 'management-server-port',
  MANAGEMENT_SERVER_SECRET: 'management-server-secret',
  MANAGEMENT_SERVER_TLS_ENABLED: 'management-server-tls-enabled',
  MAX_PLAYERS: 'max-players',
  MODE: 'gamemode',
  MOTD: 'motd',
  ONLINE_MODE: 'online-mode',
  OP_PERMISSION_LEVEL: 'op-permission-level',
  PLAYER_IDLE_TIMEOUT: 'player-idle-timeout',
  PVP: 'pvp',
  RCON_PASSWORD: 'rcon.password',
  RCON_PORT: 'rcon.port',
  SEED: 'level-seed',
  SERVER_IP: 'server-ip',
  SERVER_PORT: 'server-port',
  SIMULATION_DISTANCE: 'simulation-distance',
  SPAWN_PROTECTION: 'spawn-protection',
  VIEW_DISTANCE: 'view-distance',
};

/** The engine decides the game's address, even if the owner edits the file. */
const ADDRESS_VARIABLES = ['SERVER_IP', 'SERVER_PORT', 'RCON_PORT', 'MANAGEMENT_SERVER_HOST', 'MANAGEMENT_SERVER_PORT'];

/**
 * Reads the variables of the `itzg/minecraft-server` image that apply here. `MEMORY` and `MAX_MEMORY` are accepted
 * without effect. The sandbox contains nothing from Mojang, so it requires no licence. If it stands in for other
 * software, named by `TYPE`, it requires acceptance of the EULA like the image. `eulaFile` is the text of `eula.txt`,
 * if there is one. Throws LaunchRefused.
 */
export function readEnvironment(env: NodeJS.ProcessEnv, eulaFile = ''): Launch {
  const standsIn = !['', 'SANDBOX'].includes(env.TYPE?.toUpperCase() ?? '');
  if (standsIn && env.EULA?.toUpperCase() !== 'TRUE' && !/^eula\s*=\s*true\s*$/im.test(eulaFile)) {
    throw new LaunchRefused(
      '[init] [ERROR] Please accept the Minecraft EULA at',
      '[init] [ERROR]   https://account.mojang.com/documents/minecraft_eula',
      '[init] [ERROR] by setting EULA=TRUE',
    );
  }
  if (env.MODPACK_PLATFORM || env.MODRINTH_MODPACK) {
    throw new LaunchRefused(
      '[init] [ERROR] The sandbox core takes no mod packs: choose another server type for this one.',
    );
  }
  const wanted = env.VERSION ?? '';
  const version = findVersion(wanted);
  if (!version) {
    const offered = sandboxVersions();
    throw new LaunchRefused(
      `[init] [ERROR] The sandbox core cannot be Minecraft ${printable(wanted)}: it offers ${offered.at(-1)} to ${offered[0]}.`,
    );
  }
  const leaveFile = isTrue(env.SKIP_SERVER_PROPERTIES) || env.OVERRIDE_SERVER_PROPERTIES?.toLowerCase() === 'false';
  return {
    version,
    setupOnly: isTrue(env.SETUP_ONLY),
    writeProperties: !leaveFile,
    written: leaveFile ? {} : { ...mapped(env, Object.keys(PROPERTY_OF)), ...custom(env) },
    overrides: leaveFile ? mapped(env, ADDRESS_VARIABLES) : {},
    faults: readFaults(env),
  };
}

function mapped(env: NodeJS.ProcessEnv, names: string[]): Record<string, string> {
  const given = names.flatMap((name) => (env[name] === undefined ? [] : [[PROPERTY_OF[name], normal(env[name])]]));
  return Object.fromEntries(given) as Record<string, string>;
}

function custom(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(parseProperties(env.CUSTOM_SERVER_PROPERTIES ?? ''));
}

/** Converts the image's `TRUE` and `FALSE` to the file's `true` and `false`. */
function normal(value: string): string {
  return /^(true|false)$/i.test(value) ? value.toLowerCase() : value;
}

function isTrue(value: string | undefined): boolean {
  return value?.toLowerCase() === 'true';
}

function printable(text: string): string {
  return text.slice(0, 40).replaceAll(/[^\x21-\x7e]/g, '?');
}

import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { KIB } from '../../kernel/units.ts';
import { EngineError, type GameSpec } from '../engine.ts';
import { hasCore } from './core-file.ts';
import { compareNumbered } from '../../kernel/natural-order.ts';
import type { Java } from './java-homes.ts';

/** Arguments for Java except those for memory. */
export interface Launch {
  /** Arguments before the service's own, which override them. */
  first: string[];
  /** Arguments that select the program to run. */
  main: string[];
}

/** A start of a core, before it is made quicker. */
export interface PlainStart {
  spec: Pick<GameSpec, 'serverId' | 'core' | 'version' | 'env'>;
  java: Java;
  /** The preset's options. An owner's own options are left out: each set would need a cache of its own. */
  flags: readonly string[];
  /** The arguments that select the program. */
  main: readonly string[];
}

type Installed = Pick<GameSpec, 'core' | 'version' | 'dataDir'>;

const USER_ARGS = 'user_jvm_args.txt';
const UNIX_ARGS = 'unix_args.txt';
/**
 * The folders in which the installers of Forge and NeoForge (at first also called Forge) put their argument files, by
 * version.
 */
const LIBRARIES: Record<string, readonly string[]> = {
  forge: ['libraries/net/minecraftforge/forge'],
  neoforge: ['libraries/net/neoforged/neoforge', 'libraries/net/neoforged/forge'],
};
/** Launchers that installers put beside Mojang's `server.jar`, which they run. */
const LAUNCHERS: Record<string, string> = { quilt: 'quilt-server-launch.jar', fabric: 'fabric-server-launch.jar' };
const MAX_SCRIPT_BYTES = 64 * KIB;

/**
 * Returns the launch of a server or pack that its loader's own installer created: the arguments named by its `run.sh`,
 * a launcher, or the jar of an older Forge. Undefined if none exists. Rejects with EngineError `core_unavailable` if
 * the installed files are for another version of the game.
 */
export async function installedLaunch({ core, version, dataDir }: Installed): Promise<Launch | undefined> {
  const launcher = LAUNCHERS[core];
  if (launcher !== undefined && (await hasCore(join(dataDir, launcher)))) return jarLaunch(join(dataDir, launcher));
  const libraries = LIBRARIES[core];
  if (libraries === undefined) return undefined;
  const installed = await argumentFiles(dataDir, libraries);
  const fitting = installed.filter(({ build }) => isFor(build, version));
  const named = await namedByScript(dataDir);
  const chosen = fitting.find(({ path }) => path === named) ?? fitting.at(-1);
  if (chosen) {
    const hasOwn = await hasCore(join(dataDir, USER_ARGS));
    return { first: hasOwn ? [`@${USER_ARGS}`] : [], main: [`@${chosen.path}`] };
  }
  const jar = await olderForge(dataDir, version);
  if (jar !== undefined) return jarLaunch(jar);
  const [other] = installed;
  if (other === undefined || (await hasCore(join(dataDir, 'server.jar')))) return undefined;
  throw new EngineError('core_unavailable', `The installed ${core} is ${other.build}, which is not for ${version}.`, {
    suggestion:
      `Upload the files that the ${core} installer for ${version} creates, ` +
      `or choose the Minecraft version of the installed ${core}.`,
  });
}

/** Returns the launch of a jar by its manifest. */
export function jarLaunch(jar: string, ...options: string[]): Launch {
  return { first: [], main: [...options, '-jar', jar] };
}

/** Returns argument files relative to the server's folder, oldest build first. */
async function argumentFiles(
  dataDir: string,
  libraries: readonly string[],
): Promise<{ build: string; path: string }[]> {
  const all = libraries.map(async (library) => {
    const builds = (await readdir(join(dataDir, library)).catch(() => [])).filter((build) =>
      /^\w[\w.+-]*$/.test(build),
    );
    const found = builds.toSorted(compareNumbered).map(async (build) => {
      const path = `${library}/${build}/${UNIX_ARGS}`;
      return (await hasCore(join(dataDir, path))) ? [{ build, path }] : [];
    });
    return (await Promise.all(found)).flat();
  });
  return (await Promise.all(all)).flat();
}

/**
 * Returns whether a build is for a version of the game. Forge's builds are named `1.20.1-47.2.0`. NeoForge's use the
 * game's version without its 1: `21.1.77` is for 1.21.1, `21.0.5` for 1.21, `26.1.0.3` for 26.1
 * (https://docs.neoforged.net/docs/gettingstarted/versioning).
 */
export function isFor(build: string, version: string): boolean {
  if (build.startsWith(`${version}-`)) return true;
  const [major = '', minor = '0', patch = '0'] = version.split('-')[0]?.split('.') ?? [];
  const prefix = major === '1' ? `${minor}.${patch}.` : `${major}.${minor}.${patch}.`;
  return !build.startsWith('1.') && build.startsWith(prefix);
}

/**
 * Returns the argument file that `run.sh` names, if there is one. The script is only read: it would run any Java that
 * it finds.
 */
async function namedByScript(dataDir: string): Promise<string | undefined> {
  try {
    await using script = await open(
      join(dataDir, 'run.sh'),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    const { buffer, bytesRead } = await script.read(Buffer.alloc(MAX_SCRIPT_BYTES), 0, MAX_SCRIPT_BYTES, 0);
    return /@(libraries\/[\w./+-]{1,256}\/unix_args\.txt)/.exec(buffer.toString('latin1', 0, bytesRead))?.[1];
  } catch {
    return undefined;
  }
}

/**
 * Returns the jar of an older Forge. Up to 1.16.5 the installer creates a jar: `forge-1.16.5-36.2.39.jar`, in older
 * ones `…-universal.jar`.
 */
async function olderForge(dataDir: string, version: string): Promise<string | undefined> {
  const names = (await readdir(dataDir).catch(() => [])).filter(
    (name) => name.startsWith(`forge-${version}-`) && /^[\w.+-]+\.jar$/.test(name) && !name.includes('installer'),
  );
  for (const name of names.toSorted(compareNumbered).toReversed()) {
    if (await hasCore(join(dataDir, name))) return join(dataDir, name);
  }
  return undefined;
}

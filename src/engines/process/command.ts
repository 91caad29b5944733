import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { LOADER_FILE } from '../../jail/secrets.ts';
import { type FileOwner, writeAtomic } from '../../kernel/atomic-file.ts';
import { MIB } from '../../kernel/units.ts';
import { EngineError, type GameSpec } from '../engine.ts';
import { heapMb } from '../java-heap.ts';
import { coreName, hasCore } from './core-file.ts';
import type { Java, Javas } from './java-homes.ts';
import { type Launch, installedLaunch, jarLaunch } from './java-launch.ts';
import type { JavaOfVersion } from './java-versions.ts';

/** A command that runs a specification. */
export interface Command {
  file: string;
  args: string[];
  /** The user it runs as; undefined: this process's own. */
  user?: FileOwner | undefined;
}

/** The programs of cores. */
export interface Programs {
  /** Main file of the sandbox core, which runs on this Node. */
  sandboxEntry: string;
  javas: Javas;
  /** Returns the Java version from Mojang's data. Absent or undefined: the specification's versions apply. */
  javaOf?: JavaOfVersion | undefined;
  /** Directory of `<core>-<version>.jar` files, from the operator or from `fetchCore`. */
  coresDir: string;
  /** Downloads a core's jar to `coresDir` if it is freely available. Ignores other cores. Rejects with EngineError. */
  fetchCore?: ((core: string, version: string, signal: AbortSignal, loader?: string) => Promise<void>) | undefined;
}

/** The ports of one run. */
export interface GamePorts {
  gamePort: number;
  rconPort: number;
  managementPort: number;
}

const MAX_PROPERTIES_BYTES = MIB;

/**
 * Returns the command line of a server's core. The sandbox runs on this Node. Other cores run on a suitable Java, with
 * the first of these: the files of a loader's installer in the data root, a jar from there (`server.jar`,
 * `<core>-<version>.jar`), or a jar from the operator's directory of cores, to which `fetchCore` may download it. The
 * runtime's own flag limits the heap and leaves room for other memory. Rejects with EngineError `wrong_java_version` if
 * no Java is suitable, and `core_unavailable` if there is no Java or no jar.
 */
export async function commandFor(spec: GameSpec, programs: Programs, signal: AbortSignal): Promise<Command> {
  if (spec.core === 'sandbox') {
    const nodeHeapMb = Math.max(64, Math.floor(spec.ramMb * 0.75));
    return { file: process.execPath, args: [`--max-old-space-size=${nodeHeapMb}`, programs.sandboxEntry] };
  }
  const heap = heapMb(spec.ramMb);
  const java = await chooseJava(spec, programs, signal);
  const { first, main } = (await installedLaunch(spec)) ?? (await launchOfJar(spec, programs, signal));
  const own = [`-Xms${Math.floor(heap / 4)}M`, `-Xmx${heap}M`, '-XX:+ExitOnOutOfMemoryError'];
  return { file: java.file, args: [...first, ...own, ...main, 'nogui'] };
}

/**
 * Finds a core's jar. Fabric's launcher gets the path of a copy of Mojang's server, because it would download one for
 * each server.
 */
async function launchOfJar(spec: GameSpec, programs: Programs, signal: AbortSignal): Promise<Launch> {
  const { core, version } = spec;
  const jar = await findJar(spec, programs, signal);
  const vanilla = join(programs.coresDir, `vanilla-${version}.jar`);
  const isOurs = core === 'fabric' && dirname(jar) === programs.coresDir;
  const options = isOurs && (await hasCore(vanilla)) ? [`-Dfabric.installer.server.gameJar=${vanilla}`] : [];
  return jarLaunch(jar, ...options);
}

async function chooseJava(spec: GameSpec, { javas, javaOf }: Programs, signal: AbortSignal): Promise<Java> {
  const { core, version, java = { least: 0, most: Infinity } } = spec;
  const least = (await javaOf?.(version, signal)) ?? java.least;
  // The core's upper limit takes precedence over the game's requirement.
  return await javas.choose({ ...java, least: Math.min(least, java.most) }, `${core} ${version}`);
}

async function findJar(spec: GameSpec, { coresDir, fetchCore }: Programs, signal: AbortSignal): Promise<string> {
  const uploaded = join(spec.dataDir, 'server.jar');
  if (await hasCore(uploaded)) return uploaded;
  if (spec.core === 'custom') {
    throw new EngineError('core_unavailable', "There is no server.jar in the server's folder.", {
      suggestion: 'Upload the jar of the server as server.jar, then start.',
    });
  }
  const plain = coreName(spec.core, spec.version);
  if (await hasCore(join(spec.dataDir, plain))) return join(spec.dataDir, plain);
  // A pack is made for one version of the loader; its mods may not run with another.
  const loader = spec.core === 'fabric' ? await loaderOf(spec) : undefined;
  const wanted = join(coresDir, coreName(spec.core, spec.version, loader));
  if (await hasCore(wanted)) return wanted;
  try {
    await fetchCore?.(spec.core, spec.version, signal, loader);
  } catch (error) {
    // Without the internet, another version of the loader is better than none.
    if (loader === undefined || signal.aborted || !(await hasCore(join(coresDir, plain)))) throw error;
  }
  for (const path of [wanted, join(coresDir, plain)]) if (await hasCore(path)) return path;
  const installer = INSTALLED[spec.core];
  throw new EngineError('core_unavailable', `There is no ${spec.core} ${spec.version} on this machine.`, {
    suggestion:
      installer === undefined
        ? `Upload it as server.jar, or ask the operator to add ${plain} to the cores folder.`
        : `Run its server installer on your computer, then upload the files that it creates: ${installer}.`,
  });
}

/** Launch files that installers create, for cores that are not a single jar. */
const INSTALLED: Record<string, string> = {
  forge: 'run.sh and the libraries folder (up to 1.16.5: the forge jar)',
  neoforge: 'run.sh and the libraries folder',
  quilt: 'quilt-server-launch.jar, server.jar and the libraries folder',
};

/**
 * Writes a run's ports to `server.properties`, the only place from which Java cores read them. The lines are appended,
 * because later lines override earlier ones (java.util.Properties.load). An empty line precedes them, in case the last
 * line ends in a backslash. At its start the core rewrites the file without the overridden lines. `owner` owns the file
 * afterwards.
 */
export async function writePorts(
  dataDir: string,
  { gamePort, rconPort, managementPort }: GamePorts,
  owner?: FileOwner,
): Promise<void> {
  const path = join(dataDir, 'server.properties');
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw notPlain(error);
    },
  );
  let text = '';
  if (file) {
    await using open = file;
    const stat = await open.stat();
    if (!stat.isFile() || stat.size > MAX_PROPERTIES_BYTES) throw notPlain();
    text = await open.readFile('utf8');
  }
  const lines = [
    'server-ip=127.0.0.1',
    `server-port=${gamePort}`,
    `rcon.port=${rconPort}`,
    'management-server-host=127.0.0.1',
    `management-server-port=${managementPort}`,
  ];
  await writeAtomic(path, `${text}\n\n${lines.join('\n')}\n`, { owner });
}

function notPlain(cause?: unknown): EngineError {
  return new EngineError('unknown', 'server.properties is not a regular file.', {
    suggestion: 'Delete it in the file manager, then start again.',
    cause,
  });
}

const MAX_BYTES = 4_096;
const version = z.string().regex(/^[0-9A-Za-z][0-9A-Za-z._+-]{0,63}$/);
const Shape = z.object({ core: version, version, loader: version });

/**
 * Returns the loader version of a server's mod pack, from the file that the installation left in the server's folder.
 * Undefined if it is missing or for another core or version of the game. A game can write to that file, so invalid
 * content is ignored.
 */
async function loaderOf({ core, version, dataDir }: GameSpec): Promise<string | undefined> {
  try {
    const path = join(dataDir, LOADER_FILE);
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    const found = Shape.parse(JSON.parse(buffer.toString('utf8', 0, bytesRead)));
    return found.core === core && found.version === version ? found.loader : undefined;
  } catch {
    return undefined;
  }
}

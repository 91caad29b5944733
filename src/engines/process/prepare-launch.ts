import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { CORE_FILE, LOADER_FILE } from '../../jail/secrets.ts';
import { KIB } from '../../kernel/units.ts';
import { EngineError, type GameSpec, type Preparation } from '../engine.ts';
import { coreName, hasCore } from './core-file.ts';
import { copyInstalled } from './cores/copy-installed.ts';
import type { CoreStore, StoredCore, WantedCore } from './cores/core-store.ts';
import type { InstallerHost } from './cores/installer.ts';
import type { FetchJava } from './cores/java-downloads.ts';
import type { Java, Javas } from './java-homes.ts';
import { type Launch, installedLaunch, jarLaunch } from './java-launch.ts';
import type { JavaOfVersion } from './java-versions.ts';
import type { QuickStarts } from './quick-starts.ts';

/** The programs of Java cores. */
export interface JavaPrograms {
  /** The Java installations of this machine. */
  javas: Javas;
  /** Java installations that this service has downloaded, used if no other is suitable. */
  downloadedJavas?: Javas | undefined;
  /** Absent: Java is not downloaded. */
  fetchJava?: FetchJava | undefined;
  /** Returns the Java version from Mojang's data. Absent or undefined: the specification's versions apply. */
  javaOf?: JavaOfVersion | undefined;
  /** Directory of the operator's `<core>-<version>.jar` files. */
  coresDir: string;
  /** The cores from public sources. Absent: only jars from the owner or the operator are run. */
  cores?: CoreStore | undefined;
  /** Makes starts quicker. Absent: each start is a plain one. */
  quickStarts?: QuickStarts | undefined;
  /** Returns the host of a core's installer, which runs on this Java for this server. */
  installersOf?: (spec: GameSpec, java: Java) => InstallerHost;
}

/** The Java that runs a server, and the arguments that select its core. */
export interface Prepared {
  java: Java;
  launch: Launch;
  /** The build of the core; absent for jars of the owner or the operator. */
  build?: string | undefined;
}

export interface PrepareOptions {
  signal: AbortSignal;
  progress: (progress: Preparation) => void;
}

/** Cores whose installer creates files that must be in the server's own folder. */
const IN_SERVER = new Set(['forge', 'neoforge']);

/**
 * Prepares the Java and the core of a server, and downloads what is missing. The core is the first of these: the files
 * of a loader's installer in the data root, a jar from there (`server.jar`, `<core>-<version>.jar`), a jar from the
 * operator's directory of cores, or a build from the core's public source. Rejects with EngineError:
 * `wrong_java_version` if no Java is suitable, `core_unavailable` if there is no Java or no core, `download_failed`, and
 * `install_failed`.
 */
export async function prepareLaunch(
  spec: GameSpec,
  programs: JavaPrograms,
  options: PrepareOptions,
): Promise<Prepared> {
  const java = await chooseJava(spec, programs, options);
  const launch = await ownLaunch(spec, programs);
  return launch ? { java, launch } : await launchFromSource(spec, programs, java, options);
}

async function chooseJava(spec: GameSpec, programs: JavaPrograms, options: PrepareOptions): Promise<Java> {
  const { core, version, java = { least: 0, most: Infinity } } = spec;
  const { javas, downloadedJavas, fetchJava, javaOf } = programs;
  const least = (await javaOf?.(version, options.signal)) ?? java.least;
  // The core's upper limit takes precedence over the game's requirement.
  const range = { ...java, least: Math.min(least, java.most) };
  const what = `${core} ${version}`;
  const installed = await javas.choose(range, what).catch(asError);
  if (!(installed instanceof Error)) return installed;
  const downloaded = await downloadedJavas?.choose(range, what).catch(() => undefined);
  if (downloaded) return downloaded;
  if (fetchJava === undefined || downloadedJavas === undefined || !(installed instanceof EngineError)) throw installed;
  await fetchJava(range, options.signal, options.progress).catch((error: unknown) => {
    if (options.signal.aborted || !(error instanceof EngineError)) throw error;
    const { code, message, suggestion } = error;
    throw new EngineError(code, `${installed.message} ${message}`, { suggestion, cause: error });
  });
  return await downloadedJavas.choose(range, what);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Returns the launch of files from the owner or the operator; undefined without any. */
async function ownLaunch(spec: GameSpec, programs: JavaPrograms): Promise<Launch | undefined> {
  const { core, version, dataDir } = spec;
  const { coresDir, cores } = programs;
  if (!(await ourCopy(spec))) {
    const installed = await installedLaunch(spec).catch((error: unknown) => {
      // The files of another version of the game: the right ones may be available.
      if (cores?.offers(core)) return undefined;
      throw error;
    });
    if (installed) return installed;
  }
  const uploaded = join(dataDir, 'server.jar');
  if (await hasCore(uploaded)) return jarLaunch(uploaded);
  if (core === 'custom') {
    throw new EngineError('core_unavailable', "There is no server.jar in the server's folder.", {
      suggestion: 'Upload the jar of the server as server.jar, then start.',
    });
  }
  const plain = coreName(core, version);
  if (await hasCore(join(dataDir, plain))) return jarLaunch(join(dataDir, plain));
  // A pack is made for one version of the loader; its mods may not run with another.
  const shared = join(coresDir, coreName(core, version, await packLoader(spec)));
  return (await hasCore(shared)) ? await operatorLaunch(shared, spec, programs) : undefined;
}

async function launchFromSource(
  spec: GameSpec,
  programs: JavaPrograms,
  java: Java,
  options: PrepareOptions,
): Promise<Prepared> {
  const { core, version, dataDir } = spec;
  const { cores, installersOf } = programs;
  if (cores === undefined || installersOf === undefined || !cores.offers(core)) throw noSource(spec);
  const installers = installersOf(spec, java);
  const provide: Provide = (wanted) => cores.provide(wanted, { ...options, installers });
  const loader = await packLoader(spec);
  let stored: StoredCore | undefined;
  try {
    stored = await provide({ core, version, build: loader ?? spec.build });
  } catch (error) {
    options.signal.throwIfAborted();
    const other = await otherLaunch(spec, programs, loader, provide);
    if (other === undefined) throw error;
    return { java, ...other };
  }
  if (stored === undefined) throw noSource(spec);
  if (IN_SERVER.has(core)) {
    const copied = await ourCopy(spec);
    if (!copied?.isComplete || copied.build !== stored.build || copied.version !== version)
      await copyInstalled(stored.folder, dataDir, { core, version, build: stored.build }, installers.user);
  }
  return { java, ...(await storedLaunch(stored, spec, programs, provide)) };
}

type Provide = (wanted: WantedCore) => Promise<StoredCore | undefined>;

/**
 * Returns the launch of another build, if the wanted one is unavailable: for a pack, another version of its loader is
 * better than none, and a server runs the copy that it has.
 */
async function otherLaunch(
  spec: GameSpec,
  programs: JavaPrograms,
  loader: string | undefined,
  provide: Provide,
): Promise<Omit<Prepared, 'java'> | undefined> {
  const { core, version } = spec;
  const copied = await ourCopy(spec);
  if (copied?.isComplete && copied.version === version)
    return { launch: await copiedLaunch(spec), build: copied.build };
  if (loader === undefined || IN_SERVER.has(core)) return undefined;
  const plain = join(programs.coresDir, coreName(core, version));
  if (await hasCore(plain)) return { launch: await operatorLaunch(plain, spec, programs) };
  const stored = await programs.cores?.newestHere({ core, version });
  return stored && (await storedLaunch(stored, spec, programs, provide));
}

async function storedLaunch(
  { folder, build }: StoredCore,
  spec: GameSpec,
  { coresDir }: JavaPrograms,
  provide: Provide,
): Promise<Omit<Prepared, 'java'>> {
  const { core, version } = spec;
  const known = build === '' ? undefined : build;
  if (IN_SERVER.has(core)) return { build: known, launch: await copiedLaunch(spec) };
  const jar = join(folder, 'server.jar');
  if (core === 'quilt') {
    const launcher = join(folder, 'quilt-server-launch.jar');
    return { build: known, launch: jarLaunch(launcher, `-Dloader.gameJarPath=${jar}`) };
  }
  if (core !== 'fabric') return { build: known, launch: jarLaunch(jar) };
  const flat = join(coresDir, coreName('vanilla', version));
  const vanilla = (await hasCore(flat)) ? undefined : await provide({ core: 'vanilla', version });
  const gameJar = vanilla ? join(vanilla.folder, 'server.jar') : flat;
  return { build: known, launch: jarLaunch(jar, fabricOption(gameJar)) };
}

async function operatorLaunch(jar: string, { core, version }: GameSpec, { coresDir }: JavaPrograms): Promise<Launch> {
  const vanilla = join(coresDir, coreName('vanilla', version));
  return core === 'fabric' && (await hasCore(vanilla)) ? jarLaunch(jar, fabricOption(vanilla)) : jarLaunch(jar);
}

/** Fabric's launcher gets the path of Mojang's server, because it would download one for each server. */
function fabricOption(gameJar: string): string {
  return `-Dfabric.installer.server.gameJar=${gameJar}`;
}

async function copiedLaunch(spec: GameSpec): Promise<Launch> {
  const launch = await installedLaunch(spec);
  if (launch) return launch;
  throw new EngineError('install_failed', `The installer of ${spec.core} created no server.`, {
    suggestion: 'Choose another version, or upload the files that the installer creates for a server.',
  });
}

function noSource({ core, version }: GameSpec): EngineError {
  const installer = INSTALLED[core];
  return new EngineError('core_unavailable', `There is no ${core} ${version} on this machine.`, {
    suggestion:
      installer === undefined
        ? `Upload it as server.jar, or ask the operator to add ${coreName(core, version)} to the cores folder.`
        : `Run its server installer on your computer, then upload the files that it creates: ${installer}.`,
  });
}

/** Launch files that installers create, for cores that are not a single jar. */
const INSTALLED: Record<string, string> = {
  forge: 'run.sh and the libraries folder (up to 1.16.5: the forge jar)',
  neoforge: 'run.sh and the libraries folder',
  quilt: 'quilt-server-launch.jar, server.jar and the libraries folder',
};

const MAX_NOTE_BYTES = 4 * KIB;
const word = z.string().regex(/^[0-9A-Za-z][0-9A-Za-z._+-]{0,63}$/);
const PackLoader = z.object({ core: word, version: word, loader: word });
const Copied = z.object({ core: word, version: word, build: word, isComplete: z.boolean() });

/**
 * Returns the loader version of a server's mod pack, from the file that the installation left in the server's folder.
 * Undefined if it is missing or for another core or version of the game.
 */
async function packLoader({ core, version, dataDir }: GameSpec): Promise<string | undefined> {
  const found = await noteIn(dataDir, LOADER_FILE, PackLoader);
  return found?.core === core && found.version === version ? found.loader : undefined;
}

/**
 * Returns the build that this service has copied to the server's folder, or begun to copy; undefined if the files there
 * are not ours.
 */
async function ourCopy({ core, dataDir }: GameSpec): Promise<z.output<typeof Copied> | undefined> {
  const found = await noteIn(dataDir, CORE_FILE, Copied);
  return found?.core === core ? found : undefined;
}

/** Reads a note in a server's folder. A game can write to it, so invalid content is ignored. */
async function noteIn<Shape extends z.ZodType>(
  dataDir: string,
  name: string,
  shape: Shape,
): Promise<z.output<Shape> | undefined> {
  try {
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    await using file = await open(join(dataDir, name), flags);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_NOTE_BYTES), 0, MAX_NOTE_BYTES, 0);
    return shape.parse(JSON.parse(buffer.toString('utf8', 0, bytesRead)));
  } catch {
    return undefined;
  }
}

import { lstat, readdir, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Log } from '../../../kernel/log.ts';
import { createKeyedMutex } from '../../../kernel/mutex.ts';
import { StatusError } from '../../../kernel/status.ts';
import { DAY_MS } from '../../../kernel/units.ts';
import { EngineError, type Preparation } from '../../engine.ts';
import { hasCore } from '../core-file.ts';
import type { CoreBuild, CoreSource } from './source.ts';
import { compareNumbered } from '../../../kernel/natural-order.ts';
import { PART, fetchFile } from './fetch-file.ts';
import { sourceFailure } from './failure.ts';
import { type InstallerHost, runInstaller } from './installer.ts';
import { createSharedProgress } from './shared-progress.ts';

/** A core to provide. */
export interface WantedCore {
  core: string;
  version: string;
  /** Absent: the newest. */
  build?: string | undefined;
}

/** A core that is ready to run. */
export interface StoredCore {
  /** Contains `server.jar`, or the files that the core's installer has created. */
  folder: string;
  build: string;
}

export interface ProvideOptions {
  signal: AbortSignal;
  progress: (progress: Preparation) => void;
  /** Runs the core's installer, if it has one. */
  installers: InstallerHost;
}

/** The cores of all servers, in `<core>/<version>-<build>` below one directory. */
export interface CoreStore {
  /** Whether a core has a public source. */
  offers(core: string): boolean;
  /**
   * Returns a core, and downloads and installs it first if necessary. Callers that need the same version share the
   * work. If the source does not respond, a missing `build` means the newest one that is already here. Undefined if the
   * core has no public source. Rejects with EngineError `core_unavailable`, `download_failed` or `install_failed`.
   */
  provide(wanted: WantedCore, options: ProvideOptions): Promise<StoredCore | undefined>;
  /**
   * Downloads a build for later starts. Does nothing for a core whose files an installer creates, because it needs the
   * server's Java. Rejects with EngineError or StatusError.
   */
  fetch(wanted: WantedCore & { build: string }, signal: AbortSignal): Promise<void>;
  /** Returns the newest build that is here; undefined without one. */
  newestHere(wanted: WantedCore): Promise<StoredCore | undefined>;
}

const JAR = 'server.jar';
/** How long an interrupted download can be continued. */
const PART_MS = 7 * DAY_MS;
const UPLOAD = 'upload server.jar';
const SERVER_FILES = [JAR, 'run.sh', 'libraries', 'quilt-server-launch.jar'];

/** Opens the store. `log` reports builds that are used because their source does not respond. */
export function openCoreStore(dir: string, sources: Readonly<Record<string, CoreSource>>, log: Log): CoreStore {
  const withLock = createKeyedMutex();
  const shareProgress = createSharedProgress();
  const sourceOf = (core: string) => (Object.hasOwn(sources, core) ? sources[core] : undefined);

  async function stored(wanted: WantedCore): Promise<StoredCore | undefined> {
    const { core, version, build = '' } = wanted;
    const folder = join(dir, core, build === '' ? version : `${version}-${build}`);
    const hasInstaller = sourceOf(core)?.installer !== undefined;
    const found = await lstat(hasInstaller ? folder : join(folder, JAR)).catch(() => undefined);
    const isThere = hasInstaller ? found?.isDirectory() : found !== undefined;
    return isThere ? { folder, build } : undefined;
  }

  async function newestHere({ core, version }: WantedCore): Promise<StoredCore | undefined> {
    const prefix = `${version}-`;
    const names = (await readdir(join(dir, core)).catch(() => [])).filter((name) => name.startsWith(prefix));
    const builds = names.map((name) => name.slice(prefix.length)).filter((build) => /^\d[\w.+-]*$/.test(build));
    for (const build of builds.toSorted(compareNumbered).toReversed()) {
      const found = await stored({ core, version, build });
      if (found) return found;
    }
    return undefined;
  }

  async function obtain(source: CoreSource, wanted: WantedCore, options: ProvideOptions): Promise<StoredCore> {
    const { core, version } = wanted;
    const found = await source.find(version, wanted.build, options.signal);
    if (found === undefined) throw notOffered(wanted);
    const { build } = found;
    const already = await stored({ core, version, build });
    if (already) return already;
    const folder = join(dir, core, build === '' ? version : `${version}-${build}`);
    if (source.installer === undefined) await download(source, found, join(folder, JAR), options);
    else await install(source, found, { core, version, folder }, options);
    return { folder, build };
  }

  async function download(
    source: CoreSource,
    { file }: CoreBuild,
    path: string,
    options: Omit<ProvideOptions, 'installers'>,
  ) {
    const { signal, progress } = options;
    await removeOldParts(path);
    progress({ phase: 'downloading', percent: 0 });
    const shown = (percent: number) => progress({ phase: 'downloading', percent });
    await fetchFile(file, path, { http: source.http, signal, progress: shown });
  }

  /** Removes parts of downloads that were not continued for a week, except that of `path`. */
  async function removeOldParts(path: string): Promise<void> {
    for (const core of Object.keys(sources)) {
      for (const name of await readdir(join(dir, core)).catch(() => [])) {
        const place = join(dir, core, name);
        const part = name.endsWith(PART) ? place : join(place, `${JAR}${PART}`);
        const found = await lstat(part).catch(() => undefined);
        if (found === undefined || found.mtimeMs > Date.now() - PART_MS || part === `${path}${PART}`) continue;
        await rm(part, { force: true });
        if (part !== place) await rmdir(place).catch(() => {});
      }
    }
  }

  async function install(
    source: CoreSource,
    found: CoreBuild,
    { core, version, folder: target }: { core: string; version: string; folder: string },
    options: ProvideOptions,
  ): Promise<void> {
    // Hidden, because the names beside it are those of builds.
    const jar = join(dirname(target), `.${basename(target)}-installer.jar`);
    await download(source, found, jar, options);
    options.progress({ phase: 'installing', percent: 0 });
    const args = (folder: string) => source.installer?.(version, found.build, folder) ?? [];
    const isComplete = async (folder: string) => {
      const names = await readdir(folder).catch(() => []);
      return names.some((name) => SERVER_FILES.includes(name) || name.startsWith(`${core}-${version}-`));
    };
    await runInstaller({ jar, args, target, isComplete }, options.installers, options.signal);
    await rm(jar, { force: true });
  }

  /** Returns the cores that are here, such as `paper 1.21.8`. */
  const list = async () => {
    const entries = await readdir(dir, { withFileTypes: true }).catch(() => []);
    const found = entries.map(async (entry) => {
      const [, core, version] = (entry.isFile() && /^([a-z]+)-(\S+)\.jar$/.exec(entry.name)) || [];
      if (core !== undefined) return [`${core} ${version}`];
      if (!entry.isDirectory() || sourceOf(entry.name) === undefined) return [];
      const builds = await readdir(join(dir, entry.name));
      const whole = await Promise.all(
        builds.map(async (name) => (await hasAny(join(dir, entry.name, name))) && /^\d[^-]*/.exec(name)?.[0]),
      );
      return whole.flatMap((each) => (each ? [`${entry.name} ${each}`] : []));
    });
    return [...new Set((await Promise.all(found)).flat())].toSorted();
  };

  return {
    offers: (core) => sourceOf(core) !== undefined,
    newestHere,
    async fetch(wanted, signal) {
      const { core, version, build } = wanted;
      const source = sourceOf(core);
      if (source === undefined || source.installer !== undefined) return;
      const work = async () => {
        if (await stored(wanted)) return;
        const found = await source.find(version, build, signal);
        if (found === undefined) throw notOffered(wanted);
        await download(source, found, join(dir, core, `${version}-${build}`, JAR), { signal, progress: () => {} });
      };
      await withLock(`${core} ${version}`, work, signal);
    },
    async provide(wanted, options) {
      const source = sourceOf(wanted.core);
      if (source === undefined) return undefined;
      const { core, version, build } = wanted;
      const key = `${core} ${version}`;
      using shared = shareProgress(key, options.progress);
      return await withLock(
        key,
        async () => {
          const pinned = build !== undefined || core === 'vanilla' ? await stored(wanted) : undefined;
          if (pinned) return pinned;
          try {
            return await obtain(source, wanted, { ...options, progress: shared.progress });
          } catch (error) {
            options.signal.throwIfAborted();
            const isTemporary = error instanceof StatusError && error.code === 'UNAVAILABLE';
            const fallback = isTemporary && build === undefined ? await newestHere(wanted) : undefined;
            if (fallback === undefined)
              throw error instanceof StatusError ? sourceFailure(error, UPLOAD, await list()) : error;
            log.warn({ core, version, build: fallback.build, err: error }, 'the source of a core does not respond');
            return fallback;
          }
        },
        options.signal,
      );
    },
  };
}

async function hasAny(folder: string): Promise<boolean> {
  for (const name of SERVER_FILES) if (await hasCore(join(folder, name))) return true;
  return false;
}

function notOffered({ core, version, build }: WantedCore): EngineError {
  if (build === undefined)
    return new EngineError('core_unavailable', `There is no ${core} for Minecraft ${version}.`, {
      suggestion: 'Choose another version, or upload server.jar.',
    });
  return new EngineError('core_unavailable', `Build ${build} of ${core} ${version} is no longer offered.`, {
    suggestion: 'Save the version again to change to the newest build, or upload server.jar.',
  });
}

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import type { Logger } from 'pino';
import * as z from 'zod';
import { sweepDrafts, writeAtomic } from '../../kernel/atomic-file.ts';
import { DAY_MS, MIB, MINUTE_MS } from '../../kernel/units.ts';
import type { EngineEvent } from '../engine.ts';
import { readBundle, unpackBundle } from './bundled-jar.ts';
import type { Java } from './java-homes.ts';
import type { PlainStart } from './java-launch.ts';
import { MAX_CACHE_BYTES, type Trainer } from './training.ts';

export interface QuickStartsOptions {
  /** The directory of cores' jars. Unpacked jars and caches are kept in it, readable by games. */
  coresDir: string;
  /** Undefined: every start is a plain one. */
  trainer: Trainer | undefined;
  log: Logger;
  /** Returns the memory in MB that nothing uses now. Default: the machine's, or that of this process's group. */
  spareMb?: () => number;
}

/** Folders in the directory of cores. */
const UNPACKED = 'unpacked';
const CACHES = 'start-caches';
const TRAINING = 'training';
const OURS = [UNPACKED, CACHES, TRAINING];

const HEAP_MB = 1_024;
/** Memory of a training run: Java writes the cache in a second process, and both need memory beside the heap. */
export const NEEDED_MB = 2 * (HEAP_MB + 288);
/** Versions of Java with AOT caches (JEP 514) and with archives of an application's classes that this uses (JEP 350). */
const AOT_SINCE = 25;
const ARCHIVES_SINCE = 17;
/** A run that fails this soon counts against its cache. */
const EARLY_MS = 3 * MINUTE_MS;
const MOST_FAILURES = 2;
/** Exit codes of a game that was stopped, not one that failed: none, and those of SIGINT, SIGKILL and SIGTERM. */
const STOPPED = new Set([0, 130, 137, 143]);
const UNUSED_DAYS = 30;

/** How a core's jar starts: by its bundle's main class, or with `-jar`. Stored once the jar was prepared. */
const Prepared = z.object({ mainClass: z.string(), jars: z.array(z.string()), options: z.array(z.string()) });
type Prepared = z.output<typeof Prepared>;
const BUNDLED: Prepared = { mainClass: '', jars: [], options: [] };

/**
 * Starts Java cores in about half the time. In the background, it unpacks bundled jars to start their main class
 * directly, and runs each core once to record a cache of loaded and linked classes. Only jars from the directory of
 * cores qualify, which no tenant can change, and only runs of the service's own write caches, so that no tenant can put
 * code into another's server. A start never waits for a preparation, and Java ignores a cache that does not fit.
 */
export class QuickStarts {
  readonly #options: QuickStartsOptions;
  readonly #closing = new AbortController();
  /** Preparations run one after the other. */
  #last: Promise<void> = Promise.resolve();
  /** Caches whose training is queued, or was tried since this process began. */
  readonly #tried = new Set<string>();
  /** Builds that could not be unpacked since this process began. The next process tries again. */
  readonly #failed = new Set<string>();
  /** The last start of each server, and how often quick ones of this form have failed in a row. */
  readonly #starts = new Map<string, { name: string; isQuick: boolean; failures: number }>();

  constructor(options: QuickStartsOptions) {
    this.#options = options;
  }

  /**
   * Returns arguments to use instead of `main`; undefined if there are none, or if the server has failed twice with
   * them. Prepares what is missing in the background.
   */
  async quicken(start: PlainStart): Promise<string[] | undefined> {
    try {
      return await this.#quick(start);
    } catch (err) {
      this.#options.log.warn({ err, server: start.spec.serverId }, 'no quick start: its files could not be read');
      return undefined;
    }
  }

  async #quick(start: PlainStart): Promise<string[] | undefined> {
    const { spec, java, flags, main } = start;
    const { coresDir, trainer, log } = this.#options;
    const jar = main.at(-1) ?? '';
    if (trainer === undefined || main.at(-2) !== '-jar' || !isBelow(coresDir, jar)) return undefined;
    const build = await buildOf(jar);
    const name = `${build}-${digest([...(await trainer.identify(java)), flags, main])}`;
    const prepared = await this.#prepared(build);
    const cache = this.#cachePath(name, java);
    const hasCache = cache !== undefined && (await markUsed(cache));
    const isComplete = prepared !== undefined && (hasCache || cache === undefined);
    if (!isComplete && spec.env['EULA'] === 'TRUE') this.#prepare(start, build, name);
    // Failures count anew once the core, Java or the preset has changed.
    const before = this.#starts.get(spec.serverId);
    const failures = before?.name === name ? before.failures : 0;
    const isQuick = prepared !== undefined && failures < MOST_FAILURES;
    this.#starts.set(spec.serverId, { name, isQuick, failures });
    if (!isQuick) return undefined;
    await markUsed(this.#description(build));
    log.debug({ server: spec.serverId, hasCache, mainClass: prepared.mainClass }, 'a quick start');
    return [...(hasCache ? useOptions(cache) : []), ...this.#mainOf(build, prepared, main)];
  }

  /** Counts how a game ended. After two early failures in a row, its server starts without quick starts. */
  note(event: EngineEvent): void {
    if (event.type !== 'down') return;
    const { serverId, installer, startedAt, exit } = event.game;
    const start = this.#starts.get(serverId);
    if (!start?.isQuick || installer || !exit) return;
    const { code, at } = exit;
    if (code === null || at === null || startedAt === null) return;
    const hasFailed = !STOPPED.has(code) && at - startedAt <= EARLY_MS;
    start.failures = hasFailed ? start.failures + 1 : 0;
    if (start.failures !== MOST_FAILURES) return;
    this.#options.log.warn({ server: serverId }, 'the server failed twice with its start cache; it now starts without');
  }

  /** Resolves once no preparation runs or waits. For tests and benches. */
  async settled(): Promise<void> {
    await this.#last;
  }

  /** Ends the current preparation, and starts no other. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the service is closing'));
    await this.#last;
  }

  #folder(...names: string[]): string {
    return join(this.#options.coresDir, ...names);
  }

  #cachePath(name: string, { major = 0 }: Java): string | undefined {
    if (major < ARCHIVES_SINCE) return undefined;
    return this.#folder(CACHES, `${name}.${major >= AOT_SINCE ? 'aot' : 'jsa'}`);
  }

  #description(build: string): string {
    return this.#folder(UNPACKED, `${build}.json`);
  }

  /** Returns how a build starts; undefined if it was not prepared, or if the description is damaged. */
  async #prepared(build: string): Promise<Prepared | undefined> {
    if (this.#failed.has(build)) return BUNDLED;
    try {
      return Prepared.parse(JSON.parse(await readFile(this.#description(build), 'utf8')));
    } catch {
      return undefined;
    }
  }

  #mainOf(build: string, { mainClass, jars, options }: Prepared, main: readonly string[]): string[] {
    if (mainClass === '') return [...main];
    const classPath = jars.map((path) => this.#folder(UNPACKED, build, path)).join(':');
    return [...main.slice(0, -2), ...options, '-cp', classPath, mainClass];
  }

  #prepare(start: PlainStart, build: string, name: string): void {
    if (this.#tried.has(name) || this.#closing.signal.aborted) return;
    this.#tried.add(name);
    const { log, spareMb = availableMb } = this.#options;
    const { core, version } = start.spec;
    this.#last = this.#last.then(async () => {
      try {
        this.#closing.signal.throwIfAborted();
        if (spareMb() < NEEDED_MB) {
          log.debug({ core, version }, 'not enough free memory to prepare quick starts; the next start tries again');
          this.#tried.delete(name);
          return;
        }
        await this.#removeUnused();
        const prepared = (await this.#prepared(build)) ?? (await this.#unpack(start, build));
        await this.#record(start, name, this.#mainOf(build, prepared, start.main));
      } catch (err) {
        if (this.#closing.signal.aborted) return;
        log.warn({ err, core, version }, 'could not prepare quick starts of a core; it starts as before');
      } finally {
        await rm(this.#folder(TRAINING), { recursive: true, force: true }).catch(() => {});
      }
    });
  }

  /** Unpacks a bundled jar, if it is one and has the known format. */
  async #unpack(start: PlainStart, build: string): Promise<Prepared> {
    const jar = start.main.at(-1) ?? '';
    const { log } = this.#options;
    const signal = this.#closing.signal;
    let prepared = BUNDLED;
    try {
      const bundle = await readBundle(jar);
      if (bundle) {
        await mkdirOpen(this.#folder(UNPACKED));
        const folder = this.#folder(UNPACKED, build);
        await unpackBundle(jar, bundle, { folder, signal }).catch(async () => {
          signal.throwIfAborted();
          // Paperclip patches Mojang's server first, and downloads it for that.
          await this.#train(start.java, ['-Dpaperclip.patchonly=true', '-jar', jar]);
          await unpackBundle(jar, bundle, { folder, patched: this.#folder(TRAINING), signal });
        });
        // Caches from before were recorded with the bundler or with other files, and do not fit.
        await this.#removeCaches(build);
        prepared = { ...bundle, options: [...bundle.options], jars: bundle.jars.map(({ path }) => path) };
      }
    } catch (err) {
      signal.throwIfAborted();
      log.info({ err, jar: basename(jar) }, 'a bundled core could not be unpacked; it starts with its bundler');
      this.#failed.add(build);
      return BUNDLED;
    }
    await mkdirOpen(this.#folder(UNPACKED));
    await writeAtomic(this.#description(build), JSON.stringify(prepared));
    return prepared;
  }

  async #removeCaches(build: string): Promise<void> {
    for (const name of await readdir(this.#folder(CACHES)).catch(() => [])) {
      if (buildIn(name) === build) await rm(this.#folder(CACHES, name), { force: true });
    }
  }

  /** Records a cache in a training run, and copies it to a file that games can only read. */
  async #record({ spec, java, flags }: PlainStart, name: string, main: readonly string[]): Promise<void> {
    const target = this.#cachePath(name, java);
    if (target === undefined || (await markUsed(target))) return;
    const output = this.#folder(TRAINING, basename(target));
    const record = target.endsWith('.aot') ? `-XX:AOTCacheOutput=${output}` : `-XX:ArchiveClassesAtExit=${output}`;
    const begun = performance.now();
    await this.#train(java, [record, ...flags, `-Xmx${HEAP_MB}M`, ...main, 'nogui']);
    await mkdirOpen(this.#folder(CACHES));
    const bytes = await copyPlain(output, target);
    const { core, version } = spec;
    const figures = { seconds: Math.round((performance.now() - begun) / 1_000), mb: Math.ceil(bytes / MIB) };
    this.#options.log.info({ core, version, java: java.major, ...figures }, 'recorded a start cache');
  }

  async #train(java: Java, args: readonly string[]): Promise<void> {
    const { coresDir, trainer } = this.#options;
    const folder = this.#folder(TRAINING);
    await trainer?.train({ folder, java: java.file, args, coresDir, signal: this.#closing.signal });
  }

  /**
   * Removes what belongs to jars that have changed or are gone, and caches that no server has used for a month. Class
   * paths stay for a month after their last start, because Java opens their jars only when it needs them.
   */
  async #removeUnused(): Promise<void> {
    for (const folder of [UNPACKED, CACHES]) await sweepDrafts(this.#folder(folder), () => true);
    const builds = await this.#builds();
    for (const name of await readdir(this.#folder(CACHES)).catch(() => [])) {
      const path = this.#folder(CACHES, name);
      if (!builds.has(buildIn(name)) || !(await isRecent(path))) await rm(path, { force: true });
    }
    for (const name of await readdir(this.#folder(UNPACKED)).catch(() => [])) {
      const build = buildIn(name);
      if (builds.has(build) || this.#hasStarted(build) || (await isRecent(this.#description(build)))) continue;
      await rm(this.#folder(UNPACKED, name), { recursive: true, force: true });
    }
  }

  /** Returns whether the last start of a server since this process began was with this build. */
  #hasStarted(build: string): boolean {
    return [...this.#starts.values()].some(({ name }) => buildIn(name) === build);
  }

  /** Returns the builds of all jars in the directory of cores, except the libraries of installed loaders. */
  async #builds(): Promise<Set<string>> {
    const { coresDir } = this.#options;
    const names = await readdir(coresDir, { recursive: true });
    const jars = names.filter(
      (name) =>
        name.endsWith('.jar') &&
        !name.split('/').includes('libraries') &&
        !OURS.some((ours) => name.startsWith(`${ours}/`)),
    );
    return new Set(await Promise.all(jars.map((name) => buildOf(join(coresDir, name)).catch(() => ''))));
  }
}

/** Returns whether a file or folder was used within the last 30 days. */
export async function isRecent(path: string): Promise<boolean> {
  const usedAt = (await lstat(path).catch(() => undefined))?.mtimeMs ?? 0;
  return usedAt >= Date.now() - UNUSED_DAYS * DAY_MS;
}

function useOptions(cache: string): string[] {
  return cache.endsWith('.aot') ? [`-XX:AOTCache=${cache}`] : [`-XX:SharedArchiveFile=${cache}`, '-Xshare:auto'];
}

function isBelow(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return inside !== '' && !inside.startsWith('..') && !OURS.some((ours) => inside.startsWith(`${ours}/`));
}

/** Identifies a build of a core. Java compares the same facts of the jars of a cache. */
async function buildOf(jar: string): Promise<string> {
  const { size, mtimeMs } = await stat(jar);
  return digest([jar, size, mtimeMs]);
}

/** Returns the build that a name of ours begins with. */
function buildIn(name: string): string {
  return /^[0-9a-f]+/.exec(name)?.[0] ?? '';
}

function digest(facts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 16);
}

/** Returns whether a file exists, and marks it as used now. */
export async function markUsed(path: string): Promise<boolean> {
  const now = new Date();
  return await utimes(path, now, now).then(
    () => true,
    () => false,
  );
}

/** Creates a folder that games may read. */
export async function mkdirOpen(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
}

/** Copies a plain file that a game's user has written to a read-only one of this process's user. Returns its size. */
export async function copyPlain(from: string, to: string): Promise<number> {
  await using file = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const found = await file.stat();
  if (!found.isFile() || found.size > MAX_CACHE_BYTES) throw new Error(`the run left no ${basename(from)}`);
  await writeAtomic(to, file.createReadStream({ autoClose: false }), { mode: 0o444 });
  return found.size;
}

/** Returns the memory in MB that nothing uses now. */
export function availableMb(): number {
  return process.availableMemory() / MIB;
}

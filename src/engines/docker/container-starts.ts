import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { FileOwner } from '../../kernel/atomic-file.ts';
import { createMutex } from '../../kernel/mutex.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import type { EngineEvent, GameSpec } from '../engine.ts';
import { presetFlags } from '../jvm-options.ts';
import type { PlainStart } from '../process/java-launch.ts';
import {
  NEEDED_MB,
  QuickStarts,
  availableMb,
  copyPlain,
  isRecent,
  markUsed,
  mkdirOpen,
} from '../process/quick-starts.ts';
import { TRAINING_LIMIT, type Training, createFolder, stopOnceReady } from '../process/training.ts';
import { READABLE } from './container.ts';
import type { ImageFacts, ImageRun } from './image-run.ts';

/** The engine that runs games and training runs. */
export interface ImageHost {
  /** Returns what is known of an image; undefined if it is not here. */
  factsOf: (image: string) => Promise<ImageFacts | undefined>;
  /** Runs an image in a container of its own. Resolves to its exit code. */
  run: (run: ImageRun) => Promise<number>;
}

const JARS = 'jars';
const FETCHED = 'fetched';
/** Variables of a server that decide which jar the image installs. */
const CHOOSES_JAR = /^(?:EULA|TYPE|VERSION|[A-Z]+_BUILD)$/;
/** The image's output in place of a start, if it would start a single jar. */
const WOULD_START = /^SETUP_ONLY: java .*-jar (?:\/data\/)?([\w+-][\w.+-]*\.jar)(?: |$)/m;
const MOST_OUTPUT_CHARS = 100_000;
/** Limit of one run: a training run's own limit, and a download that does not end. */
const MOST_RUN_MS = 20 * MINUTE_MS;
/** By default, Java uses its serial collector with less memory or one processor, and the collector is part of a cache. */
const LEAST_SERVER_MB = 1_792;

/**
 * Start caches for games in containers, by the rules of `QuickStarts`. The image installs a core's jar once more, in an
 * empty folder that no server uses, and a container of the same image records the cache. Servers read both from a
 * folder that is mounted read-only. The image then starts the main class in place of the jar in the server's folder.
 */
export class ContainerStarts {
  readonly #dir: string;
  readonly #user: FileOwner | undefined;
  readonly #log: Logger;
  readonly #spareMb: () => number;
  readonly #quick: QuickStarts;
  readonly #closing = new AbortController();
  readonly #tried = new Set<string>();
  readonly #oneAtATime = createMutex();
  #last: Promise<void> = Promise.resolve();
  #host: ImageHost | undefined;

  /** `dir`: the folder that games can read. `user`: the owner of a run's files; undefined: this process's user. */
  constructor(dir: string, user: FileOwner | undefined, log: Logger, spareMb: () => number = availableMb) {
    this.#dir = dir;
    this.#user = user;
    this.#log = log;
    this.#spareMb = spareMb;
    const trainer = {
      identify: ({ file }: { file: string }) => Promise.resolve([file]),
      train: (run: Training) => this.#train(run),
    };
    this.#quick = new QuickStarts({ coresDir: dir, trainer, log, spareMb });
  }

  /** Returns the specification of a quick start, or `spec` itself. Prepares what is missing in the background. */
  async quicken(spec: GameSpec, host: ImageHost): Promise<GameSpec> {
    if (spec.isOneJar !== true) return spec;
    this.#host = host;
    try {
      const facts = await host.factsOf(spec.image);
      if (facts?.java === undefined) return spec;
      const { core, version, build } = spec;
      const name = `${core}-${version}${build === undefined ? '' : `-${build}`}`;
      const jar = join(this.#dir, JARS, name, 'server.jar');
      const preset = presetFlags(spec.jvm?.preset ?? 'default', facts.java);
      const start: PlainStart = {
        spec,
        java: { file: facts.id, major: facts.java },
        flags: [...preset, ...(preset.length > 0 || isServerClass(spec) ? [] : ['-XX:+UseSerialGC'])],
        main: ['-jar', jar],
      };
      if (!(await isThere(jar))) {
        if (spec.env['EULA'] === 'TRUE') this.#fetch(start, spec, jar);
        return spec;
      }
      await markUsed(join(this.#dir, JARS, name));
      const args = await this.#quick.quicken(start);
      if (args === undefined) return spec;
      const env = { ...spec.env, CUSTOM_JAR_EXEC: args.map((arg) => this.#inside(arg)).join(' ') };
      return { ...spec, env, readable: this.#dir };
    } catch (err) {
      this.#log.warn({ err, server: spec.serverId }, 'no quick start: its files could not be read');
      return spec;
    }
  }

  /** See `QuickStarts.note`. */
  note(event: EngineEvent): void {
    this.#quick.note(event);
  }

  /** Resolves once no preparation runs or waits. For tests. */
  async settled(): Promise<void> {
    await this.#last;
    await this.#quick.settled();
  }

  /** Ends the current preparation, and starts no other. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the service is closing'));
    await this.#last;
    await this.#quick.close();
  }

  /** Gets the jar by the image's own installer, then prepares quick starts of it. */
  #fetch(start: PlainStart, spec: GameSpec, jar: string): void {
    if (this.#tried.has(jar) || this.#closing.signal.aborted) return;
    this.#tried.add(jar);
    const { core, version, image } = spec;
    this.#last = this.#last.then(async () => {
      const folder = join(this.#dir, FETCHED);
      try {
        this.#closing.signal.throwIfAborted();
        if (this.#spareMb() < NEEDED_MB) {
          this.#tried.delete(jar);
          return;
        }
        await this.#removeUnused();
        await createFolder(folder, this.#user);
        const chosen = Object.entries(spec.env).filter(([name]) => CHOOSES_JAR.test(name));
        const env = { ...Object.fromEntries(chosen), SETUP_ONLY: 'true', SKIP_SERVER_PROPERTIES: 'true' };
        let output = '';
        const onOutput = (chunk: Buffer) => (output = (output + chunk.toString('utf8')).slice(-MOST_OUTPUT_CHARS));
        const code = await this.#run({ image, folder, env, onOutput });
        const [, name] = WOULD_START.exec(output) ?? [];
        if (code !== 0 || name === undefined) throw new Error(`the image installed no jar: ${output.slice(-1_000)}`);
        for (const each of [this.#dir, join(this.#dir, JARS), join(jar, '..')]) await mkdirOpen(each);
        await copyPlain(join(folder, name), jar);
        await this.#quick.quicken(start);
      } catch (err) {
        if (this.#closing.signal.aborted) return;
        this.#log.warn({ err, core, version }, 'could not prepare quick starts of a core; it starts as before');
      } finally {
        await rm(folder, { recursive: true, force: true }).catch(() => {});
      }
    });
  }

  async #train({ folder, java, args }: Training): Promise<void> {
    await createFolder(folder, this.#user);
    const stop = new AbortController();
    const output = stopOnceReady(() => stop.abort());
    const inside = args.map((arg) => this.#inside(arg.replace(folder, '/data')));
    const command = [...TRAINING_LIMIT, 'java', '-Duser.home=/data', ...inside];
    const run = { image: java, folder, command, readable: this.#dir, env: {}, stop: stop.signal };
    output.check(await this.#run({ ...run, onOutput: output.add }));
  }

  async #run(run: Omit<ImageRun, 'signal' | 'memoryMb'>): Promise<number> {
    const host = this.#host;
    if (host === undefined) throw new Error('no engine');
    // All runs have one name, and each replaces the one before.
    return await this.#oneAtATime(() => {
      const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(MOST_RUN_MS)]);
      return host.run({ ...run, memoryMb: NEEDED_MB, signal });
    });
  }

  #inside(arg: string): string {
    return arg.replaceAll(`${this.#dir}/`, `${READABLE}/`);
  }

  async #removeUnused(): Promise<void> {
    for (const name of await readdir(join(this.#dir, JARS)).catch(() => [])) {
      const path = join(this.#dir, JARS, name);
      if (!(await isRecent(path))) await rm(path, { recursive: true, force: true });
    }
  }
}

/** Returns whether Java counts this container as a server, for which it has another collector. */
function isServerClass({ ramMb, cpus }: GameSpec): boolean {
  return ramMb >= LEAST_SERVER_MB && Math.ceil(cpus) >= 2;
}

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, open, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from './find-program.ts';
import { createCache } from '../../kernel/cache.ts';
import { KIB } from '../../kernel/units.ts';
import { EngineError, type JavaRange } from '../engine.ts';

/** A Java installation of this machine. */
export interface Java {
  /** The path of its program. */
  file: string;
  /** 8, 17, 21 …; undefined if unknown. */
  major: number | undefined;
}

export interface JavaPlaces {
  /** Java homes, each with a `bin/java`. If several have the same version, the first is used. */
  homes?: readonly string[];
  /** A Java program: a path, or a name to find in `searchPath`. */
  command?: string;
  searchPath?: string;
  /** Folders that contain Java homes. */
  roots?: readonly string[];
}

/**
 * The Java installations of this machine. Each call searches for them, so that one may be installed while the service
 * runs.
 */
export interface Javas {
  /**
   * Returns the oldest Java in the range, otherwise one with an unknown version. `what` is the program that needs it,
   * for the error. Rejects with EngineError `core_unavailable` if there is no Java, and with `wrong_java_version`,
   * which lists the versions found, if none is suitable.
   */
  choose(range: JavaRange, what: string): Promise<Java>;
}

const MOST_HOMES = 64;
const VERSION_MS = 20_000;
const MAX_RELEASE_BYTES = 64 * KIB;
const MAX_OUTPUT_BYTES = 64 * KIB;

/** Finds Java in these places: homes first, then the command, then the roots. */
export function createJavas({ homes = [], command, searchPath = '', roots = [] }: JavaPlaces): Javas {
  /** Versions by program, read again after its file has changed. */
  const versions = createCache<number | undefined>({ most: MOST_HOMES, ttlMs: () => Infinity });

  async function all(): Promise<Java[]> {
    const inRoots = await Promise.all(
      roots.map(async (root) =>
        (await readdir(root).catch(() => []))
          .filter((name) => !name.startsWith('.'))
          .toSorted()
          .map((name) => join(root, name)),
      ),
    );
    const programOf = (home: string) => join(home, 'bin', 'java');
    const names = [
      ...homes.map(programOf),
      ...(command === undefined ? [] : [command]),
      ...inRoots.flat().map(programOf),
    ];
    const files = await Promise.all(names.slice(0, MOST_HOMES).map((name) => findProgram(name, searchPath)));
    const javas = [...new Set(files)].map(async (file) => (file === undefined ? [] : await javaAt(file)));
    return (await Promise.all(javas)).flat();
  }

  async function javaAt(file: string): Promise<Java[]> {
    try {
      await access(file, constants.X_OK);
      const { mtimeMs: changed } = await stat(file);
      const read = async () => (await majorFromRelease(file)) ?? (await majorFromProgram(file));
      return [{ file, major: await versions.get(file, 0, read, String(changed)) }];
    } catch {
      return [];
    }
  }

  return {
    async choose(range, what) {
      const javas = await all();
      if (javas.length === 0) throw noJava();
      const fitting = javas.filter(({ major = 0 }) => major >= range.least && major <= range.most);
      const [oldest] = fitting.toSorted((a, b) => (a.major ?? 0) - (b.major ?? 0));
      const chosen = oldest ?? javas.find(({ major }) => major === undefined);
      if (chosen) return chosen;
      throw wrongJava(range, what, javas);
    },
  };
}

/**
 * Reads the version from the file `release` in the home of almost every Java. That is far quicker than starting Java.
 */
async function majorFromRelease(file: string): Promise<number | undefined> {
  for (const home of [dirname(dirname(file)), dirname(dirname(dirname(file)))]) {
    const path = join(home, 'release');
    try {
      await using release = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const { buffer, bytesRead } = await release.read(Buffer.alloc(MAX_RELEASE_BYTES), 0, MAX_RELEASE_BYTES, 0);
      const text = buffer.toString('latin1', 0, bytesRead);
      const major = majorOf(/^JAVA_VERSION="([^"\n]{1,64})"/m.exec(text)?.[1]);
      if (major !== undefined) return major;
    } catch {
      // No `release` here: try the next folder.
    }
  }
  return undefined;
}

/** Reads the version from the program's output. Rejects if the program does not run. */
async function majorFromProgram(file: string): Promise<number | undefined> {
  const { stdout, stderr } = await promisify(execFile)(file, ['-version'], {
    timeout: VERSION_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  return majorOf(/ version "([^"\n]{1,64})"/.exec(`${stderr}\n${stdout}`)?.[1]);
}

/** Returns the major version: 8 for `1.8.0_392`, 17 for `17.0.15`, 25 for `25` (https://openjdk.org/jeps/223). */
function majorOf(version = ''): number | undefined {
  const [, old, major] = /^(?:1\.(\d{1,2})\b|(\d{1,3}))/.exec(version) ?? [];
  const number = Number(old ?? major);
  return number > 0 ? number : undefined;
}

function noJava(): EngineError {
  return new EngineError('core_unavailable', 'There is no Java on this machine.', {
    suggestion: 'Choose the sandbox core, or ask the operator to install Java or to use the Docker engine.',
  });
}

function wrongJava({ least, most }: JavaRange, what: string, javas: readonly Java[]): EngineError {
  const needed = most === Infinity ? `${least} or newer` : most === least ? `${least}` : `${least} to ${most}`;
  const there = [...new Set(javas.map(({ major }) => major ?? 0))].toSorted((a, b) => a - b).map(String);
  const last = there.pop() ?? '';
  const list = there.length === 0 ? last : `${there.join(', ')} and ${last}`;
  return new EngineError('wrong_java_version', `${what} needs Java ${needed}; this machine has Java ${list}.`, {
    suggestion:
      `Ask the operator to install Java ${least} or to add its folder to JAVA_HOMES. Or choose a version of ` +
      'Minecraft that runs on an installed Java.',
  });
}

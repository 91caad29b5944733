import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { sum, zipOf } from './modrinth.ts';
import { JDK25 } from './needs.ts';

const run = promisify(execFile);
const SOURCES = join(import.meta.dirname, 'java-core');
const MAVEN_FOLDER = join(import.meta.dirname, '../../node_modules/.cache/minestom');

/** Files of a jar by name. */
type Files = Readonly<Record<string, string | Buffer>>;

export interface Bundle {
  main: string;
  /** The server's own jar. */
  game: Buffer;
  libraries?: readonly (readonly [name: string, bytes: Buffer])[];
  /** Whether the bundle contains the game as a patch only, as Paperclip does. */
  patched?: boolean;
  /** Further lines of the manifest. */
  manifest?: string;
  /** The bundler's own classes. */
  bundler?: Files;
}

/** Writes a jar in the format of Mojang's bundler. */
export async function writeBundle(path: string, bundle: Bundle): Promise<void> {
  const { main, game, libraries = [], patched = false, manifest = '', bundler = {} } = bundle;
  const inside = 'META-INF/versions/1.21.11/server-1.21.11.jar';
  await writeJar(path, {
    'META-INF/MANIFEST.MF': `Manifest-Version: 1.0\nMain-Class: Bundler\n${manifest}\n`,
    ...bundler,
    'META-INF/main-class': main,
    'META-INF/versions.list': `${sum(game, 'sha256')}\t1.21.11\t1.21.11/server-1.21.11.jar\n`,
    'META-INF/libraries.list': libraries
      .map(([name, bytes]) => `${sum(bytes, 'sha256')}\tlib\tlibs/${name}\n`)
      .join(''),
    ...(patched ? { [`${inside}.patch`]: Buffer.from(game.toReversed()) } : { [inside]: game }),
    ...Object.fromEntries(libraries.map(([name, bytes]) => [`META-INF/libraries/libs/${name}`, bytes])),
  });
}

/**
 * Compiles one of the games in `java-core` into a jar in the format of Mojang's bundler, with a bundler that works.
 * `folder` is for drafts.
 */
export async function createCoreJar(
  path: string,
  folder: string,
  main: 'Game' | 'MinestomGame',
  { libraries = [], ...options }: { libraries?: readonly string[]; patched?: boolean } = {},
): Promise<void> {
  const gameJar = join(folder, 'game.jar');
  await writeJar(gameJar, await compiled(main, folder, libraries));
  const read = libraries.map(async (file) => [basename(file), await readFile(file)] as const);
  const bundler = await compiled('Bundler', folder);
  await writeBundle(path, {
    main,
    game: await readFile(gameJar),
    libraries: await Promise.all(read),
    bundler,
    ...options,
  });
}

/** Returns the jars of Minestom, from Maven Central at the first call. */
export async function minestomJars(): Promise<string[]> {
  if (!existsSync(join(MAVEN_FOLDER, 'jars'))) {
    const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${MAVEN_FOLDER}/jars.part`];
    const repository = `-Dmaven.repo.local=${MAVEN_FOLDER}/repository`;
    await rm(MAVEN_FOLDER, { recursive: true, force: true });
    await run('mvn', ['-q', '-B', repository, '-f', join(SOURCES, 'pom.xml'), '-DincludeScope=runtime', ...goal]);
    await run('mv', [`${MAVEN_FOLDER}/jars.part`, `${MAVEN_FOLDER}/jars`]);
  }
  return (await readdir(join(MAVEN_FOLDER, 'jars'))).toSorted().map((name) => join(MAVEN_FOLDER, 'jars', name));
}

async function compiled(main: string, folder: string, libraries: readonly string[] = []): Promise<Files> {
  const out = join(folder, `classes-${main}`);
  await mkdir(out, { recursive: true });
  const classPath = libraries.length > 0 ? ['-cp', libraries.join(':')] : [];
  await run(join(JDK25, 'bin/javac'), [
    '--release',
    '25',
    '-nowarn',
    ...classPath,
    '-d',
    out,
    join(SOURCES, `${main}.java`),
  ]);
  const names = await readdir(out);
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(out, name))] as const)),
  );
}

/** Writes a jar with these files. */
export async function writeJar(path: string, files: Files): Promise<void> {
  await writeFile(path, await zipOf(files));
}

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { sandboxVersions } from './versions.ts';

const sourceDirectory = import.meta.dirname;

const REDUNDANT_FILE =
  /(\.(md|markdown|d\.ts|d\.mts|d\.cts|map)|(^|\/)(test|tests|example|examples|docs?|bench)(\/.*)?)$/i;

/**
 * The Dockerfile. It has no base image, so nothing is pulled. `/data` must belong to the game's user before it becomes
 * a volume; otherwise, a named volume would belong to root. It has no HEALTHCHECK, because readiness is checked from
 * outside, and the interval of a check would delay a Swarm task.
 */
export const DOCKERFILE = `FROM scratch
COPY rootfs/ /
RUN ["/usr/bin/node", "-e", "fs.chownSync('/data', 1000, 1000)"]
ENV PATH=/usr/bin
WORKDIR /data
VOLUME /data
EXPOSE 25565 25575 25585
STOPSIGNAL SIGTERM
USER 1000:1000
ENTRYPOINT ["/usr/bin/node", "/app/src/sandbox/main.js"]
`;

/** Returns a hash of the image's content. It changes whenever a new image would differ from an earlier one. */
export function contentHash(): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([DOCKERFILE, process.version, process.arch, sandboxVersions()]));
  for (const name of programFiles()) hash.update(name).update(readFileSync(join(sourceDirectory, name)));
  for (const directory of packageDirectories()) hash.update(readFileSync(join(directory, 'package.json')));
  return hash.digest('hex').slice(0, 32);
}

/** The label with the `contentHash` of an image. */
export const HASH_LABEL = 'dormouse.sandbox.hash';

/** Reports whether an image with these labels was built by this program from other code. */
export function isOutdated(labels: Readonly<Record<string, string>>): boolean {
  const built = labels[HASH_LABEL];
  return built !== undefined && built !== contentHash();
}

/** Writes the whole content of an image below `root`. */
export function writeRootfs(root: string): void {
  const put = (path: string, content: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  for (const directory of ['data', 'tmp', 'usr/bin']) mkdirSync(join(root, directory), { recursive: true });
  put('etc/passwd', 'root:x:0:0:root:/:/sbin/nologin\nminecraft:x:1000:1000:minecraft:/data:/sbin/nologin\n');
  put('etc/group', 'root:x:0:\nminecraft:x:1000:\n');
  put('app/package.json', JSON.stringify({ private: true, type: 'module' }));
  cpSync(realpathSync(process.execPath), join(root, 'usr/bin/node'));
  for (const library of sharedLibraries(process.execPath)) cpSync(realpathSync(library), join(root, library));
  // Stripping the types at each start instead would cost 60 ms and 25 MB.
  for (const name of programFiles()) put(join('app/src/sandbox', javaScriptName(name)), javaScript(name));
  for (const directory of packageDirectories()) {
    const inside = relative(projectDirectory(), directory);
    cpSync(directory, join(root, 'app', inside), {
      recursive: true,
      filter: (path) => isNeeded(relative(directory, path).split(sep).join('/')),
    });
  }
}

function javaScript(name: string): string {
  const source = stripTypeScriptTypes(readFileSync(join(sourceDirectory, name), 'utf8'));
  return source.replaceAll(/((?:from |import\()'\.[^']*)\.ts'/g, "$1.js'");
}

function javaScriptName(name: string): string {
  return name.replace(/\.ts$/, '.js');
}

/** Returns the program's source files, without those that build the image. */
function programFiles(): string[] {
  const files = readdirSync(sourceDirectory, { recursive: true, encoding: 'utf8' });
  return files.filter((name) => name.endsWith('.ts') && !name.startsWith('image')).sort();
}

function projectDirectory(): string {
  return dirname(dirname(sourceDirectory));
}

/** Returns the directories of the packages that the program needs, directly or indirectly. */
function packageDirectories(): string[] {
  const found = new Set<string>();
  const visit = (name: string, from: string) => {
    const directory = findPackage(name, from);
    if (!directory || found.has(directory)) return;
    found.add(directory);
    visitNeeds(directory);
  };
  const visitNeeds = (directory: string) => {
    const { dependencies = {} } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
      dependencies?: Record<string, string>;
    };
    for (const dependency of Object.keys(dependencies)) visit(dependency, directory);
  };
  visitNeeds(sourceDirectory);
  return [...found].sort();
}

/**
 * Returns the directory of a package, found like the runtime does; undefined if it is missing. Skips typings
 * (`@types/…`), which a running program does not use.
 */
function findPackage(name: string, from: string): string | undefined {
  if (name.startsWith('@types/')) return undefined;
  for (let directory = from; directory !== dirname(directory); directory = dirname(directory)) {
    const candidate = join(directory, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
  }
  return undefined;
}

function isNeeded(path: string): boolean {
  // Packages inside this one are visited separately.
  return path !== 'node_modules' && !REDUNDANT_FILE.test(path);
}

/** Returns the paths of the shared libraries and the loader that a program is linked with. */
function sharedLibraries(program: string): string[] {
  const listing = execFileSync('ldd', [program], { encoding: 'utf8' });
  return [...listing.matchAll(/(?<!\S)(\/\S+) \(0x[0-9a-f]+\)/g)].map((match) => match[1]!);
}

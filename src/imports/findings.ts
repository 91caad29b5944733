/**
 * Recognises the server in an archive or folder from its paths and a few small files. Decides only: it reads, writes
 * and runs nothing, and never throws because of a file's content, because all of it is untrusted.
 */
import { type Clues, composeFacts, levelFacts, memoryOfScript, packFacts } from './clues.ts';
import { CORES, SANDBOX, coreOf } from '../game/cores.ts';
import { MINECRAFT_VERSION } from '../game/minecraft-version.ts';
import { parseProperties } from '../game/properties/format.ts';
import { PROPERTY_HELP } from '../game/properties/help.ts';
import { guardOfName } from '../jail/secrets.ts';
import { decodeText } from '../kernel/decode-text.ts';
import { KIB, MIB } from '../kernel/units.ts';

/** A file of an archive. Paths are relative, with slashes. */
export interface ImportFile {
  path: string;
  sizeBytes: number;
}

/** A world with its folders, which are relative to `root`. `''` is the archive itself: it is one world. */
interface FoundWorld {
  name: string;
  active: boolean;
  folders: string[];
}

/** A mod or plugin by its file's name. `version` is '' if the name has none. */
interface FoundMod {
  path: string;
  name: string;
  version: string;
}

/** Files that an import leaves out, grouped by the first name below `root`, or by a folder outside it. */
interface LeftOut {
  path: string;
  reason: string;
  files: number;
}

/** The server found in an archive. Unknown texts are '', unknown numbers 0. */
export interface Findings {
  /** The folder of the server's files: '' or a path that ends with a slash. */
  root: string;
  /** A core of this service, and its Minecraft version. */
  type: string;
  version: string;
  /** Build of the core, or version of its mod loader. */
  build: string;
  ramMb: number;
  worlds: FoundWorld[];
  mods: FoundMod[];
  /** Paths of the whitelist, operators and bans, relative to `root`. */
  players: string[];
  motd: string;
  /** Those settings of `server.properties` that an owner of a server may set. */
  properties: Record<string, string>;
  leftOut: LeftOut[];
  /** Number and size of the files that an import takes over. */
  files: number;
  sizeBytes: number;
}

/** Deepest folder in which a server is looked for. */
const MAX_DEPTH = 6;
const PLAYER_LISTS = /^(?:whitelist|ops|banned-players|banned-ips)\.(?:json|txt)$/;
const SCRIPT = /\.(?:sh|bat|cmd|ps1|command)$/i;
const COMPOSE = /^(?:docker-)?compose(?:\.[\w-]+)?\.ya?ml$/;
const MANIFESTS: ReadonlyMap<string, string> = new Map(
  CORES.flatMap((type) => {
    const manifest = coreOf(type)?.pin?.manifest;
    // Folia is installed by Paper's installer, whose manifest names the project.
    return manifest === undefined || type === 'folia' ? [] : [[manifest, type] as const];
  }),
);
/** Files that only one core writes, the most special first. */
const WRITTEN_BY: readonly [string, string][] = [
  ['config/leaf-global.yml', 'leaf'],
  ['purpur.yml', 'purpur'],
  ['pufferfish.yml', 'pufferfish'],
  ['config/paper-global.yml', 'paper'],
  ['paper.yml', 'paper'],
  ['spigot.yml', 'spigot'],
  ['quilt-server-launch.jar', 'quilt'],
  ['fabric-server-launch.jar', 'fabric'],
  ['fabric-server-launcher.properties', 'fabric'],
];
/** Sizes up to which a file is read as a clue. */
const CLUES: readonly [RegExp, number][] = [
  [/^server\.properties$/, 128 * KIB],
  [COMPOSE, 64 * KIB],
  [/^(?:mmc-pack|version_history|\.[a-z]+-manifest)\.json$/, 64 * KIB],
  [/^modrinth\.index\.json$/, 8 * MIB],
  [/^level\.dat$/, MIB],
  [/^(?:user_jvm_args|variables)\.txt$/, 16 * KIB],
  [SCRIPT, 16 * KIB],
];

/** Returns the largest size of a file that `findingsOf` needs to read; 0 for all other files. */
export function clueBytes(path: string): number {
  const names = path.split('/');
  const name = names.at(-1) ?? '';
  return names.length > MAX_DEPTH ? 0 : (CLUES.find(([pattern]) => pattern.test(name))?.[1] ?? 0);
}

/** Finds the server in files. `clues`: their content, as far as `clueBytes` asks for it. Returns undefined without one. */
export function findingsOf(files: readonly ImportFile[], clues: Clues): Findings | undefined {
  const root = rootOf(files.map(({ path }) => path));
  if (root === undefined) return undefined;
  const inside = files.filter(({ path }) => path.startsWith(root));
  const paths = new Set(inside.map(({ path }) => path.slice(root.length)));
  // A mod pack names its files, and has few of them.
  if (paths.has('modrinth.index.json') && !paths.has('server.properties')) return undefined;
  const at = (path: string): string | undefined => {
    const bytes = clues.get(root + path);
    return bytes && decodeText(bytes);
  };
  const compose = composeFacts(clues);
  const given = { ...Object.fromEntries(parseProperties(at('server.properties') ?? '')), ...compose.properties };
  const worlds = worldsOf(paths, given['level-name'] || 'world');
  const taken: ImportFile[] = [];
  const leftOut = new Map<string, LeftOut>();
  for (const file of files) {
    const left = leaving(file.path, root);
    if (left === undefined) taken.push(file);
    else leftOut.set(left.path, { ...left, files: (leftOut.get(left.path)?.files ?? 0) + 1 });
  }
  return {
    root,
    ...softwareOf(paths, worlds, { at, compose, pack: packFacts(clues), level: levelFacts(clues, root, worlds) }),
    ramMb: compose.ramMb || memoryOf(paths, at),
    worlds,
    mods: modsOf(paths),
    players: [...paths].filter((path) => PLAYER_LISTS.test(path)).sort(),
    motd: given['motd'] ?? '',
    properties: Object.fromEntries(Object.entries(given).filter(([key]) => Object.hasOwn(PROPERTY_HELP, key))),
    leftOut: [...leftOut.values()].sort((one, other) => (one.path < other.path ? -1 : 1)),
    files: taken.length,
    sizeBytes: taken.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  };
}

/**
 * Returns the folder of the server: the one of `server.properties`, else of a mod pack, else of worlds, the one nearest
 * to the top. A `.minecraft` folder and an archived world count, too.
 */
function rootOf(paths: readonly string[]): string | undefined {
  const marks = [
    /^((?:[^/]+\/){0,5}?)server\.properties$/,
    /^((?:[^/]+\/){0,5}?)(?:eula\.txt|modrinth\.index\.json|mods\/[^/]+\.jar|plugins\/[^/]+\.jar)$/,
    /^((?:[^/]+\/){0,5}?)(?:saves\/)?[^/]+\/level\.dat$/,
    /^()level\.dat$/,
  ];
  for (const mark of marks) {
    const roots = paths.flatMap((path) => mark.exec(path)?.[1] ?? []);
    const depth = (path: string) => path.split('/').length;
    if (roots.length > 0) return roots.reduce((best, each) => (depth(each) < depth(best) ? each : best));
  }
  return undefined;
}

/** Returns the worlds, in the layout of vanilla, of Bukkit, and of a single player's `saves`. */
function worldsOf(paths: ReadonlySet<string>, levelName: string): FoundWorld[] {
  const active = levelName.replace(/^\.\//, '').replace(/\/$/, '');
  const folders = [...paths].flatMap((path) => /^((?:saves\/)?[^/]+)\/level\.dat$/.exec(path)?.[1] ?? []).sort();
  if (paths.has('level.dat')) return [{ name: active, active: true, folders: [''] }];
  const isDimension = (name: string) =>
    /_(?:nether|the_end)$/.test(name) && folders.includes(name.replace(/_(?:nether|the_end)$/, ''));
  const worlds = folders.filter((name) => !isDimension(name));
  const chosen = worlds.includes(active) || worlds.length !== 1 ? active : worlds[0];
  return worlds.map((name) => ({
    name: name.replace(/^saves\//, ''),
    active: name === chosen,
    folders: [name, `${name}_nether`, `${name}_the_end`].filter((each) => folders.includes(each)),
  }));
}

function softwareOf(
  paths: ReadonlySet<string>,
  worlds: readonly FoundWorld[],
  {
    at,
    compose,
    pack,
    level,
  }: {
    at: (path: string) => string | undefined;
    compose: { type: string; version: string };
    pack: { type: string; version: string; build: string };
    level: string;
  },
): { type: string; version: string; build: string } {
  const manifest = manifestOf(at);
  const jar = jarOf(paths);
  const written = WRITTEN_BY.find(([path]) => paths.has(path))?.[1];
  const history = /\(MC: ([^)]{1,32})\)/.exec(at('version_history.json') ?? '')?.[1] ?? '';
  const known = worlds.length > 0 || paths.has('server.properties') ? 'vanilla' : '';
  const type = compose.type || manifest.type || pack.type || jar.type || written || known;
  // A folder that was updated still has the jars of before: a fact of another core does not count.
  const same = [manifest, pack, jar].filter((each) => each.type === type);
  const versions = [compose.version, ...same.map(({ version }) => version), history, level];
  return {
    type,
    version: versions.find((each) => MINECRAFT_VERSION.test(each)) ?? '',
    build: same.map(({ build }) => build).find((build) => coreOf(type)?.pin?.pattern.test(build)) ?? '',
  };
}

function manifestOf(at: (path: string) => string | undefined): { type: string; version: string; build: string } {
  for (const [path, type] of MANIFESTS) {
    const text = at(path);
    if (text === undefined) continue;
    const field = (name: string) => new RegExp(`"${name}"\\s*:\\s*"?([\\w.+-]{1,64})`).exec(text)?.[1] ?? '';
    const version = field('minecraftVersion') || field('game');
    const build = field('build') || field('loaderVersion') || field('forgeVersion') || field('loader');
    return { type: field('project') === 'folia' ? 'folia' : type, version, build };
  }
  return { type: '', version: '', build: '' };
}

/** Returns the core by the names of jars and of a Forge loader's libraries. */
function jarOf(paths: ReadonlySet<string>): { type: string; version: string; build: string } {
  for (const path of paths) {
    const forge = /^libraries\/net\/minecraftforge\/forge\/([\d.]{3,12})-([\d.]{3,16})\//.exec(path);
    if (forge) return { type: 'forge', version: forge[1] ?? '', build: forge[2] ?? '' };
    const neo = /^libraries\/net\/neoforged\/neoforge\/((\d{2})\.(\d{1,2})\.\d{1,4}(?:-beta)?)\//.exec(path);
    // NeoForge 21.1.77 is for Minecraft 1.21.1, and 21.0.8 for 1.21.
    if (neo)
      return { type: 'neoforge', version: `1.${neo[2]}${neo[3] === '0' ? '' : `.${neo[3]}`}`, build: neo[1] ?? '' };
    const loader = /^(fabric|quilt)-server-(?:mc\.)?([\d.]{3,12})-(?:loader\.)?([\d.]{3,16}?)-launcher/.exec(path);
    if (loader) return { type: loader[1] ?? '', version: loader[2] ?? '', build: loader[3] ?? '' };
    const jar = /^([a-z]+)-(?:(?:neo)?forge-|fabric-)?(\d+\.\d+(?:\.\d+)?)(?:-(\d{1,9}))?(?:[-.][^/]*)?\.jar$/i.exec(
      path,
    );
    const type = jar?.[1]?.toLowerCase() ?? '';
    if (coreOf(type) && type !== SANDBOX) return { type, version: jar?.[2] ?? '', build: jar?.[3] ?? '' };
    const vanilla = /^(?:minecraft_server|server)[.-](\d+\.\d+(?:\.\d+)?)\.jar$/.exec(path);
    if (vanilla) return { type: 'vanilla', version: vanilla[1] ?? '', build: '' };
  }
  return { type: '', version: '', build: '' };
}

/** Returns the memory of the start script that asks for the most. */
function memoryOf(paths: ReadonlySet<string>, at: (path: string) => string | undefined): number {
  const scripts = [...paths].filter(
    (path) => !path.includes('/') && (SCRIPT.test(path) || /^(?:user_jvm_args|variables)\.txt$/.test(path)),
  );
  return Math.max(0, ...scripts.map((path) => memoryOfScript(at(path) ?? '')));
}

function modsOf(paths: ReadonlySet<string>): FoundMod[] {
  return [...paths].sort().flatMap((path) => {
    const stem = /^(?:mods|plugins)\/([^/]{1,200})\.jar$/i.exec(path)?.[1];
    if (stem === undefined) return [];
    const at = stem.search(/[-_ ]v?\d/i);
    const version = at > 0 ? stem.slice(at + 1).replace(/^v/i, '') : '';
    return [{ path, name: version === '' ? stem : stem.slice(0, at), version }];
  });
}

/**
 * Returns the path in the server's folder of a file or directory of the archive; undefined if it is left out. Worlds of
 * a single player move to the top, and an archived world gets a folder.
 */
export function placeOf({ root, worlds }: Findings, stored: string): string | undefined {
  const path = withoutDot(stored);
  if (leaving(path, root) !== undefined) return undefined;
  const place = path.slice(root.length);
  if (place === '') return undefined;
  const [world] = worlds;
  if (world?.folders[0] === '') return `${world.name}/${place}`;
  return place.startsWith('saves/') ? place.slice('saves/'.length) || undefined : place;
}

/** Returns a path as `tar c folder` would store it: `tar c .` stores it with a dot in front. */
export function withoutDot(path: string): string {
  return path.replace(/^(?:\.\/)+/, '');
}

/** Returns why a file is left out; undefined if it is taken over. */
function leaving(path: string, root: string): { path: string; reason: string } | undefined {
  if (!path.startsWith(root)) {
    const names = path.split('/');
    const outside = names.length > 1 && !root.startsWith(`${names[0]}/`) ? `${names[0]}/` : path;
    return { path: outside, reason: 'It is outside the server’s folder.' };
  }
  const names = path.slice(root.length).split('/');
  const [first = ''] = names;
  const top = names.length > 1 ? `${first}/` : first;
  const reason = reasonOf(top, names);
  return reason === undefined
    ? undefined
    : { path: names.at(-1) === 'session.lock' ? path.slice(root.length) : top, reason };
}

function reasonOf(top: string, names: readonly string[]): string | undefined {
  if (top === 'eula.txt') return 'You agree to Mojang’s licence here yourself.';
  if (guardOfName(names[0] ?? '') === 'hidden') return 'Only the former host used it.';
  if (top === 'logs/' || top === 'crash-reports/') return 'Logs of the former host are not needed.';
  if (names.at(-1) === 'session.lock') return 'The game creates it for each run.';
  if (COMPOSE.test(top) || top === '.env') return 'Its settings are taken over, its paths and secrets are not.';
  if (SCRIPT.test(top)) return 'Scripts do not run here. The memory that they ask for is taken over.';
  const isCore =
    /^(?:libraries|versions|cache|\.fabric|\.quilt)\/$/.test(top) || (names.length === 1 && top.endsWith('.jar'));
  return isCore ? 'The server’s software is downloaded again from its project.' : undefined;
}

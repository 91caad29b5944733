import { globSync, readFileSync, readdirSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import test from 'ava';
import { runsAlone } from './support/needs.ts';
import { filesOf } from './support/suite.ts';

const ROOT = join(import.meta.dirname, '..');

/** The rooms of the service in their order, as `src/ROOMS.md` lists them, and the programs beside it. */
const [ROOM_LINES = '', PROGRAM_LINES = ''] = readFileSync(join(ROOT, 'src/ROOMS.md'), 'utf8').split(
  'Programs of their own',
);
const ROOMS = roomsIn(ROOM_LINES);
const PROGRAMS = roomsIn(PROGRAM_LINES);

/** The lists of packages: the service's, and those of the programs beside it. */
const MANIFESTS = ['package.json', ...PROGRAMS.map((name) => `src/${name}/package.json`)];

/** Parts outside `src/`, and the only packages and own files that each may import. */
const OUTSIDE: Readonly<Record<string, { packages: readonly string[]; files: readonly string[] }>> = {
  machines: { packages: ['xstate'], files: [] },
  proxy: { packages: ['ws'], files: [] },
  migrations: { packages: ['typeorm'], files: [] },
};

/** Packages of outside systems, and the only rooms that may import them. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  dockerode: ['engines'],
  'rcon-client': ['engines'],
  ws: ['engines', 'joining', 'sandbox'],
  ssh2: ['sftp'],
  sqlite3: ['store'],
  pg: ['store'],
  mysql2: ['databases'],
  stripe: ['billing'],
  nodemailer: ['mail'],
  'prom-client': ['insight'],
  'tar-stream': ['store', 'files', 'backups', 'engines'],
  yauzl: ['engines', 'files', 'mods'],
  yazl: ['files'],
  '@node-rs/argon2': ['accounts'],
  croner: ['schedules'],
  'openid-client': ['accounts'],
};

/** The statechart and the settings are one table each, and two style sheets define the look of all pages. */
const LONG_FILES = new Set([
  'machines/server.ts',
  'src/config.ts',
  'src/web/assets/style.css',
  'src/web/assets/panel.css',
]);
const MOST_LINES = 400;
/** Tests may be longer, because they have a row for each case. */
const MOST_TEST_LINES = 600;
const MOST_FILES = 40;

/** Libraries with a Minecraft server or client, hundreds of megabytes in size: only for the sandbox and for tests. */
const GAME_PACKAGES = /^(?:minecraft-protocol|minecraft-data|mineflayer|vec3|prismarine-[\w-]+|flying-squid)$/;

/** The only file of the service that imports the sandbox. No file of the service imports the command line. */
const SANDBOX_IMPORTER = 'src/engines/sandbox.ts';

/**
 * Packages without a usual import: loaded by name by another package, served to browsers (`src/web/assets.ts`), or used
 * by `src/http/router.ts`.
 */
const LOADED_BY_NAME = new Set(['pg', 'idiomorph', 'uplot', 'prismjs', '@koa/router']);

/** The programs' entries and the one place of each that reads the environment. */
const READERS_OF_ENVIRONMENT = [
  'src/config.ts',
  'proxy/main.ts',
  // Not for settings: games inherit the search path and the locale, other processes the folder of Node's compile cache.
  'src/engines/process/process.ts',
  'src/kernel/workers/process.ts',
  'src/joining/link/child-process.ts',
  'src/cli/called.ts',
  'src/cli/main.ts',
  'src/sandbox/environment.ts',
  'src/sandbox/main.ts',
];

/** Tests that read the sources of every room. */
const OVER_ALL_ROOMS = new Set(['architecture.test.ts', 'expressions.real.test.ts']);
/** Folders of tests that belong to no room: flows of the whole service, suites of all adapters, and support. */
const TEST_FOLDERS = [
  'bench',
  'clients',
  'conformance',
  'crash',
  'docs',
  'fakes',
  'fixtures',
  'flows',
  'suites',
  'support',
];

/** The constants of durations and sizes. `machines/` and `proxy/` are separate and define their own. */
const UNITS = 'src/kernel/units.ts';

/** A module constant (number, text, list or table) with a lower-case name. Collections filled later do not count. */
const CONSTANT =
  /^(?:export )?const ([a-z]\w*)(?:: [^=\n]+)? = (?:-?\d|['"`]|\[(?!\])|\/[^/*]|new (?:Set|Map|RegExp)(?:<[^\n]*>)?\((?!\))|(?:\{(?:.*\}|\n(?: {2}.*\n|\n)*\}) as const;))/gm;

/** Pages, which are clients of the API, and the files that describe its operations. */
const PAGES = /\/pages\/|pages\.ts$|^src\/web\/panel\//;
const DESCRIPTIONS = /[/-]api\.ts$|^src\/servers\/api\//;

/** Vague or ambiguous words, and the words to use instead. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bunder[ _]?way\b/gi, 'in progress, or in flight'],
  [/\bin ?turn\(|\binTurn\b|\bvery turn\b/g, 'a mutex, a semaphore, or synchronously'],
  [/\bat the door\b|\bdoorway/gi, 'the join policy, or who signs in'],
  [/\bdeeds?\b/gi, 'an audit entry'],
  [/\bremainsOf\b/g, 'a leftover'],
  [/\b(?:interface|class|type) Session\b/g, 'which one: of a browser, a database, a link'],
];

/** Words and openings of comments that readers have to read twice. */
const CLUMSY =
  /\b(?:whoever|whom|of which|come to be|(?<!there )is none|(?:is|are|was) told|nor is|nobody|not before|what is to be)\b|^(?:\/\*\*|\s*\/\/)[\s*]*(?:What|Who|Whom|Of|By whom)\b/i;
const COMMENT = /\/\*\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

/** The entries allowed at the top level, apart from dot files and files that git ignores. */
const TOP_LEVEL = [
  'Dockerfile',
  'LICENSE',
  'README.md',
  'ava.config.js',
  'compose.yaml',
  'docs',
  'machines',
  'migrations',
  'package-lock.json',
  'package.json',
  'proxy',
  'src',
  'stack.yaml',
  'test',
  'tsconfig.json',
];
/** In `test/`: the list of packages that only checks and tests with real parts use. */
const PACKAGES_OF_TESTS = new Set(['node_modules', 'package-lock.json', 'package.json']);
const IGNORED = /^(?:\..*|node_modules|data|coverage|.*\.log)$/;

interface Import {
  from: string;
  /** A path from the repository's root, or a package's or built-in module's name. */
  to: string;
  ours: boolean;
  typeOnly: boolean;
}

/** The formatter puts each statement at the start of a line, so that comments and texts do not match. */
const STATEMENT =
  /^(?:import|export) (type )?(?:(\{[^}]*\}|\*(?: as [\w$]+)?|[\w$]+(?:, (?:\{[^}]*\}|\* as [\w$]+))?) from )?'([^'\n]+)'/gm;
const EXPRESSION = /(\btypeof )?\bimport\(\s*'([^'\n]+)'\s*\)/g;

/** Written by `npm run check`, only for the compiler. */
const GENERATED = 'src/http/api-types.ts';

const SOURCES = ['machines', 'proxy', 'migrations', 'src', 'test'].flatMap((directory) => filesBelow(directory));
const TEXTS = new Map(SOURCES.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
const imports = SOURCES.flatMap(importsOf);

function filesBelow(directory: string, ends = ['.ts']): string[] {
  return readdirSync(join(ROOT, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ends.some((end) => entry.name.endsWith(end)))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    .filter((file) => !file.startsWith('test/node_modules/') && file !== GENERATED)
    .sort();
}

function importsOf(from: string): Import[] {
  const text = TEXTS.get(from) ?? '';
  const found: Import[] = [];
  for (const [, type, names = '', to = ''] of text.matchAll(STATEMENT))
    found.push(resolved(from, to, type !== undefined || onlyTypes(names)));
  for (const [, type, to = ''] of text.matchAll(EXPRESSION)) found.push(resolved(from, to, type !== undefined));
  return found;
}

function onlyTypes(names: string): boolean {
  const inside = /^\{([^}]*)\}$/.exec(names)?.[1]?.split(',') ?? [];
  const named = inside.map((name) => name.trim()).filter((name) => name !== '');
  return named.length > 0 && named.every((name) => name.startsWith('type '));
}

function resolved(from: string, to: string, typeOnly: boolean): Import {
  if (to.startsWith('.')) return { from, to: posix.join(posix.dirname(from), to), ours: true, typeOnly };
  const scoped = to.startsWith('@') ? 2 : 1;
  return { from, to: isBuiltin(to) ? to : to.split('/').slice(0, scoped).join('/'), ours: false, typeOnly };
}

function roomsIn(text: string): string[] {
  return [...text.matchAll(/^- `([\w-]+)\/`: /gm)].map(([, name = '']) => name);
}

/** Returns the room of a file: `backups` for `src/backups/…`, `top` for `src/app.ts`, else the top-level folder. */
function roomOf(file: string): string {
  const [first = '', second = '', third] = file.split('/');
  if (first !== 'src') return first;
  return third === undefined ? 'top' : second;
}

/** Returns the manifest of the program that a file belongs to. */
function programOf(file: string): string {
  return MANIFESTS.find((each) => each !== 'package.json' && file.startsWith(posix.dirname(each))) ?? 'package.json';
}

function manifest(file: string): Record<'dependencies' | 'devDependencies', Record<string, string>> {
  return { dependencies: {}, devDependencies: {}, ...JSON.parse(readFileSync(join(ROOT, file), 'utf8')) };
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Returns the nodes on or between cycles: removes nodes without an incoming or outgoing edge until all have both. */
function inCircles(edges: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  let left = [...edges.keys()];
  for (let before = -1; before !== left.length;) {
    before = left.length;
    left = left.filter((name) => left.some((other) => edges.get(name)?.has(other)));
    left = left.filter((name) => left.some((other) => edges.get(other)?.has(name)));
  }
  return left;
}

/** Fails with every violation at once, so that one run shows them all. */
function none(t: { is(actual: string, expected: string): void }, violations: string[]): void {
  t.is(violations.join('\n'), '');
}

test('the import scanner matches every form of import statement', (t) => {
  const statements = (text: string) => [...text.matchAll(STATEMENT)].map(([, type, names, to]) => [type, names, to]);
  t.deepEqual(statements("import a from 'a';\nimport type { B } from 'b';\nimport {\n  c,\n  type D,\n} from 'c';\n"), [
    [undefined, 'a', 'a'],
    ['type ', '{ B }', 'b'],
    [undefined, '{\n  c,\n  type D,\n}', 'c'],
  ]);
  t.deepEqual(statements("import 'a';\nexport * from 'b';\nexport { c } from 'c';\nimport d, * as e from 'd';\n"), [
    [undefined, undefined, 'a'],
    [undefined, '*', 'b'],
    [undefined, '{ c }', 'c'],
    [undefined, 'd, * as e', 'd'],
  ]);
  t.deepEqual(statements("// import a from 'a';\n * import b from 'b';\nexport const c = 'c';\n  import('d');\n"), []);
  t.true(onlyTypes('{ type A, type B }'));
  t.false(onlyTypes('{ type A, b }'));
  // A pattern that misses imports would hide violations: compare with a coarser count of the same texts.
  const coarse = [...TEXTS.values()].reduce(
    (sum, text) => sum + (text.match(/^(?:import .*|.*\}) from '/gm)?.length ?? 0),
    0,
  );
  t.true(imports.length >= coarse * 0.98 && coarse > 0, `${imports.length} of about ${coarse}`);
});

test('the cycle finder returns the nodes of a cycle and no others', (t) => {
  const graph = (edges: Record<string, string>) =>
    new Map(Object.entries(edges).map(([name, others]) => [name, new Set(others)]));
  t.deepEqual(inCircles(graph({ a: 'b', b: 'c', c: '' })), []);
  t.deepEqual(inCircles(graph({ a: 'b', b: 'c', c: 'bd', d: '' })), ['b', 'c']);
});

test('ROOMS.md lists each folder of the service exactly once', (t) => {
  const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  t.deepEqual([...ROOMS, ...PROGRAMS].sort(), folders.map(({ name }) => name).sort());
});

test('a room imports only from itself and from the rooms above it, except for the operations that its pages call', (t) => {
  none(
    t,
    imports
      .filter(({ from, to, ours }) => {
        const [here, there] = [ROOMS.indexOf(roomOf(from)), ROOMS.indexOf(roomOf(to))];
        const calls = PAGES.test(from) && DESCRIPTIONS.test(to);
        return ours && here >= 0 && (roomOf(to) === 'top' || (there > here && !calls));
      })
      .map(({ from, to }) => `${from} imports ${to}`),
  );
});

test('separate programs, the proxy, machines and migrations import only types from the service', (t) => {
  const apart = new Set([...PROGRAMS, ...Object.keys(OUTSIDE)]);
  none(
    t,
    imports
      .filter(
        ({ from, to, ours, typeOnly }) => ours && !typeOnly && apart.has(roomOf(from)) && roomOf(to) !== roomOf(from),
      )
      .filter(({ from, to }) => !(OUTSIDE[roomOf(from)]?.files ?? []).includes(to))
      .map(({ from, to }) => `${from} imports ${to}`),
  );
});

test('a package of an outside system is imported only in its own rooms', (t) => {
  none(
    t,
    imports
      .filter(({ from, ours }) => !ours && !from.startsWith('test/'))
      .filter(({ from, to, typeOnly }) => {
        const here = roomOf(from);
        if (OUTSIDE[here]) return !isBuiltin(to) && !OUTSIDE[here].packages.includes(to);
        if (GAME_PACKAGES.test(to)) return here !== 'sandbox';
        return !typeOnly && HOMES[to] !== undefined && !HOMES[to].includes(here);
      })
      .map(({ from, to }) => `${from} imports ${to}`),
  );
});

test('no files import each other in a cycle, type imports included', (t) => {
  const edges = new Map(SOURCES.map((file) => [file, new Set<string>()]));
  for (const { from, to, ours } of imports) if (ours) edges.get(from)?.add(to);
  none(t, inCircles(edges));
});

test('folders and files stay within their size limits', (t) => {
  const mine = SOURCES.filter((file) => !file.startsWith('test/'));
  const folders = countBy(mine.map((file) => posix.dirname(file)));
  const lines = (file: string) => readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1;
  const most = (file: string) =>
    file.startsWith('test/') ? MOST_TEST_LINES : file.startsWith('migrations/') ? Infinity : MOST_LINES;
  none(t, [
    ...Object.entries(folders).flatMap(([folder, count]) =>
      count > MOST_FILES ? [`${folder} holds ${count} files`] : [],
    ),
    ...[...SOURCES, ...filesBelow('src', ['.js', '.css'])]
      .filter((file) => !LONG_FILES.has(file) && lines(file) > most(file))
      .map((file) => `${file} has ${lines(file)} lines`),
  ]);
});

test('the sandbox is the only separate program that the service imports, and only in one file', (t) => {
  none(
    t,
    imports
      .filter(({ from, to, ours }) => ours && PROGRAMS.includes(roomOf(to)) && roomOf(to) !== roomOf(from))
      .filter(({ from, to }) => !from.startsWith('test/') && (from !== SANDBOX_IMPORTER || roomOf(to) !== 'sandbox'))
      .map(({ from, to }) => `${from} imports ${to}`),
  );
});

test('each test lies in the folder of a room or in a listed test folder', (t) => {
  const folders = new Set([...ROOMS, ...PROGRAMS, ...Object.keys(OUTSIDE), ...TEST_FOLDERS]);
  const ofTop = (name: string) => OVER_ALL_ROOMS.has(name) || SOURCES.includes(`src/${name.replace('.test', '')}`);
  none(
    t,
    readdirSync(join(ROOT, 'test'), { withFileTypes: true })
      .filter(({ name }) => !PACKAGES_OF_TESTS.has(name))
      .filter((entry) => (entry.isDirectory() ? !folders.has(entry.name) : !ofTop(entry.name)))
      .map(({ name }) => `test/${name} belongs in the folder of a room, or in one of: ${TEST_FOLDERS.join(', ')}`),
  );
});

test('each test file runs exactly once, in the suite of its room or alone', (t) => {
  const suites = readdirSync(join(ROOT, 'test/suites')).map((name) =>
    readFileSync(join(ROOT, 'test/suites', name), 'utf8'),
  );
  const shared = suites.flatMap((text) =>
    [...text.matchAll(/^suite\('([\w.]+)'/gm)].flatMap(([, room]) => filesOf(room!)),
  );
  const all = globSync('**/*.test.ts', { cwd: join(ROOT, 'test'), exclude: ['node_modules/**'] });
  t.deepEqual(shared.toSorted(), all.filter((file) => !runsAlone(file)).toSorted());
});

test('each runtime import is a dependency of its program, and each dependency is imported', (t) => {
  const loaded = imports.filter(
    ({ from, to, ours, typeOnly }) => !from.startsWith('test/') && !ours && !typeOnly && !isBuiltin(to),
  );
  none(t, [
    ...loaded
      .filter(({ from, to }) => !Object.hasOwn(manifest(programOf(from)).dependencies, to))
      .map(({ from, to }) => `${from} imports ${to}, which ${programOf(from)} does not list among the dependencies`),
    ...MANIFESTS.flatMap((file) =>
      Object.keys(manifest(file).dependencies)
        .filter((name) => !loaded.some(({ from, to }) => to === name && programOf(from) === file))
        .filter((name) => !LOADED_BY_NAME.has(name))
        .map((name) => `${file} lists ${name}, which nothing of that program imports`),
    ),
  ]);
});

test('a package has the same version in every manifest', (t) => {
  const versions = new Map<string, Set<string>>();
  for (const { dependencies, devDependencies } of [...MANIFESTS, 'test/package.json'].map(manifest)) {
    for (const [name, version] of [...Object.entries(dependencies), ...Object.entries(devDependencies)])
      versions.set(name, (versions.get(name) ?? new Set()).add(version));
  }
  none(
    t,
    [...versions].filter(([, each]) => each.size > 1).map(([name, each]) => `${name}: ${[...each].join(', ')}`),
  );
});

test('only the listed files read process.env', (t) => {
  none(
    t,
    SOURCES.filter((file) => !file.startsWith('test/') && !READERS_OF_ENVIRONMENT.includes(file))
      .filter((file) => /\bprocess\.env\b/.test(TEXTS.get(file) ?? ''))
      .map((file) => `${file} reads process.env; only these may: ${READERS_OF_ENVIRONMENT.join(', ')}`),
  );
});

test('durations and sizes use the kernel’s unit constants', (t) => {
  none(
    t,
    SOURCES.filter((file) => ROOMS.includes(roomOf(file)) && file !== UNITS).flatMap((file) =>
      [...(TEXTS.get(file) ?? '').matchAll(/\b(?:60_000|3_600_000|86_400_000|1_048_576)\b|\* 1_?024\b/g)].map(
        ([number]) => `${file} writes ${number}; ${UNITS} has a name for it`,
      ),
    ),
  );
});

test('module constants are written in capitals', (t) => {
  const found = (text: string) => [...text.matchAll(CONSTANT)].map(([, name]) => name);
  t.deepEqual(found("const a = 1;\nexport const b: string = 'b';\nconst c = {\n  d: 1,\n} as const;\n"), [
    'a',
    'b',
    'c',
  ]);
  t.deepEqual(
    found('const A = 1;\nconst b = new Map();\nconst c = () => 1;\nconst d = {\n  e: f,\n};\n  const g = 1;\n'),
    [],
  );
  none(
    t,
    SOURCES.filter((file) => !file.startsWith('test/')).flatMap((file) =>
      found(TEXTS.get(file) ?? '').map((name) => `${file}: ${name}`),
    ),
  );
});

test('sources avoid the listed unclear terms', (t) => {
  none(
    t,
    SOURCES.filter((file) => file !== 'test/architecture.test.ts').flatMap((file) =>
      WORDS.flatMap(([word, instead]) =>
        [...(TEXTS.get(file) ?? '').matchAll(word)].map(([found]) => `${file} says ${found}; say ${instead}`),
      ),
    ),
  );
});

test('declarations avoid the listed vague names', (t) => {
  const vague =
    /\b(?:const|let|function|class|interface) (?:told|teller|meant|needless|crowd|standing|outlook|handout)\b/gi;
  none(
    t,
    SOURCES.filter((file) => !file.startsWith('test/')).flatMap((file) =>
      [...(TEXTS.get(file) ?? '').matchAll(vague)].map(([found]) => `${file}: ${found}`),
    ),
  );
});

test('comments put the subject first, in common words', (t) => {
  none(
    t,
    SOURCES.filter((file) => /^(?:src|proxy|machines|migrations)\//.test(file)).flatMap((file) =>
      (TEXTS.get(file)?.match(COMMENT) ?? [])
        .filter((comment) => CLUMSY.test(comment))
        .map((comment) => `${file}: ${comment.trim()}`),
    ),
  );
});

test('test titles put the subject first and have no codes', (t) => {
  const title = /^ *(?:test|holds|onEach|onEachStore)\b(?:\.\w+)*(?:\(isHere\([^)]*\)\))?\(\s*(['`"])(.+?)\1,/gm;
  const unclear = /\b(?:somebody|for ever)\b|^(?:who|what|of|where)\b|^[A-Z]*-?\d+[a-z]?(?:, ?\d+)*: /i;
  const titles = SOURCES.filter((file) => file.endsWith('.test.ts')).flatMap((file) =>
    [...(TEXTS.get(file) ?? '').matchAll(title)].map(([, , text = '']) => ({ file, text })),
  );
  t.true(titles.length > 1_500, `${titles.length} titles found`);
  none(
    t,
    titles.filter(({ text }) => CLUMSY.test(text) || unclear.test(text)).map(({ file, text }) => `${file}: ${text}`),
  );
});

test('statements number their parameters in order of first appearance, as SQLite binds them', (t) => {
  for (const [file, text] of TEXTS) {
    if (file.startsWith('test/')) continue;
    for (const [literal] of text.matchAll(/`[^`]*`|'[^'\n]*'/g)) {
      const numbers = [...literal.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number));
      const firsts = numbers.filter((number, index) => numbers.indexOf(number) === index);
      t.deepEqual(
        firsts,
        firsts.toSorted((one, other) => one - other),
        `${file}: ${literal}`,
      );
    }
  }
});

test('machines read neither the clock nor random numbers', (t) => {
  none(
    t,
    SOURCES.filter((file) => file.startsWith('machines/')).flatMap((file) =>
      [...(TEXTS.get(file) ?? '').matchAll(/\bDate\.now\(|\bMath\.random\(|\bnew Date\(\)|\bperformance\.now\(/g)].map(
        ([call]) => `${file} calls ${call}…; time comes with events`,
      ),
    ),
  );
});

test('the top level of the repository holds only listed entries', (t) => {
  none(
    t,
    readdirSync(ROOT)
      .filter((name) => !IGNORED.test(name) && !TOP_LEVEL.includes(name))
      .map((name) => `${name} is none of: ${TOP_LEVEL.join(', ')}`),
  );
});
